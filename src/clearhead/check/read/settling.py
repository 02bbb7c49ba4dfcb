"""Settle what only the exercise shows: the row of `softmax(2, 7)`, the cell of `q1·k2`, and where a number is missing.

A working is read before its problem is solved. This step comes between reading and marking.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from clearhead.check.graph import Graph
from clearhead.check.names import find_records, split_pick
from clearhead.check.read.cell_name import read_selection, token_lists
from clearhead.check.read.exponential import power_name, with_powers
from clearhead.check.read.number import is_blank, read_cell
from clearhead.check.read.prose_number import holds
from clearhead.check.working import Cells, Note, NoteKind, Working, WrittenLine
from clearhead.errors import ProblemError
from clearhead.worksheet.arrays import Array

_SOFTMAX = re.compile(r"\s*softmax\s*\(\s*\[?([^()\[\]]{1,400})\]?\s*\)\s*(?:\[([^\[\],]{1,40})\])?\s*", re.IGNORECASE)
_MAX_WIDTH = 64  # of a row in which a missing number is searched
_MAX_LOST = 2  # numbers of a row
_MAX_SAME = 8  # writings of a line with the same numbers: more heads than anybody writes out
_MAX_ALIKE = 50  # writings of a line with other numbers
_MAX_BLANKS = 4  # empty cells that are listed one by one
Row = tuple[str, ...]


def settle(working: Working) -> Working:
    """Return the working with every row and cell under the name of its line, and every row of full length."""
    settler = _Settler(working)
    lines = [part for line in settler.with_powers(settler.without_repeats()) for part in settler.settled(line)]
    if not settler.notes and tuple(lines) == working.lines:
        return working
    return replace(working, lines=tuple(lines), notes=(*working.notes, *settler.notes))


@dataclass(frozen=True)
class _RowPlace:
    """A row (from 0) of a record."""

    node: int
    row: int


class _Settler:
    """Settle the lines of one working; its exercise is solved only if a line needs it."""

    def __init__(self, working: Working) -> None:
        self.working = working
        self.notes: list[Note] = []
        self._tokens = frozenset(word for tokens in token_lists(working.problem) for word in tokens)
        self._rows_used: set[_RowPlace] = set()
        self._repeats_noted: set[tuple[str, str]] = set()

    @cached_property
    def _graph(self) -> Graph | None:
        from clearhead.worksheet.reading import parse_problem
        from clearhead.worksheet.rounding import Rounding
        from clearhead.worksheet.solver import solve

        try:
            return Graph(solve(parse_problem(self.working.problem), Rounding()))
        except (ProblemError, ArithmeticError):
            return None

    def without_repeats(self) -> Iterator[WrittenLine]:
        """Yield the lines without those that repeat a line again and again: each is compared under every convention."""
        same: Counter[tuple[str, str, str, Cells]] = Counter()
        alike: Counter[tuple[str, str, str]] = Counter()
        for line in self.working.lines:
            name = (line.name, line.where, line.copied_into)
            same[*name, line.cells] += 1
            alike[name] += 1
            if same[*name, line.cells] <= _MAX_SAME and alike[name] <= _MAX_ALIKE:
                yield line
                continue
            is_same = same[*name, line.cells] > _MAX_SAME
            fault = f'"{line.name}" is written more than {_MAX_SAME if is_same else _MAX_ALIKE} times'
            why = ", with the same numbers" if is_same else ""
            kind: NoteKind = "read" if is_same else "unplaced"
            if (fault, kind) not in self._repeats_noted:
                self._repeats_noted.add((fault, kind))
                self.notes.append(Note(kind, f"{fault}{why}. The others are not marked.", line.place))

    def with_powers(self, lines: Iterable[WrittenLine]) -> Iterator[WrittenLine]:
        """Yield the lines with `exp(2.1)` as a cell of the exponentials, and `exp(2.1) + exp(0.4)` as their sum."""
        lines = list(lines)
        if not any(power_name(line.name) for line in lines) or self._graph is None:
            yield from lines
            return
        powers = with_powers(self._graph, lines)
        for line in powers.side_calculations:
            self._side_calculation(line)
        yield from powers.lines

    def _side_calculation(self, line: WrittenLine) -> None:
        """Add a note on an exponential that is not one of the exercise."""
        result = line.cells[-1][-1]
        is_right = holds([line.name, result])
        right = "right, and it has no marks" if is_right else "not right, and it was not marked"
        sentence = f"this side calculation is {right}: {line.name} = {result}"
        self.notes.append(Note("read" if is_right else "unplaced", sentence, line.place))

    def settled(self, line: WrittenLine) -> Iterator[WrittenLine]:
        """Yield a line as it is to be marked, and the scores inside `softmax(…)` as a line of their own."""
        line = self._full_rows(line)
        self._list_blanks(line)
        softmax = _SOFTMAX.fullmatch(line.name)
        if softmax and not line.copied_into and re.search(r"\d", softmax[1]):
            yield from self._softmax_row(line, softmax)
            return
        selection = read_selection(line.name, self._tokens) if "[" not in line.name else None
        is_cells = selection is not None and "[" in selection.name and not line.copied_into
        yield replace(line, name=selection.name) if selection is not None and is_cells else line

    # softmax(2, 7) = (0.01, 0.99)

    def _softmax_row(self, line: WrittenLine, match: re.Match[str]) -> Iterator[WrittenLine]:
        """Yield the scores and the weights of one row; the scores, or the index after them, show which row it is."""
        arguments = tuple(part.strip() for part in re.split(r"[,;]|\s+", match[1].strip()) if part.strip())
        place = self._row_with_scores(arguments, match[2] or "")
        if place is None or self._graph is None:
            yield line
            return
        self._rows_used.add(place)
        graph = self._graph
        weights = _softmax_below(graph, place.node)
        symbol, where = graph.records[weights].symbol, graph.records[weights].where
        name = f"{symbol}[{place.row + 1}]"
        scores = WrittenLine(
            f"{graph.records[place.node].symbol}[{place.row + 1}]",
            (arguments,),
            graph.records[place.node].where,
            line.place,
            name if self._is_written_before(arguments) else "",
        )
        yield scores
        yield replace(line, name=name, where=where)
        if not match[2]:
            sentence = f'"{line.name}" was read as row {place.row + 1} of {symbol}, because of its scores.'
            self.notes.append(Note("placed", sentence, line.place))

    def _row_with_scores(self, arguments: Row, wanted: str) -> _RowPlace | None:
        """Return the row whose scores are nearest; for equal rows, the first that is not used yet."""
        graph = self._graph
        values = _values(arguments, has_comma=False)
        if graph is None or values is None:
            return None
        best: tuple[float, bool, _RowPlace] | None = None
        for node in _before_softmax(graph):
            truth = np.asarray(graph.records[node].value)
            if truth.shape[1] != len(values):
                continue
            for row in range(truth.shape[0]):
                if wanted.isdecimal() and int(wanted) != row + 1:
                    continue
                place = _RowPlace(node, row)
                candidate = (_distance(values, truth[row]), place in self._rows_used, place)
                if best is None or candidate[:2] < best[:2]:
                    best = candidate
        near = 0.15 * max(1.0, float(np.max(np.abs(values[np.isfinite(values)]), initial=0.0)))
        return best[2] if best is not None and (best[0] <= near or wanted) else None

    def _is_written_before(self, arguments: Row) -> bool:
        """Return whether these scores are a row of a line, so that they are only a copy of it."""
        return any(
            len(row) == len(arguments) and all(a == b for a, b in zip(row, arguments, strict=True))
            for line in self.working.lines
            if not _SOFTMAX.fullmatch(line.name)
            for row in line.cells
        )

    # Rows with a missing number

    def _full_rows(self, line: WrittenLine) -> WrittenLine:
        """Return a matrix with an empty cell in place of each number that a row lacks."""
        lengths = {len(row) for row in line.cells}
        width = max(lengths, default=0)
        if len(lengths) < 2 or width > _MAX_WIDTH:
            return line
        truth = self._truth(line, width)
        if truth is None:
            return line
        rows = []
        for number, row in enumerate(line.cells):
            rows.append(row if len(row) == width else self._filled(line, number, width, truth[number]))
        return replace(line, cells=tuple(rows))

    def _truth(self, line: WrittenLine, width: int) -> Array | None:
        """Return the record that a line of this height and width means."""
        if self._graph is None or line.copied_into:
            return None
        for node in find_records(self._graph, split_pick(line.name).name, line.where).nodes:
            value = np.asarray(self._graph.records[node].value)
            value = value.T if self._graph.is_turned else value
            if value.shape == (len(line.cells), width):
                return value
        return None

    def _filled(self, line: WrittenLine, number: int, width: int, truth: Array) -> Row:
        row = line.cells[number]
        shown = " ".join(row)[:80]
        lost = "a number is" if width - len(row) == 1 else f"{width - len(row)} numbers are"
        fault = f'row {number + 1} of "{line.name}" has {len(row)} of {width} numbers ({shown}): {lost} missing'
        best = self._best_gaps(row, width, truth) if 0 < width - len(row) <= _MAX_LOST else None
        if best is None:
            self.notes.append(Note("unreadable", f"{fault}, and it is not clear where. It was not marked.", line.place))
            return ("",) * width
        columns = " and ".join(str(column + 1) for column, cell in enumerate(best) if not cell)
        self.notes.append(
            Note("unreadable", f"{fault}, probably in column {columns}. The others are marked.", line.place)
        )
        return best

    def _best_gaps(self, row: Row, width: int, truth: Array) -> Row | None:
        """Return the row with its gaps where most numbers are right; None if two places are as good and not right."""
        values = _values(row, has_comma=self.working.has_decimal_comma)
        if values is None:
            return None
        scores: list[tuple[int, Row]] = []
        for gaps in reversed(list(combinations(range(width), width - len(row)))):
            columns = [column for column in range(width) if column not in gaps]
            close = np.abs(values - truth[columns]) <= 0.06 * np.maximum(1.0, np.abs(truth[columns]))
            cells = iter(row)
            filled = tuple("" if column in gaps else next(cells) for column in range(width))
            scores.append((int(np.sum(close)), filled))
        scores.sort(key=lambda entry: -entry[0])
        is_clear = scores[0][0] == len(row) or (scores[0][0] > 0 and scores[1][0] < scores[0][0])
        return scores[0][1] if is_clear else None

    def _list_blanks(self, line: WrittenLine) -> None:
        """Add a note on the few empty cells of a matrix; a line with many was left open on purpose."""
        if any(note.place == line.place and note.kind == "unreadable" for note in self.notes):
            return
        cells = [(i, j) for i, row in enumerate(line.cells, 1) for j, cell in enumerate(row, 1) if is_blank(cell)]
        size = sum(len(row) for row in line.cells)
        if not cells or 2 * len(cells) > size or len(cells) > _MAX_BLANKS or line.copied_into:
            return
        shown = ", ".join(f"row {row}, column {column}" for row, column in cells)
        missing = "is missing" if len(cells) == 1 else "are missing"
        self.notes.append(Note("read", f'"{line.name}": {shown} {missing}, so not marked.', line.place))


def _before_softmax(graph: Graph) -> list[int]:
    """Return the records that can stand inside a softmax: its input first, then the scores that this was made from."""
    nodes: list[int] = []
    for index, record in enumerate(graph.records):
        if record.step.name not in ("softmax", "divide") or np.asarray(record.value).ndim != 2:
            continue
        todo = list(graph.parents[index])
        while todo:
            node = todo.pop(0)
            if node not in nodes and graph.records[node].step.name in ("score", "kernel", "scale", "mask", "project"):
                nodes.append(node)
                todo += graph.parents[node] if graph.records[node].step.name in ("scale", "mask") else ()
    return nodes


def _softmax_below(graph: Graph, node: int) -> int:
    """Return the softmax that a record of scores leads to."""
    todo = [node]
    while todo:
        index = todo.pop(0)
        if graph.records[index].step.name in ("softmax", "divide"):
            return index
        todo += graph.children[index]
    raise AssertionError("scores lead to a softmax")


def _values(cells: Sequence[str], *, has_comma: bool) -> Array | None:
    numbers = [read_cell(cell, has_decimal_comma=has_comma) for cell in cells]
    return None if not numbers or any(number.problem for number in numbers) else np.array([n.value for n in numbers])


def _distance(values: Array, truth: Array) -> float:
    """Return the greatest difference; -∞ and numbers such as -1000 are the same."""
    hidden = np.isinf(truth) | (truth < -1000)
    if not np.array_equal(hidden, np.isinf(values) | (values <= -1000)):
        return float("inf")
    return float(np.max(np.abs(values - truth)[~hidden], initial=0.0))
