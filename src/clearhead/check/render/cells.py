"""The cells of a report: their places, the errors that start in them or affect them, and a description of each.

Everything is plain text that can contain the student's own words. Each renderer must escape it for its format.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clearhead.check.report import CellMark, Finding, LineMark, Report
from clearhead.check.verdict import ROUNDING_FAULTS, Verdict
from clearhead.worksheet.render.text import label

MAX_DRAWN = 40  # rows and columns of a matrix in Markdown and HTML
_COPYING_ERRORS = {  # the names of transcriptions in a report, where they differ from those in the JSON
    "sign": "wrong sign",
    "decimal slip": "misplaced decimal point",
    "digit swap": "two digits swapped",
    "miscopied": "",
    "miscopied line": "several numbers",
    "rows and columns exchanged": "rows and columns swapped",
    "two rows exchanged": "two rows swapped",
    "two numbers exchanged": "two numbers swapped",
}
_SHOWN_RIGHT = frozenset({Verdict.TRUNCATED, Verdict.ROUNDING, Verdict.PLAUSIBLE, Verdict.TRUE})


def place_of(line: LineMark, row: int, column: int) -> str:
    """Return `row 2 (x2), column 3 (x3)`, without names where there are none."""
    return f"{_row(line, row)}, {_column(line, column)}"


def _row(line: LineMark, row: int) -> str:
    return _numbered("row", row, line.row_name(row))


def _column(line: LineMark, column: int) -> str:
    return _numbered("column", column, line.column_name(column))


def _numbered(what: str, index: int, name: str) -> str:
    number = str(index + 1)
    return f"{what} {number}" if name in ("", number) else f"{what} {number} ({label(name)})"


def cells_place(line: LineMark, cells: Sequence[tuple[int, int]]) -> str:
    """Describe where cells of a line are: one cell, a row, a column, the entire line or a number of cells."""
    if not cells:
        return "the entire line"
    rows, columns = sorted({i for i, _ in cells}), sorted({j for _, j in cells})
    if len(cells) == 1:
        return place_of(line, *cells[0])
    written_cells = {(i, j) for i, row in enumerate(line.cells) for j, cell in enumerate(row) if cell is not None}
    if written_cells <= set(cells):
        return f"all {len(set(cells))} cells"
    if len(rows) == 1:
        in_row = {j for i, j in written_cells if i == rows[0]}
        return _row(line, rows[0]) + (
            "" if in_row <= set(columns) else f", columns {join_words(j + 1 for j in columns)}"
        )
    if len(columns) == 1:
        in_column = {i for i, j in written_cells if j == columns[0]}
        rest = "" if in_column <= set(rows) else f", rows {join_words(i + 1 for i in rows)}"
        return _column(line, columns[0]) + rest
    return f"{len(set(cells))} cells starting at {place_of(line, *min(cells))}"


def join_words(items: Iterable[object]) -> str:
    """Join items as `1, 2 and 3`."""
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def verdict_of(finding: Finding) -> str:
    """Return the name of a finding: `misconception "no scaling"`, `copying error (two digits swapped)`."""
    name = _COPYING_ERRORS.get(finding.name, finding.name)
    if not name:
        return finding.verdict.in_words
    if finding.verdict is Verdict.MISCONCEPTION:
        return f'misconception "{name}"'
    return f"{finding.verdict.in_words} ({name})"


@dataclass(frozen=True)
class Window:
    """The rows and columns of a line that are drawn, the errors outside them, and a note if any are omitted."""

    rows: list[int]
    columns: list[int]
    hidden: list[CellMark]
    note: str


def _keep(count: int, most: int, wanted: set[int]) -> list[int]:
    if count <= most:
        return list(range(count))
    order = [0, count - 1, *sorted(wanted), *range(count)]  # both ends are always shown, so gaps are only between
    return sorted(list(dict.fromkeys(order))[:most])


def cell_at(line: LineMark, row: int, column: int) -> CellMark | None:
    """Return a cell, or None where nothing was written, also beyond the end of a short row."""
    cells = line.cells[row]
    return cells[column] if column < len(cells) else None


class Marking:
    """A report with an index of the cells in which each finding starts."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._wrong: tuple[LineMark, list[CellMark]] | None = None  # of the line that is being drawn
        self._roots: dict[int, dict[tuple[int, int], list[int]]] = {}
        for number, finding in enumerate(report.findings):
            for cell in finding.cells:
                self._roots.setdefault(finding.line, {}).setdefault(cell, []).append(number)

    def roots(self, line: int, cell: CellMark) -> list[int]:
        """Return the findings (from 0) that start in a cell."""
        return self._roots.get(line, {}).get((cell.row, cell.column), [])

    def above(self, line: int, cell: CellMark) -> list[int]:
        """Return the earlier findings (from 0) that affect a cell."""
        roots = self.roots(line, cell)
        return [number for number in cell.findings if number not in roots and number < len(self.report.findings)]

    def is_wrong(self, cell: CellMark) -> bool:
        """Return whether a cell is an error, given the teacher's strictness."""
        return cell.verdict.is_error or (self.report.is_strict and cell.verdict in ROUNDING_FAULTS)

    def verdict(self, line: int, cell: CellMark) -> str:
        """Return the verdict with its details: `misconception "no scaling"`."""
        findings = [self.report.findings[number] for number in self.roots(line, cell)]
        return next(
            (verdict_of(finding) for finding in findings if finding.verdict is cell.verdict), cell.verdict.in_words
        )

    def tail(self, cell: CellMark) -> str:
        """Return what is printed after a cell's own text: its symbol, and the right value of an error."""
        has_correction = self.is_wrong(cell) and cell.right
        return f"{cell.verdict.symbol} ({cell.right})" if has_correction else cell.verdict.symbol

    def sentence(self, line: int, cell: CellMark) -> str:
        """Describe a cell completely: `row 2, column 3: 18, arithmetic slip; your own lines give 12`."""
        where = place_of(self.report.lines[line], cell.row, cell.column)
        parts = [f"{where}: {cell.text or 'not legible'}, {self.verdict(line, cell)}"]
        if cell.right and (self.is_wrong(cell) or cell.verdict in _SHOWN_RIGHT):
            parts.append(f"your own lines give {cell.right}")
        if cell.truth and cell.truth not in (cell.right, cell.text) and cell.verdict is not Verdict.CORRECT:
            parts.append(f"the true value is {cell.truth}")
        above = [str(number + 1) for number in self.above(line, cell)]
        if above:
            parts.append(f"affected by {'error' if len(above) == 1 else 'errors'} {join_words(above)}")
        return "; ".join([*parts, *([cell.detail.rstrip(".")] if cell.detail else [])])

    def window(self, line: LineMark, max_rows: int, max_columns: int) -> "Window":
        """Choose the rows and columns to draw: both ends, those with errors, then from the beginning."""
        if self._wrong is None or self._wrong[0] is not line:
            self._wrong = (line, [cell for cell in line.marked if self.is_wrong(cell)])
        wrong = self._wrong[1]
        rows = _keep(len(line.cells), max_rows, {cell.row for cell in wrong})
        width = max((len(row) for row in line.cells), default=0)
        columns = _keep(width, max_columns, {cell.column for cell in wrong if cell.row in rows})
        hidden = [cell for cell in wrong if cell.row not in rows or cell.column not in columns]
        size = f"{len(line.cells)} × {width}"
        is_complete = (len(rows), len(columns)) == (len(line.cells), width)
        note = (
            ""
            if is_complete
            else f"{len(rows)} × {len(columns)} of {size} cells are shown; the JSON report contains all of them."
        )
        return Window(rows, columns, hidden, note)

    def describe(self, line: LineMark, cell: CellMark) -> str:
        """Describe an error outside the drawn part of its matrix: `row 3, column 9: 18 ✗ (12)`."""
        return f"{place_of(line, cell.row, cell.column)}: {cell.text} {self.tail(cell)}"

    def num_below(self, number: int) -> int:
        """Count the later cells that a finding affects."""
        lines = enumerate(self.report.lines)
        return sum(number in self.above(index, cell) for index, line in lines for cell in line.marked)
