"""Match every line of a working to a record of the sheet, and to the cells of that record.

No guess is silent: if a name fits several records and the numbers decide, a note reports the choice. A line that
fits no record is reported too.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from clearhead.check.graph import FromGiven, FromRecord, Graph
from clearhead.check.limits import WorkLimitError
from clearhead.check.names import (
    SUBSCRIPTS,
    Pick,
    RecordCandidates,
    find_records,
    matches_place,
    split_pick,
    symbol_key,
    word_key,
)
from clearhead.check.read.number import WrittenNumber, is_blank, read_cell
from clearhead.check.statement import Copy, Statement, make_statement
from clearhead.check.style import Evidence, Style, evidence, line_style, sheet_style
from clearhead.check.working import Note, NoteKind, Working, WrittenLine
from clearhead.errors import did_you_mean
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.view import SheetView

Grid = list[list[WrittenNumber | None]]
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


@lru_cache(maxsize=2**12)  # a working is placed again under every convention
def _read_row(row: tuple[str, ...], has_decimal_comma: bool) -> tuple[WrittenNumber | None, ...]:
    return tuple(None if is_blank(text) else read_cell(text, has_decimal_comma=has_decimal_comma) for text in row)


def _values_and_units(grid: Grid) -> tuple[Array, Array]:
    """Return the numbers of a grid and their units; nan where nothing is written or readable."""
    values = [[math.nan if cell is None or cell.problem else cell.value for cell in row] for row in grid]
    units = [[0.0 if cell is None else cell.unit for cell in row] for row in grid]
    return np.array(values), np.array(units)


def _share_close(values: Array, units: Array, truth: Array) -> float:
    """Return the share of numbers that are close to the true value."""
    is_number = ~np.isnan(values)
    total = int(is_number.sum())
    if not total:
        return 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        reach = np.maximum(np.maximum(units, 0.02 * np.abs(truth)), 1e-9)
        is_close = (np.abs(values - truth) <= reach) | (values == truth)
    return int((is_close & is_number).sum()) / total


class Placer:
    """Match the lines of one working to the records of one sheet."""

    def __init__(self, graph: Graph, working: Working, decided: Mapping[int, int] | None = None) -> None:
        self.graph, self.working = graph, working
        self._decided = decided or {}
        self.result = Placing()
        self._placed: list[_PlacedLine] = []
        self._room = _MAX_PLACED
        self._taken: set[tuple[int, int]] = set()

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
        for number, line in enumerate(self.working.lines):
            self._place_line(number, line)
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
        grid = self._read(line)
        if not any(cell for row in grid for cell in row):
            self._note("unplaced", f'"{line.name}" contains no numbers.', line)
            return
        pick = self._pick(line.name)
        if line.copied_into:
            self._place_copy(number, line, grid, pick)
            return
        candidates = find_records(self.graph, pick.name, line.where)
        if not candidates.nodes:
            candidates = self._by_equation(pick.name, line.where)
        if candidates.row and not pick.row:
            pick = Pick(pick.name, candidates.row, pick.column)
        if not candidates.nodes or not self._has_row(candidates):
            self._place_given(number, line, grid, self._pick(line.name))
            return
        shaped = {node: fitted for node in candidates.nodes if (fitted := self._shaped(grid, node, pick)) is not None}
        if not shaped and candidates.row:
            shaped = self._shaped_for_head(line, grid, candidates.row)
        if not shaped:
            if self._given_named(pick.name, line.where):
                self._place_given(number, line, grid, pick)
                return
            self._wrong_shape(number, line, candidates.nodes[0], grid)
            return
        node = self._choose(number, line, shaped)
        self._room -= self.graph.records[node].value.size
        if self._room < 0:
            raise WorkLimitError(
                f"the lines are parts of matrices with more than {_MAX_PLACED:,} numbers in all. Write a matrix as one "
                "line."
            )
        self._taken |= {(node, i) for i, row in enumerate(shaped[node]) if any(row)}
        if not pick.row and len(grid) < len(shaped[node]) and len(shaped[node][0]) > 1:
            first = next(i for i, row in enumerate(shaped[node]) if any(row)) + 1
            rows = f"row {first}" if len(grid) == 1 else f"rows {first} to {first + len(grid) - 1}"
            self._note("placed", f'"{line.name}" was read as {rows} of {self.graph.records[node].symbol}.', line)
        self._placed.append(_PlacedLine(number, shaped[node], node))

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

    def _shaped_for_head(self, line: WrittenLine, grid: Grid, number: str) -> dict[int, Grid]:
        """Read the number at the end of a name, `scores 2`, as the number of a head."""
        name = line.name.translate(SUBSCRIPTS).strip().removesuffix("}").removesuffix(number).rstrip("_^{ ")
        heads = find_records(self.graph, name, f"{line.where}.head {number}".lstrip("."))
        fitted = {node: self._shaped(grid, node, Pick(name)) for node in heads.nodes}
        return {node: cells for node, cells in fitted.items() if cells is not None}

    def _has_row(self, candidates: RecordCandidates) -> bool:
        """Return whether the end of a name selects a row: `q2` does, but `querying` is one word."""
        row = candidates.row
        labels = (label for node in candidates.nodes for names in self.labels(node) for label in names)
        return not row or row.isdecimal() or row.casefold() in {label.strip("<>").casefold() for label in labels}

    def _read(self, line: WrittenLine) -> Grid:
        return [list(_read_row(row, self.working.has_decimal_comma)) for row in line.cells]

    def _choose(self, number: int, line: WrittenLine, shaped: dict[int, Grid]) -> int:
        """Choose the most likely record that is not written yet, or one that the numbers clearly fit better."""
        nodes = list(shaped)
        if len(nodes) == 1:
            return nodes[0]
        fresh = [node for node in nodes if not self._is_taken(node, shaped[node])]
        agreement = {node: self._agreement(shaped[node], node) for node in nodes}
        first = fresh[0] if fresh else nodes[0]
        best = max(fresh or nodes, key=lambda node: agreement[node])
        if agreement[nodes[0]] > agreement[best] + 0.25:
            best = nodes[0]
        chosen = best if agreement[best] > agreement[first] + 0.25 else first
        if self._decided.get(number) in shaped:
            chosen = self._decided[number]
        self.result.doubtful[number] = [node for node in nodes if node != chosen]
        self._note("placed", f'"{line.name}" was read as {self._described(chosen)}.', line)
        return chosen

    def _is_taken(self, node: int, grid: Grid) -> bool:
        return any((node, i) in self._taken for i, row in enumerate(grid) if any(row))

    def _agreement(self, grid: Grid, node: int) -> float:
        """Return the share of cells that are close to the true value."""
        return _share_close(*_values_and_units(grid), self._sheet_value(node))

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
        if len(grid) >= height or not _is_full(grid) or len(grid[0]) != width:
            return None
        blank: Grid = [[None] * width for _ in range(height)]
        values, units = _values_and_units(grid)
        truth = self._sheet_value(node)
        starts = range(height - len(grid) + 1)
        agreement = [_share_close(values, units, truth[start : start + len(grid)]) for start in starts]
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
        named = [n for n, matrix in self.graph.givens.items() if symbol_key(matrix.symbol) == key]
        hinted = [n for n in named if where and any(word in n for word in where.split("."))]
        return hinted or named

    def _place_given(self, number: int, line: WrittenLine, grid: Grid, pick: Pick) -> None:
        for name in self._given_named(pick.name, line.where):
            value = np.atleast_2d(np.asarray(self.graph.givens[name].value))
            shape = value.T.shape if self.graph.is_turned else value.shape
            labels = (self.graph.givens[name].rows, self.graph.givens[name].columns)
            fitted = fit_grid(grid, (shape[0], shape[1]), pick, labels, is_turned=self.graph.is_turned)
            if fitted is not None and np.asarray(self.graph.givens[name].value).ndim == 2:
                self._placed.append(_PlacedLine(number, fitted, None, name, None, is_copy=True))
                return
        self.result.unplaced.append(number)
        symbols = list(dict.fromkeys(record.symbol for record in self.graph.records))
        near = did_you_mean(pick.name, symbols)
        shown = ", ".join(symbols[:20]) + (" …" if len(symbols) > 20 else "")
        sentence = (
            f'"{line.name}"{_in(line.where)} is not a line of this exercise, so it was not marked.{near} '
            f'This exercise has the lines {shown}. Words such as "scores", "weights" or "output" also work.'
        )
        self.result.notes.append(Note("unplaced", sentence, line.place, is_unknown_line=True))

    def _place_copy(self, number: int, line: WrittenLine, grid: Grid, pick: Pick) -> None:
        users = find_records(self.graph, split_pick(line.copied_into).name, line.where).nodes
        nodes = find_records(self.graph, pick.name, line.where).nodes
        best: tuple[float, int, int | None, Grid] | None = None
        for node in nodes:
            for way in (grid, [list(row) for row in zip(*grid, strict=True)] if _is_full(grid) else grid):
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
        is_turned = _is_full(grid) and (len(grid[0]), len(grid)) == (height, width) != (width, height)
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

    def _note(self, kind: NoteKind, sentence: str, line: WrittenLine) -> None:
        self.result.notes.append(Note(kind, sentence, line.place))


def _in(where: str) -> str:
    return f" in {where}" if where else ""


def _is_full(grid: Grid) -> bool:
    return len({len(row) for row in grid}) == 1


def fit_grid(
    grid: Grid, shape: tuple[int, int], pick: Pick, labels: tuple[Sequence[str], Sequence[str]], *, is_turned: bool
) -> Grid | None:
    """Return the cells in the full shape of their record (None where nothing is written); None if they do not fit."""
    height, width = shape
    if not _is_full(grid):
        return None
    rows, columns = len(grid), len(grid[0])
    full: Grid = [[None] * width for _ in range(height)]
    if pick.row and pick.column:
        i, j = _place_of(pick.row, labels[0], height), _place_of(pick.column, labels[1], width)
        if i is None or j is None or (rows, columns) != (1, 1):
            return None
        full[i][j] = grid[0][0]
        return full
    if pick.row:
        cells = [cell for row in grid for cell in row]
        names, count, length = (labels[1], width, height) if is_turned else (labels[0], height, width)
        place = _place_of(pick.row, names, count)
        if height == 1 and not is_turned and place is None:  # e_2: the second number of a line of one row
            place = _place_of(pick.row, labels[1], width)
            if place is None or len(cells) != 1:
                return None
            full[0][place] = cells[0]
            return full
        if height == 1 and not is_turned and len(cells) == 1 and width > 1:
            place = _place_of(pick.row, labels[1], width)
            if place is None:
                return None
            full[0][place] = cells[0]
            return full
        if place is None or len(cells) != length or 1 not in (rows, columns):
            return None
        for number, cell in enumerate(cells):
            full[number if is_turned else place][place if is_turned else number] = cell
        return full
    if (rows, columns) == shape:
        return grid
    if 1 in shape and 1 in (rows, columns) and rows * columns == height * width:  # a row or column vector
        cells = [cell for row in grid for cell in row]
        return [cells] if height == 1 else [[cell] for cell in cells]
    return None


def _place_of(wanted: str, names: Sequence[str], count: int) -> int | None:
    lowered = [name.casefold() for name in names]
    for form in (wanted, wanted.strip("<>")):
        if form in names:
            return list(names).index(form)
        near = [i for i, name in enumerate(lowered) if name.strip("<>") == form.casefold()]
        if near:
            return near[0]
    if f"pos {wanted}" in names:  # PE[2] is position 2; positions are counted from 0
        return list(names).index(f"pos {wanted}")
    position = wanted.removeprefix("pos ")
    if position != wanted and position.isdecimal() and int(position) < count:
        return int(position)
    if wanted.isdecimal() and 1 <= int(wanted) <= count:
        return int(wanted) - 1
    return None
