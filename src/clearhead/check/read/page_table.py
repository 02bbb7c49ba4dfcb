"""Read tables with pipes or tabs and rows of plain numbers, without headers, labels and scanning artefacts."""

import re
from dataclasses import dataclass

from clearhead.check.read.latex import Grid, as_grid, clean_cell, is_number, split_numbers
from clearhead.check.read.symbol import Symbol, read_symbol
from clearhead.check.working import Cells

_MAX_ROWS = 2000  # of a matrix
HEADING = re.compile(
    r"^\s{0,3}(?:#{1,6}\s|\\(?:sub){0,2}section\*?\{|\\(?:chapter|paragraph|subparagraph|title)\*?\{|\d{1,2}\s?\.?\)\s|Q\s?\d{1,2}\s?[).:]|"
    r"(?:\*\*)?(?:example|exercise|problem|question|task|part|aufgabe|ejercicio)\b\s?(?:\d|[A-Z]\b|[:.)\-–—*]|$))",
    re.IGNORECASE,
)


class NumberLines:
    """The rows of numbers in the lines of a page."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        # Without it, each line of a long column of single numbers, which is no matrix, would search the rest again.
        self._column = range(0)

    def rows(self, at: int) -> list[list[str]]:
        """Return the cells of the lines from `at` on that contain only numbers; none if no line has more than one."""
        if at in self._column:
            return []
        rows: list[list[str]] = []
        for number in range(at, min(at + _MAX_ROWS, len(self._lines))):
            row = _row_of_numbers(self._lines[number])
            if not row:
                break
            rows.append(row)
        if max(map(len, rows), default=0) > 1:
            return rows
        self._column = range(at, at + len(rows))
        return []


def _row_of_numbers(raw: str) -> list[str]:
    """Return the numbers of a line, or an empty list if it has anything else."""
    line = raw.strip().strip("[]|")
    numbers = [clean_cell(cell) for cell in line.split(",")] if "," in line else split_numbers(line)
    return numbers if all(is_number(cell) for cell in numbers) and not HEADING.match(raw) else []


def joined_lines(lines: list[str], at: int) -> tuple[str, int]:
    """Return a line joined with the lines that close its brackets, and the number of lines."""
    text, num_lines = lines[at], 1
    open_brackets = text.count("[") - text.count("]")
    open_environments = text.count("\\begin{") - text.count("\\end{")
    while (
        (open_brackets > 0 or open_environments > 0)
        and at + num_lines < len(lines)
        and num_lines < 60
        and len(text) < 20_000
    ):
        more = lines[at + num_lines]
        if not more.strip() or HEADING.match(more):
            break
        text, num_lines = f"{text}\n{more}", num_lines + 1
        open_brackets += more.count("[") - more.count("]")
        open_environments += more.count("\\begin{") - more.count("\\end{")
    return (text, num_lines) if open_brackets <= 0 and open_environments <= 0 else (lines[at], 1)


def table_cells(line: str, parting: str) -> list[str]:
    """Return the cells of one line of a table."""
    cells = line.split(parting)
    if parting == "|":
        cells = cells[1 if not cells[0].strip() else 0 :]
        cells = cells[:-1] if cells and not cells[-1].strip() else cells
    return [clean_cell(cell) for cell in cells]


@dataclass(frozen=True)
class StrayNumber:
    """A number at the end of one row (counted from 1) in a column that is otherwise empty."""

    row: int
    text: str


@dataclass(frozen=True)
class NumberTable:
    """The numbers of a table, the name in its corner, the names of its rows and columns, and the ignored numbers."""

    grid: Grid
    symbol: Symbol | None
    labels: tuple[str, ...]
    strays: tuple[StrayNumber, ...]
    columns: tuple[str, ...] = ()


def as_table(rows: list[list[str]]) -> NumberTable | None:
    """Return a table of numbers without its header, its row labels and scanning artefacts at the side."""
    rows = [row for row in rows if not all(re.fullmatch(r":?-{1,40}:?|", cell) for cell in row)]
    if not rows:
        return None
    width = max(map(len, rows))
    if width > 4096:
        return None
    rows = [row + [""] * (width - len(row)) for row in rows]
    symbol: Symbol | None = None
    for row in rows:
        if re.search(r"=\s{0,3}$", row[0]):
            symbol = read_symbol(row[0].rstrip(" ="))
            row[0] = ""
    labels: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    body = rows
    is_numbered = symbol is None and len(rows) > 1 and _is_corner(rows[0][0]) and _counts(rows[0][1:])
    if len(rows) > 1 and (is_numbered or not any(is_number(cell) for cell in rows[0][1:])):
        symbol = symbol or (read_symbol(rows[0][0]) if rows[0][0] and rows[0][0] != "S" else None)
        body, columns = rows[1:], tuple(rows[0][1:])
    has_labels = not any(is_number(row[0]) for row in body)
    if has_labels or (columns and _is_corner(rows[0][0]) and _counts([row[0] for row in body])):
        labels = tuple(row[0] for row in body)
        body = [row[1:] for row in body]
    else:
        columns = ()
    grid = as_grid(body)
    if grid is None:
        return None
    cells, strays = _without_strays(grid.cells)
    return NumberTable(Grid(cells), symbol, labels, strays, columns)


def _is_corner(cell: str) -> bool:
    """Return whether the corner of a table is empty or a word, so that row 1 and column 1 can be its header."""
    return not cell or not any(letter.isdigit() for letter in cell)


def _counts(cells: list[str]) -> bool:
    """Return whether cells are the numbers 1, 2, 3 … or 0, 1, 2 …"""
    numbers = [int(cell) if re.fullmatch(r"\d{1,3}", cell) else -1 for cell in cells]
    return bool(numbers) and numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _without_strays(cells: Cells) -> tuple[Cells, tuple[StrayNumber, ...]]:
    """Drop columns at the end that are empty, or in which only one of several rows has a number."""
    strays: list[StrayNumber] = []
    while cells and len(cells[0]) > 1:
        column = [row[-1] for row in cells]
        filled = [cell for cell in column if cell]
        if len(filled) > 1 or (filled and (len(cells) < 3 or len(cells[0]) < 3)):
            break
        if filled:
            row = next(number for number, cell in enumerate(column, 1) if cell)
            strays.append(StrayNumber(row, filled[0]))
        cells = tuple(row[:-1] for row in cells)
    return cells, tuple(strays)
