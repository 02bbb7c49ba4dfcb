"""Match every line of a working to a record of the sheet, and to the cells of that record.

No guess is silent: if a name fits several records and the numbers decide, a note reports the choice. A line that
fits no record is reported too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from clearhead.check.graph import FromGiven, FromRecord, Graph
from clearhead.check.grid import Grid, fit_grid, is_full, name_without_percent, read_grid, share_close, values_and_units
from clearhead.check.limits import WorkLimitError
from clearhead.check.names import (
    SUBSCRIPTS,
    Pick,
    RecordCandidates,
    counted_from_one,
    find_records,
    line_title,
    matches_place,
    split_pick,
    symbol_key,
    word_key,
    words_for,
)
from clearhead.check.statement import Copy, Statement, make_statement
from clearhead.check.style import Evidence, Style, evidence, line_style, sheet_style
from clearhead.check.working import Note, NoteKind, Working, WrittenLine
from clearhead.errors import did_you_mean
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.view import SheetView

_MAX_PLACED = 2**20  # cells of the matrices that lines are parts of, each counted for every line
_DEFINED = re.compile(r"([^()\[\]=]+(?:\[[^\]]*\])?)\s*=").match  # Q = X W_Q is Q, but PE(pos=1) is not a definition


@dataclass(frozen=True, eq=False)
class WrongShape:
    """A line of a known record, but with a shape that does not fit."""

    line: int
    node: int
    sentence: str


@dataclass
class Placing:
    """The result of matching: statements by record, copies, lines of the wrong shape or without a record, and notes."""

    statements: dict[int, list[Statement]] = field(default_factory=dict)
    copies: list[Copy] = field(default_factory=list)
    misshapen: list[WrongShape] = field(default_factory=list)
    unplaced: list[int] = field(default_factory=list)  # lines with a name that no record has
    notes: list[Note] = field(default_factory=list)
    doubtful: dict[int, list[int]] = field(
        default_factory=dict
    )  # ambiguous lines, and the other records that they can mean


@dataclass(frozen=True, eq=False)
class _PlacedLine:
    """A line with its record; `node` is None for a copy of a given."""

    line: int
    grid: Grid
    node: int | None
    given_name: str = ""
    user: int | None = None
    is_copy: bool = False


class Placer:
    """Match the lines of one working to the records of one sheet."""

    def __init__(self, graph: Graph, working: Working, decided: Mapping[int, int] | None = None) -> None:
        self.graph, self.working = graph, working
        self._decided = decided or {}
        self.result = Placing()
        self._placed: list[_PlacedLine] = []
        self._room = _MAX_PLACED
        self._taken: set[tuple[int, int, int]] = set()
        self._chosen: dict[tuple[str, str], int] = {}  # the record of the rows or cells of a line, by name and place
        self._candidates_of: dict[int, RecordCandidates] = {}
        self._reserved: dict[int, int] = {}  # records that only one line can mean, and that line
        self._borrowed: dict[int, list[int]] = {}  # lines named by a symbol, and the other lines it is used for
        names, places = [line.name for line in working.lines], [line.where for line in working.lines]
        counted = counted_from_one([*names, *places])
        self._lines = [
            replace(line, name=name, where=where)
            for line, name, where in zip(working.lines, counted, counted[len(names) :], strict=False)
        ]

    @cached_property
    def _view(self) -> SheetView:
        return SheetView(self.graph.sheet)

    @cached_property
    def _symbols(self) -> frozenset[str]:
        return frozenset(symbol_key(record.symbol) for record in self.graph.records)

    @cached_property
    def _equations(self) -> list[str]:
        return [step.equation for step in self._view.steps]

    def place(self) -> Placing:
        """Match every line."""
        for number, line in enumerate(self._lines):
            candidates = self._candidates(number)
            if len(candidates.nodes) == 1 and not candidates.is_guess and not line.copied_into:
                self._reserved.setdefault(candidates.nodes[0], number)
        for number, line in enumerate(self._lines):
            self._place_line(number, line)
        self._doubt_lines_written_twice()
        evidences = [self._evidence(placed) for placed in self._placed]
        sheet = sheet_style(evidences)
        for placed, own in zip(self._placed, evidences, strict=True):
            cells = [cell for row in placed.grid for cell in row if cell]
            # integers that are not exact also show rounding, where significant figures are counted
            is_rounded = sheet == "figures" and own.whole_figures > 0 and not self._is_moved(placed)
            self._add_statement(placed, own.is_telling or is_rounded, line_style(own, sheet, cells, evidences))
        return self.result

    def _evidence(self, placed: _PlacedLine) -> Evidence:
        if placed.node is None:
            return evidence((), ())
        truth = self._sheet_value(placed.node)
        pairs = [
            (cell, float(truth[i, j]))
            for i, row in enumerate(placed.grid)
            for j, cell in enumerate(row)
            if cell is not None
        ]
        cells_evidence = evidence([cell for cell, _ in pairs], [true for _, true in pairs])
        # digits that were only moved were rounded in another line
        return replace(cells_evidence, is_telling=cells_evidence.is_telling and not self.graph.is_move[placed.node])

    def _is_moved(self, placed: _PlacedLine) -> bool:
        return placed.node is None or self.graph.is_move[placed.node]

    def _add_statement(self, placed: _PlacedLine, is_telling: bool, style: Style) -> None:
        node = -1 if placed.node is None else placed.node
        statement = make_statement(
            placed.line, node, placed.grid, style, turned=self.graph.is_turned, is_telling=is_telling
        )
        if placed.is_copy:
            source = FromGiven(placed.given_name) if placed.node is None else FromRecord(placed.node)
            self.result.copies.append(Copy(placed.line, source, statement, placed.user))
        else:
            self.result.statements.setdefault(node, []).append(statement)

    def _place_line(self, number: int, line: WrittenLine) -> None:
        grid = read_grid(line, has_decimal_comma=self.working.has_decimal_comma)
        if not any(cell for row in grid for cell in row):
            self._note("unplaced", f'"{line.name}" contains no numbers.', number)
            return
        pick = self._pick(name_without_percent(line.name))
        if line.copied_into:
            self._place_copy(number, line, grid, pick)
            return
        candidates = self._candidates(number)
        is_placeable = bool(candidates.nodes) and self._has_row(candidates)
        if not is_placeable or self._repeats_given(grid, pick, line.where, candidates):
            self._place_given(number, line, grid, pick)
            return
        if candidates.row and not pick.row:
            pick = Pick(pick.name, candidates.row, pick.column)
        shaped, others = self._shaped_nodes(grid, candidates.nodes, pick), dict[int, Grid]()
        if not shaped and candidates.row:
            shaped = self._shaped_for_part(line, grid, candidates.row)
        if not shaped:
            shaped = self._shaped_nodes(grid, candidates.others, pick)
        else:
            others = self._shaped_nodes(grid, candidates.others, pick)
        if not shaped:
            if self._given_named(pick.name, line.where):
                self._place_given(number, line, grid, pick)
                return
            self._wrong_shape(number, line, candidates.nodes[0], grid)
            return
        node = self._same_line(number, line, pick, shaped | others)
        is_continued = node is not None
        if node is None:
            node = self._choose(number, shaped, others, is_symbol=candidates.is_symbol)
        if pick.row:
            self._chosen[word_key(pick.name), line.where] = node
        cells = (shaped | others)[node]
        self._room -= self.graph.records[node].value.size
        if self._room < 0:
            raise WorkLimitError(
                f"the lines are parts of matrices with more than {_MAX_PLACED:,} numbers in all. Write a matrix as one "
                "line."
            )
        self._taken |= {(node, i, j) for i, row in enumerate(cells) for j, cell in enumerate(row) if cell}
        if not is_continued:
            self._note_choice(number, node, candidates, is_only=len(shaped) + len(others) == 1)
        if not pick.row and len(grid) < len(cells) and len(cells[0]) > 1:
            first = next(i for i, row in enumerate(cells) if any(row)) + 1
            rows = f"row {first}" if len(grid) == 1 else f"rows {first} to {first + len(grid) - 1}"
            self._note("placed", f'"{line.name}" was read as {rows} of {self.graph.records[node].symbol}.', number)
        self._placed.append(_PlacedLine(number, cells, node))

    def _candidates(self, number: int) -> RecordCandidates:
        """Return the records that a line can mean; they are found once."""
        if number not in self._candidates_of:
            name, where = self._pick(name_without_percent(self._lines[number].name)).name, self._lines[number].where
            candidates = find_records(self.graph, name, where)
            self._candidates_of[number] = candidates if candidates.nodes else self._by_equation(name, where)
        return self._candidates_of[number]

    def _note_choice(self, number: int, node: int, candidates: RecordCandidates, *, is_only: bool) -> None:
        """Report the record that was chosen, unless the name means only this one."""
        name, record = self.working.lines[number].name, self.graph.records[node]
        is_meant = is_only and not candidates.is_guess
        if node == candidates.nodes[0] and (is_meant or candidates.is_symbol):
            return
        if symbol_key(record.symbol) == symbol_key(self._pick(name).name):
            return
        title = line_title(record)
        words = f"the {title}, " if title and word_key(title) != word_key(name) else ""
        self._note("placed", f'Your line "{name}" was taken to be {words}{self._described(node)}.', number)

    def _doubt_lines_written_twice(self) -> None:
        """Doubt a line named by a symbol that other people use for another line, if its record is written twice."""
        for number, others in self._borrowed.items():
            node = next(placed.node for placed in self._placed if placed.line == number)
            if sum(placed.node == node and not placed.is_copy for placed in self._placed) > 1:
                self.result.doubtful.setdefault(number, []).extend(others)

    def _pick(self, name: str) -> Pick:
        """Read `A[2]` as row 2 of A, but `W[h; s]` as one name if the sheet has a line of that name."""
        defined = _DEFINED(name)
        name = defined[1].strip() if defined else name
        return Pick(name) if symbol_key(name) in self._symbols else split_pick(name)

    def _by_equation(self, name: str, where: str) -> RecordCandidates:
        """Match a line that is named by its calculation, `X + Y` or `A V`, to the record with that equation."""
        key = word_key(name)
        matches = [i for i, equation in enumerate(self._equations) if word_key(equation) == key] if len(key) > 1 else []
        return RecordCandidates(tuple(i for i in matches if matches_place(where, self.graph.records[i].where)))

    def _shaped_for_part(self, line: WrittenLine, grid: Grid, number: str) -> dict[int, Grid]:
        """Read the number at the end of a name as that of a head, `scores 2`, or of a residual, `LN 2`."""
        name = line.name.translate(SUBSCRIPTS).strip().removesuffix("}").removesuffix(number).rstrip("_^{ ")
        for part in ("head", "residual"):
            nodes = find_records(self.graph, name, f"{line.where}.{part} {number}".lstrip(".")).nodes
            shaped = self._shaped_nodes(grid, nodes, Pick(name))
            if shaped:
                return shaped
        return {}

    def _shaped_nodes(self, grid: Grid, nodes: Sequence[int], pick: Pick) -> dict[int, Grid]:
        """Return the records that the cells fit in shape, each with the cells in its shape."""
        fitted = {node: self._shaped(grid, node, pick) for node in nodes}
        return {node: cells for node, cells in fitted.items() if cells is not None}

    def _has_row(self, candidates: RecordCandidates) -> bool:
        """Return whether the end of a name selects a row: `q2` does, but `querying` is one word."""
        row = candidates.row
        labels = (label for node in candidates.nodes for names in self.labels(node) for label in names)
        return not row or row.isdecimal() or row.casefold() in {label.strip("<>").casefold() for label in labels}

    def _choose(self, number: int, shaped: dict[int, Grid], others: dict[int, Grid], *, is_symbol: bool) -> int:
        """Choose the most likely record that is not written yet, or one that the numbers clearly fit better.

        One of `others` needs stronger evidence; numbers alone do not show that a symbol of the sheet means one of them.
        """
        nodes, agreement = (
            list(shaped),
            {node: self._agreement(cells, node) for node, cells in (shaped | others).items()},
        )
        fresh = [node for node in nodes if not self._is_taken(node, shaped[node])]
        fresh = [node for node in fresh if self._reserved.get(node, number) == number] or fresh
        first = fresh[0] if fresh else nodes[0]
        best = max(fresh or nodes, key=lambda node: agreement[node])
        if agreement[nodes[0]] > agreement[best] + 0.25:
            best = nodes[0]
        chosen = best if agreement[best] > agreement[first] + 0.25 else first
        if is_symbol:
            self._borrowed[number] = list(others)
        else:
            new = [node for node in others if not self._is_taken(node, others[node]) and node not in self._reserved]
            other = max(new, key=lambda node: agreement[node], default=chosen)
            chosen = other if agreement[other] > max(0.75, agreement[chosen] + 0.5) else chosen
        if self._decided.get(number) in agreement:
            chosen = self._decided[number]
        doubts = [node for node in (nodes if is_symbol else agreement) if node != chosen]
        if doubts:
            self.result.doubtful[number] = doubts
        return chosen

    def _is_taken(self, node: int, grid: Grid) -> bool:
        return any((node, i, j) in self._taken for i, row in enumerate(grid) for j, cell in enumerate(row) if cell)

    def _same_line(self, number: int, line: WrittenLine, pick: Pick, shaped: dict[int, Grid]) -> int | None:
        """Return the record of the earlier rows or cells of this line, unless these cells are written already."""
        node = self._chosen.get((word_key(pick.name), line.where))
        if not pick.row or number in self._decided or node not in shaped or self._is_taken(node, shaped[node]):
            return None
        return node

    def _agreement(self, grid: Grid, node: int) -> float:
        """Return the share of cells that are close to the true value."""
        return share_close(*values_and_units(grid), self._sheet_value(node))

    def _sheet_value(self, node: int) -> Array:
        value = np.asarray(self.graph.records[node].value)
        return value.T if self.graph.is_turned else value

    def _shaped(self, grid: Grid, node: int, pick: Pick) -> Grid | None:
        shape = self._sheet_value(node).shape
        rows, columns = self.labels(node) if pick.row else ((), ())
        fitted = fit_grid(grid, (shape[0], shape[1]), pick, (rows, columns), is_turned=self.graph.is_turned)
        return self._some_rows(grid, node) if fitted is None and not pick.row else fitted

    def _some_rows(self, grid: Grid, node: int) -> Grid | None:
        """Match fewer rows than the record has to the rows with the same numbers."""
        height, width = self._sheet_value(node).shape
        if len(grid) >= height or not is_full(grid) or len(grid[0]) != width:
            return None
        blank: Grid = [[None] * width for _ in range(height)]
        values, units = values_and_units(grid)
        truth = self._sheet_value(node)
        starts = range(height - len(grid) + 1)
        agreement = [share_close(values, units, truth[start : start + len(grid)]) for start in starts]
        best = max(starts, key=lambda start: agreement[start])
        if agreement[best] < 0.5 or agreement.count(agreement[best]) > 1:
            return None
        return blank[:best] + grid + blank[best + len(grid) :]

    def labels(self, node: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of a record's rows and columns, in the layout of the sheet."""
        matrix = self._view.steps[node].matrix
        return matrix.rows, matrix.columns

    def _given_named(self, name: str, where: str) -> list[str]:
        key = symbol_key(name)
        symbols = {n: symbol_key(matrix.symbol) for n, matrix in self.graph.givens.items()}
        named = [n for n, symbol in symbols.items() if symbol == key]
        if not named and len(key) == 1:  # y for Y
            named = [n for n, symbol in symbols.items() if symbol.casefold() == key.casefold()]
        if not named:
            named = [n for n in symbols if n.rpartition(".")[2] == name.strip().casefold()]
        hinted = [n for n in named if where and any(word in n for word in where.split("."))]
        return hinted or named

    def _repeats_given(self, grid: Grid, pick: Pick, where: str, candidates: RecordCandidates) -> bool:
        """Return whether a line repeats a given, where its name is also used for a line that is calculated, as y is."""
        names = self._given_named(pick.name, where)
        if candidates.is_symbol or not names:
            return False
        grids = [(name, self._fit_given(grid, name, pick)) for name in names]
        shares = [share_close(*values_and_units(cells), self._given_value(name)) for name, cells in grids if cells]
        readings = self._shaped_nodes(grid, (*candidates.nodes, *candidates.others), pick)
        best = max((self._agreement(cells, node) for node, cells in readings.items()), default=0.0)
        return max(shares, default=0.0) >= max(0.5, best)

    def _given_value(self, name: str) -> Array:
        value = np.atleast_2d(np.asarray(self.graph.givens[name].value))
        return value.T if self.graph.is_turned else value

    def _fit_given(self, grid: Grid, name: str, pick: Pick) -> Grid | None:
        matrix, shape = self.graph.givens[name], self._given_value(name).shape
        if np.asarray(matrix.value).ndim != 2:
            return None
        labels = (matrix.rows, matrix.columns)
        return fit_grid(grid, (shape[0], shape[1]), pick, labels, is_turned=self.graph.is_turned)

    def _place_given(self, number: int, line: WrittenLine, grid: Grid, pick: Pick) -> None:
        for name in self._given_named(pick.name, line.where):
            fitted = self._fit_given(grid, name, pick)
            if fitted is not None:
                self._placed.append(_PlacedLine(number, fitted, None, name, None, is_copy=True))
                return
        self.result.unplaced.append(number)
        sentence = self._unknown_sentence(self.working.lines[number], pick.name, line.where)
        self.result.notes.append(Note("unplaced", sentence, line.place, is_unknown_line=True))

    def _unknown_sentence(self, original: WrittenLine, name: str, where: str) -> str:
        """Return the sentence about a line that no record has the name of, or a part that the sheet does not have."""
        places = list(self.graph.by_place)
        if where and not any(matches_place(where, place) for place in places):
            near = did_you_mean(original.where, places)
            return f'"{original.name}" was not marked: this exercise has no part "{original.where}".{near}'
        symbols = list(dict.fromkeys(record.symbol for record in self.graph.records))
        near = did_you_mean(name, [*symbols, *words_for(self.graph)])
        shown = ", ".join(symbols[:20]) + (" …" if len(symbols) > 20 else "")
        return (
            f'"{original.name}"{_in(original.where)} is not a line of this exercise, so it was not marked.{near} '
            f'This exercise has the lines {shown}. Words such as "scores", "weights" or "output" also work.'
        )

    def _place_copy(self, number: int, line: WrittenLine, grid: Grid, pick: Pick) -> None:
        users = find_records(self.graph, split_pick(line.copied_into).name, line.where).nodes
        nodes = find_records(self.graph, pick.name, line.where).nodes
        best: tuple[float, int, int | None, Grid] | None = None
        for node in nodes:
            for way in (grid, [list(row) for row in zip(*grid, strict=True)] if is_full(grid) else grid):
                fitted = self._shaped(way, node, pick)
                if fitted is None:
                    continue
                user = next((u for u in users if node in self.graph.parents[u]), None)
                score = self._agreement(fitted, node) + (0.5 if user is not None else 0.0)
                if best is None or score > best[0]:
                    best = (score, node, user, fitted)
        if best is None:
            self._place_given(number, line, grid, pick)
            return
        _, node, user, fitted = best
        self._placed.append(_PlacedLine(number, fitted, node, "", user, is_copy=True))

    def _wrong_shape(self, number: int, line: WrittenLine, node: int, grid: Grid) -> None:
        height, width = self._sheet_value(node).shape
        size = f"{len(grid)} × {max((len(row) for row in grid), default=0)}"
        if len({len(row) for row in grid}) > 1:
            size += " with rows of different lengths"
        is_turned = is_full(grid) and (len(grid[0]), len(grid)) == (height, width) != (width, height)
        turned = " It has the shape of its transpose." if is_turned else ""
        sentence = (
            f'"{line.name}" is {size}, but {self._described(node)} is {height} × {width}.{turned} '
            f'It could not be compared cell by cell. If it is one row, name it "{line.name}[2]", for example.'
        )
        self.result.misshapen.append(WrongShape(number, node, sentence))

    def _described(self, node: int) -> str:
        """Return the equation of a record and its part of the model: `Q = X W_Q (Self-attention)`."""
        step = self._view.steps[node]
        symbol, equation = step.record.symbol, step.equation
        if equation and not equation.startswith(f"{symbol} ="):
            equation = f"{symbol} = {equation}"
        return f"{equation or symbol} ({step.section})" if step.section else equation or symbol

    def _note(self, kind: NoteKind, sentence: str, number: int) -> None:
        self.result.notes.append(Note(kind, sentence, self.working.lines[number].place))


def _in(where: str) -> str:
    return f" in {where}" if where else ""
