"""Match every line of a working to a record of the sheet, and to the cells of that record.

No guess is silent: if a name fits several records and the numbers decide, a note reports the choice. A line that
fits no record is reported too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clearhead.check.given_lines import GivenLines
from clearhead.check.graph import FromGiven, FromRecord, Graph
from clearhead.check.grid import (
    Grid,
    fit_grid,
    fit_some_rows,
    is_full,
    name_without_percent,
    read_grid,
    share_close,
    values_and_units,
)
from clearhead.check.limits import WorkLimitError
from clearhead.check.line_words import SUBSCRIPTS, symbol_key, word_key
from clearhead.check.names import (
    Pick,
    RecordCandidates,
    counted_from_one,
    find_records,
    line_title,
    matches_place,
    split_pick,
    unknown_line,
)
from clearhead.check.statement import Copy, Placing, WrongShape, make_statement
from clearhead.check.style import Evidence, Style, evidence, line_style, sheet_style
from clearhead.check.working import Note, NoteKind, Working, WrittenLine
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.view import SheetView

_MAX_PLACED = 2**20  # cells of the matrices that lines are parts of, each counted for every line
_MAX_POOLED = 100  # lines in which the other cells of a matrix are searched
_TRANSPOSED = re.compile(r"(\w[\w ]{0,30}?)\s*(?:ᵀ|⊤|\^\s*\{?\s*(?:T|⊤|\\top)\s*\}?|\.T|\s+transposed?)").fullmatch
_NAMES_OF_GIVENS = frozenset(("given", "input", "inputs", "vector", "numbers", "logits", "scores", "score", "values"))
_DEFINED = re.compile(r"([^()\[\]=]+(?:\[[^\]]*\])?)\s*=").match  # Q = X W_Q is Q, but PE(pos=1) is not a definition


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
        self._givens = GivenLines(graph)
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
            self._untransposed(replace(line, name=name, where=where))
            for line, name, where in zip(working.lines, counted, counted[len(names) :], strict=False)
        ]

    def _untransposed(self, line: WrittenLine) -> WrittenLine:
        """Return the line K with its rows and columns exchanged for a line Kᵀ, unless the sheet has a line Kᵀ."""
        transposed = _TRANSPOSED(line.name.strip())
        if transposed is None or len({len(row) for row in line.cells}) != 1:
            return line
        if find_records(self.graph, line.name, line.where).nodes or self._givens.named(line.name, line.where):
            return line
        return replace(line, name=transposed[1], cells=tuple(zip(*line.cells, strict=True)))

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
            is_only = len(candidates.nodes) == 1 and (candidates.is_symbol or not candidates.others)
            if is_only and not candidates.is_guess and not line.copied_into:
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
        pick = self._pick(name_without_percent(line.name), line.where)
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
        shaped, others = self._readings(line, grid, candidates, pick)
        if not shaped:
            if self._givens.named(pick.name, line.where):
                self._place_given(number, line, grid, pick)
                return
            self._wrong_shape(number, line, candidates.nodes[0], grid)
            return
        node = self._same_line(number, line, pick, shaped | others)
        is_continued = node is not None
        if node is None:
            node = self._choose(number, shaped, others, candidates)
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
            where = self._lines[number].where
            name = self._pick(name_without_percent(self._lines[number].name), where).name
            candidates = find_records(self.graph, name, where)
            self._candidates_of[number] = candidates if candidates.nodes else self._by_equation(name, where)
        return self._candidates_of[number]

    def _note_choice(self, number: int, node: int, candidates: RecordCandidates, *, is_only: bool) -> None:
        """Report the record that was chosen, unless the name means only this one."""
        name, record = self.working.lines[number].name, self.graph.records[node]
        is_meant = is_only and not candidates.is_guess
        if node == candidates.nodes[0] and (is_meant or candidates.is_symbol):
            return
        if symbol_key(record.symbol) == symbol_key(self._pick(name, self._lines[number].where).name):
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

    def _pick(self, name: str, where: str) -> Pick:
        """Read `A[2]` as row 2 of A, but `W[h; s]` and `h[2]` as one name if the sheet has a line W[h; s] or h₂."""
        defined = _DEFINED(name)
        name = defined[1].strip() if defined else name
        if symbol_key(name) in self._symbols:
            return Pick(name)
        pick = split_pick(name)
        is_counted = pick.row.isdecimal() and not pick.column and not where
        is_line = is_counted and symbol_key(pick.name) not in self._symbols
        return Pick(f"{pick.name}{pick.row}") if is_line and symbol_key(pick.name + pick.row) in self._symbols else pick

    def _by_equation(self, name: str, where: str) -> RecordCandidates:
        """Match a line that is named by its calculation, `X + Y` or `A V`, to the record with that equation."""
        key = word_key(name)
        matches = [i for i, equation in enumerate(self._equations) if word_key(equation) == key] if len(key) > 1 else []
        return RecordCandidates(tuple(i for i in matches if matches_place(where, self.graph.records[i].where)))

    def _readings(
        self, line: WrittenLine, grid: Grid, candidates: RecordCandidates, pick: Pick
    ) -> tuple[dict[int, Grid], dict[int, Grid]]:
        """Return the records that a line fits in shape: those that its name means, and those it is used for too."""
        shaped, others = (self._shaped_nodes(grid, nodes, pick) for nodes in (candidates.nodes, candidates.others))
        if not shaped and pick.row.isdecimal() and not pick.column:
            shaped = self._shaped_for_part(line, grid, candidates, pick.row)
            bare = Pick(pick.name)
            others = others or (self._shaped_nodes(grid, candidates.others, bare) if shaped else {})
        return (shaped, others) if shaped else (others, {})

    def _shaped_for_part(
        self, line: WrittenLine, grid: Grid, candidates: RecordCandidates, number: str
    ) -> dict[int, Grid]:
        """Read the number of a name as that of a head, `scores 2`, of a residual, `LN 2`, or of a layer, `Z2`."""
        name = split_pick(line.name).name.translate(SUBSCRIPTS).strip()
        name = name.removesuffix("}").removesuffix(number).rstrip("_^{ ")
        for part in ("head", "residual"):
            nodes = find_records(self.graph, name, f"{line.where}.{part} {number}".lstrip(".")).nodes
            shaped = self._shaped_nodes(grid, nodes, Pick(name))
            if shaped:
                return shaped
        in_order = sorted(candidates.nodes)
        complete = [node for node in in_order if (len(grid), len(grid[0])) == self._sheet_value(node).shape]
        counted = [node for node in in_order[int(number) - 1 : int(number)] if node in complete]
        return self._shaped_nodes(grid, counted or complete, Pick(name))

    def _shaped_nodes(self, grid: Grid, nodes: Sequence[int], pick: Pick) -> dict[int, Grid]:
        """Return the records that the cells fit in shape, each with the cells in its shape."""
        fitted = {node: self._shaped(grid, node, pick) for node in nodes}
        return {node: cells for node, cells in fitted.items() if cells is not None}

    def _has_row(self, candidates: RecordCandidates) -> bool:
        """Return whether the end of a name selects a row: `q2` does, but `querying` is one word."""
        row = candidates.row
        labels = (label for node in candidates.nodes for names in self.labels(node) for label in names)
        return not row or row.isdecimal() or row.casefold() in {label.strip("<>").casefold() for label in labels}

    def _choose(
        self, number: int, shaped: dict[int, Grid], others: dict[int, Grid], candidates: RecordCandidates
    ) -> int:
        """Choose the most likely record that is not written yet, or one that the numbers clearly fit better.

        A symbol of the sheet does not mean a line that its own line is calculated from: O = Z is a forgotten W_O. One
        of `others` needs strong evidence, or lines that are all written under other names.
        """
        own = [node for node in candidates.nodes[: candidates.num_own] if node in shaped]
        own = [node for node in own if self._is_free(node, shaped[node], number)]
        inputs = {parent for node in own for parent in self.graph.parents[node]} - set(own)
        nodes = [node for node in shaped if node not in inputs]
        agreement = self._agreements(number, shaped | others)
        fresh = [node for node in nodes if not self._is_taken(node, shaped[node])]
        free = [node for node in fresh if self._reserved.get(node, number) == number]
        fresh = free or fresh
        first = fresh[0] if fresh else nodes[0]
        best = max(fresh or nodes, key=lambda node: agreement[node])
        if agreement[nodes[0]] > agreement[best] + 0.25:
            best = nodes[0]
        chosen = best if agreement[best] > agreement[first] + 0.25 else first
        new = [node for node in others if self._is_free(node, others[node], number)]
        if candidates.is_symbol:
            self._borrowed[number] = list(others)
        else:
            other = max(new, key=lambda node: agreement[node], default=chosen)
            needed = max(0.75, agreement[chosen] + 0.5) if free else max(0.5, agreement[chosen]) - 1e-9
            chosen = other if agreement[other] > needed else chosen
        if self._decided.get(number) in agreement:
            chosen = self._decided[number]
        doubts = [node for node in (nodes if candidates.is_symbol else [*nodes, *new]) if node != chosen]
        if doubts:
            self.result.doubtful[number] = doubts
        return chosen

    def _is_free(self, node: int, grid: Grid, number: int) -> bool:
        """Return whether no other line is this record."""
        return not self._is_taken(node, grid) and self._reserved.get(node, number) == number

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

    def _agreements(self, number: int, grids: Mapping[int, Grid]) -> dict[int, float]:
        """Return the agreement with each record: of the line, or of all rows and cells with its name together."""
        shares = {node: [self._agreement(grid, node)] for node, grid in grids.items()}
        for other in self._others_with_name(number):
            line = self._lines[other]
            grid = read_grid(line, has_decimal_comma=self.working.has_decimal_comma)
            fitted = self._shaped_nodes(grid, list(grids), self._pick(name_without_percent(line.name), line.where))
            if len(fitted) == len(grids):
                for node, cells in fitted.items():
                    shares[node].append(self._agreement(cells, node))
        return {node: sum(share) / len(share) for node, share in shares.items()}

    def _others_with_name(self, number: int) -> list[int]:
        """Return the lines below that are other cells of the same matrix, as s[1, 2] is after s[1, 1]."""
        own = self._lines[number]
        pick = split_pick(own.name)
        if not pick.column:
            return []
        start = f"{pick.name}["
        lines = enumerate(self._lines[number + 1 : number + 1 + _MAX_POOLED], number + 1)
        return [n for n, line in lines if line.name.startswith(start) and line.where == own.where and "," in line.name]

    def _sheet_value(self, node: int) -> Array:
        value = np.asarray(self.graph.records[node].value)
        return value.T if self.graph.is_turned else value

    def _shaped(self, grid: Grid, node: int, pick: Pick) -> Grid | None:
        shape = self._sheet_value(node).shape
        rows, columns = self.labels(node) if pick.row else ((), ())
        fitted = fit_grid(grid, (shape[0], shape[1]), pick, (rows, columns), is_turned=self.graph.is_turned)
        if fitted is not None or pick.row:
            return fitted
        return fit_some_rows(grid, self._sheet_value(node), lambda start: (node, start, 0) in self._taken)

    def labels(self, node: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of a record's rows and columns, in the layout of the sheet."""
        matrix = self._view.steps[node].matrix
        return matrix.rows, matrix.columns

    def _repeats_given(self, grid: Grid, pick: Pick, where: str, candidates: RecordCandidates) -> bool:
        """Return whether a line repeats a given, where its name is also used for a line that is calculated, as y is."""
        names = self._givens.named(pick.name, where)
        if candidates.is_symbol or not names:
            return False
        grids = [(name, self._givens.fit(grid, name, pick)) for name in names]
        shares = [share_close(*values_and_units(cells), self._givens.value(name)) for name, cells in grids if cells]
        readings = self._shaped_nodes(grid, (*candidates.nodes, *candidates.others), pick)
        best = max((self._agreement(cells, node) for node, cells in readings.items()), default=0.0)
        return max(shares, default=0.0) >= max(0.5, best)

    def _place_given(self, number: int, line: WrittenLine, grid: Grid, pick: Pick) -> None:
        for name in self._givens.named(pick.name, line.where):
            fitted = self._givens.fit(grid, name, pick)
            if fitted is not None:
                self._placed.append(_PlacedLine(number, fitted, None, name, None, is_copy=True))
                return
        is_other_name = word_key(pick.name) in _NAMES_OF_GIVENS or len(symbol_key(pick.name)) == 1
        repeated = self._givens.repeated(grid, pick) if is_other_name and not self._candidates(number).nodes else ""
        if repeated:
            symbol, name = self.graph.givens[repeated].symbol, self.working.lines[number].name
            self._note("read", f'"{name}" repeats the numbers of {symbol}, which the exercise gives.', number)
            return
        self.result.unplaced.append(number)
        sentence = unknown_line(self.graph, self.working.lines[number], pick.name, line.where)
        self.result.notes.append(Note("unplaced", sentence, line.place, is_unknown_line=True))

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
