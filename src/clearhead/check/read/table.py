"""Read workings from tables: a name with its matrix to the right or below, and empty cells between blocks.

problem  exam-self-attention          K   1.1   0.9
student  Ada                              0.4   1.2
Q        0.5   1.2
         0.8   2.1                    A
                                      0.43  0.57
"""

import csv
import io
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from clearhead.check.limits import MAX_TABLE_CELLS
from clearhead.check.read.cell_name import read_name
from clearhead.check.read.heading import read_heading
from clearhead.check.read.named_columns import SUM_LABELS, is_exponential
from clearhead.check.read.number import read_cell, visible
from clearhead.check.read.symbol import is_line_word
from clearhead.check.working import Note, WrittenLine
from clearhead.errors import ProblemError

_MAX_NOTES = 50
ENTRIES = ("problem", "sheet", "student", "title", "decimal", "rounded")
Place = tuple[int, int]  # row and column, from 0
_ENTRY = re.compile(rf"({'|'.join(ENTRIES)})(?:\s*[:=]\s*(.*))?", re.IGNORECASE | re.DOTALL).fullmatch
_MISTYPED = re.compile(r"[oOlI][.,][0-9]").match  # O.26 was meant to be a number
_WITH_COMMA = re.compile(r"[-+−–]?[0-9]*,[0-9]+%?").fullmatch
_WITH_POINT = re.compile(r"[-+−–]?[0-9]*\.[0-9]+%?").fullmatch


@dataclass(frozen=True)
class WorkingTable:
    """The content of a table: lines, entries such as `student`, and notes on what could not be matched."""

    lines: tuple[WrittenLine, ...]
    entries: Mapping[str, str] = field(default_factory=dict)
    has_decimal_comma: bool = False
    notes: tuple[Note, ...] = ()


def read_csv(content: bytes, name: str = "") -> WorkingTable:
    """Return the content of a text table with commas, semicolons or tabs between the cells."""
    text = _decoded(content)
    delimiter = "\t" if name.lower().endswith(".tsv") else _delimiter(text)
    if text.count(delimiter) + text.count("\n") > 4 * MAX_TABLE_CELLS:
        raise ProblemError(_too_many())
    grid: dict[Place, str] = {}
    try:
        for row, cells in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)):
            for column, cell in enumerate(cells):
                if cell.strip():
                    grid[row, column] = cell
            if len(grid) > MAX_TABLE_CELLS:
                raise ProblemError(_too_many())
    except csv.Error as wrong:
        raise ProblemError(f"is not a readable table: {wrong}. Save it as CSV in UTF-8.") from None
    return read_grid(grid)


def _too_many() -> str:
    return f"contains more than {MAX_TABLE_CELLS:,} cells. Give the lines of one working only."


def _decoded(content: bytes) -> str:
    is_wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")  # spreadsheets call this Unicode text
    try:
        return content.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError as wrong:
        row = content[: wrong.start].count(b"\n") + 1
        raise ProblemError(f"row {row} is not UTF-8 text. Save the file as 'CSV UTF-8'.") from None


def _delimiter(text: str) -> str:
    lines = text.splitlines()
    commas, semicolons, tabs = (sum(mark in line for line in lines) for mark in ",;\t")
    if tabs and 2 * tabs >= max(commas, semicolons):
        return "\t"
    return ";" if semicolons and 2 * semicolons >= commas else ","  # 0,5;0,7 contains both


def read_grid(grid: Mapping[Place, str], sheet: str = "") -> WorkingTable:
    """Return the content of the cells of a grid, which does not include empty cells."""
    reader = _Grid({place: visible(text).strip() for place, text in grid.items()}, sheet)
    entries = reader.take_entries()
    decimal = entries.get("decimal", "").strip().casefold()
    has_comma = decimal == "comma" or (not decimal and reader.has_only_commas)
    if has_comma and not decimal:
        reader.notes.append(
            Note(
                "read",
                "Every decimal has a comma and none has a point, so the commas were read as decimal separators.",
                sheet,
            )
        )
    lines = reader.take_lines(has_comma)
    reader.tell_the_rest()
    return WorkingTable(tuple(lines), entries, has_comma, tuple(reader.notes))


class _Grid:
    """The cells that are not assigned yet, and notes about them."""

    def __init__(self, cells: Mapping[Place, str], sheet: str) -> None:
        self._cells = {place: text for place, text in sorted(cells.items()) if text}
        self._sheet = sheet
        self._labels: set[Place] = set()
        self._label_columns: dict[int, list[int]] = defaultdict(list)  # of every row, in order
        self._label_rows: dict[int, list[int]] = defaultdict(list)  # of every column, in order
        self._used_rows: dict[int, list[int]] = defaultdict(list)
        self._size = 0
        self.notes: list[Note] = []

    @property
    def has_only_commas(self) -> bool:
        """Whether there are decimal numbers and all have a comma."""
        texts = self._cells.values()
        return any(_WITH_COMMA(text) for text in texts) and not any(_WITH_POINT(text) for text in texts)

    def _place(self, row: int) -> str:
        return f"{self._sheet}, row {row + 1}" if self._sheet else f"row {row + 1}"

    def take_entries(self) -> dict[str, str]:
        """Take the cells `problem`, `student` and so on, with their values in the cells to the right."""
        entries: dict[str, str] = {}
        for row, column in list(self._cells):
            match = _ENTRY(self._cells.get((row, column), ""))
            if match is None:
                continue
            answer = [] if match[2] else self._right_of(row, column)
            value = match[2] or " ".join(self._cells[place] for place in answer)
            if not value:
                continue
            key = match[1].lower()
            for place in [(row, column), *answer]:
                del self._cells[place]
            if entries.setdefault(key, value) != value:
                sentence = f"{key} is given twice: '{value}' was ignored, '{entries[key]}' is used."
                self.notes.append(Note("warning", sentence, self._place(row)))
        return entries

    def _right_of(self, row: int, column: int) -> list[Place]:
        places = []
        while (row, column + 1) in self._cells:
            column += 1
            places.append((row, column))
        return places

    def take_lines(self, has_comma: bool) -> list[WrittenLine]:
        """Take every name with its numbers, from top to bottom and left to right."""
        for place, text in self._cells.items():
            self._used_rows[place[1]].append(place[0])
            if _is_label(text, has_comma):
                self._labels.add(place)
                self._label_columns[place[0]].append(place[1])
                self._label_rows[place[1]].append(place[0])
        lines = []
        for row, column in sorted(self._labels):
            if (row, column) in self._cells:  # not the heading of a row or column that was taken with its block
                lines += (columns := self._line_columns(row, column))
                if columns:
                    continue
                inside = self._headed(row, column) or self._block(row, column)
                if inside:
                    lines.append(self._take(row, column, inside))
                else:
                    lines += self._labelled(row, column)
        return lines

    def _is_number(self, row: int, column: int) -> bool:
        return (row, column) in self._cells and (row, column) not in self._labels

    def _is_label(self, row: int, column: int) -> bool:
        return (row, column) in self._cells and (row, column) in self._labels

    def _headed(self, row: int, column: int) -> set[Place]:
        """Return the numbers of a matrix with labelled rows and columns and its name in the corner, or above it."""
        top = row
        if (row, column + 1) not in self._cells and (row + 1, column) not in self._cells:
            top = row + 1  # the name, and the header in the next row
        columns = self._header(top, column) if self._is_number(top + 1, column + 1) else []
        if not columns:
            return set()
        rows: list[int] = []
        is_label = self._is_label if self._is_label(top + 1, column) else self._is_number
        while is_label(top + 1 + len(rows), column):
            below = top + 1 + len(rows)
            if not any(self._is_number(below, column_of_block) for column_of_block in columns):
                break
            rows.append(below)
            self._check_size(len(columns) * len(rows))
        if is_label == self._is_number and not self._counts([(r, column) for r in rows]):
            return set()
        inside = {(r, c) for r in rows for c in columns if self._is_number(r, c)}
        if inside:
            for place in [*((top, c) for c in columns), *((r, column) for r in rows)]:
                del self._cells[place]
            sentence = f"The row and column labels of {self._cells[row, column]} were ignored."
            self.notes.append(Note("read", sentence, self._place(row)))
        return inside

    def _line_columns(self, row: int, column: int) -> list[WrittenLine]:
        """Take a table with one token a row whose columns are lines: `key, score, exp, weight`, and a row of sums."""
        if not is_line_word(self._cells.get((row, column + 1), "")):  # before the row is searched
            return []
        header = [c for c in self._header(row, column) if self._is_label(row, c)]
        if len(header) < 2 or not all(is_line_word(self._cells[row, c]) for c in header):
            return []
        rows = [row + 1]
        while self._is_label(rows[-1], column):
            rows.append(rows[-1] + 1)
        sums = [r for r in rows[:-1] if self._cells[r, column].strip(" :").casefold() in SUM_LABELS]
        rows = [r for r in rows[:-1] if r not in sums]
        lines: list[WrittenLine] = []
        for c in header:
            name, cells = self._cells[row, c], tuple(self._cells.get((r, c), "") for r in rows)
            if any(cells):
                lines.append(read_heading(name).line((cells,), self._place(row)))
            if is_exponential(name):
                added = [(r, self._cells[r, c]) for r in sums if (r, c) in self._cells]
                lines += [read_heading("sum").line(((text,),), self._place(r)) for r, text in added]
        for place in [(r, c) for r in (row, *rows, *sums) for c in (column, *header)] if lines else ():
            self._cells.pop(place, None)
        return lines

    def _labelled(self, row: int, column: int) -> list[WrittenLine]:
        """Take the rows below a name that have a label of their own: `weights`, and `sun 0.4 0.6` below it."""
        lines: list[WrittenLine] = []
        below = row + 1
        if (row, column + 1) in self._cells or _names_line(self._cells.get((below, column), "")):
            return []
        while self._is_label(below, column) and self._is_number(below, column + 1):
            label = re.sub(r"(?i)^(?:row|token|word)\s*", "", self._cells[below, column])
            if _names_line(label) or len(label) > 40:
                break
            places = self._right_of(below, column)
            heading = read_heading(f"{self._cells[row, column].rstrip(' :=')}[{label}]")
            lines.append(heading.line((tuple(self._cells[place] for place in places),), self._place(below)))
            for place in [(below, column), *places]:
                del self._cells[place]
            below += 1
        if lines:
            del self._cells[row, column]
        return lines

    def _header(self, row: int, column: int) -> list[int]:
        """Return the columns of a header to the right of a corner: words, or the numbers 1, 2, 3 …"""
        for is_header in (self._is_label, self._is_number):
            columns: list[int] = []
            while is_header(row, column + 1 + len(columns)) and len(columns) < MAX_TABLE_CELLS:
                columns.append(column + 1 + len(columns))
            if columns and (is_header == self._is_label or self._counts([(row, c) for c in columns])):
                has_rows = self._is_label(row + 1, column) or self._is_number(row + 1, column)
                return columns if has_rows else []
        return []

    def _counts(self, places: list[Place]) -> bool:
        """Return whether cells are 1, 2, 3 … or 0, 1, 2 …"""
        texts = [self._cells[place] for place in places]
        return len(texts) > 1 and any(
            texts == [str(first + number) for number in range(len(texts))] for first in (0, 1)
        )

    def _block(self, row: int, column: int) -> set[Place]:
        """Return the connected numbers to the right of a name, or else below it."""
        if self._is_number(row, column + 1):
            start, below = (row, column + 1), _first_after(self._used_rows[column], row)
        elif self._is_number(row + 1, column):
            start, below = (row + 1, column), _first_after(self._label_rows[column], row)
        else:
            return set()
        return self._connected(start, below, _first_after(self._label_columns[row], column))

    def _connected(self, start: Place, below: int | None, right: int | None) -> set[Place]:
        """Return the numbers connected with the first one, by side or corner, within the limits."""
        top, left_column = start
        inside, edge = {start}, [start]
        while edge:
            row, column = edge.pop()
            for r in (row - 1, row, row + 1):
                if r < top or (below is not None and r >= below):
                    continue
                for near in ((r, column - 1), (r, column), (r, column + 1)):
                    if near not in inside and near in self._cells and near not in self._labels:
                        is_inside = near[1] >= left_column and (right is None or near[1] < right)
                        if is_inside:
                            inside.add(near)
                            edge.append(near)
        return inside

    def _take(self, row: int, column: int, inside: set[Place]) -> WrittenLine:
        rows = range(min(r for r, _ in inside), max(r for r, _ in inside) + 1)
        columns = range(min(c for _, c in inside), max(c for _, c in inside) + 1)
        self._check_size(len(rows) * len(columns))
        self._size += len(rows) * len(columns)
        cells = tuple(tuple(self._cells[r, c] if (r, c) in inside else "" for c in columns) for r in rows)
        heading = read_heading(self._cells[row, column])
        for place in [(row, column), *inside]:
            del self._cells[place]
        return heading.line(cells, self._place(row))

    def _check_size(self, more: int) -> None:
        """Raise an error for cells so far apart that the matrix around them is huge."""
        if self._size + more > MAX_TABLE_CELLS:
            raise ProblemError(_too_many())

    def tell_the_rest(self) -> None:
        """Add notes on the cells that belong to no line, row by row."""
        rows: dict[int, list[str]] = defaultdict(list)
        for (row, _), text in self._cells.items():
            rows[row].append(text)
        for row, texts in list(rows.items())[:_MAX_NOTES]:
            more = f" and {len(texts) - 5} more" if len(texts) > 5 else ""
            quoted = ", ".join(f"'{text}'" for text in texts[:5])
            sentence = f"{quoted}{more}: this belongs to no name with numbers to its right or below it."
            self.notes.append(Note("unplaced", sentence, self._place(row)))
        if len(rows) > _MAX_NOTES:
            self.notes.append(Note("unplaced", f"{len(rows) - _MAX_NOTES} more rows belong to no name.", self._sheet))


def _names_line(text: str) -> bool:
    """Return whether a cell is the name of a line, of a row or of a cell, rather than the label of a row."""
    symbol = read_name(text)
    return symbol is not None and symbol.part is not None


def _first_after(numbers: list[int], number: int) -> int | None:
    after = bisect_right(numbers, number)
    return numbers[after] if after < len(numbers) else None


def _is_label(text: str, has_comma: bool) -> bool:
    """Return whether a cell is a word; any other text counts as a number, possibly an unreadable one."""
    if text in ("e", "π"):
        return True  # a name, in a table
    is_word = text[0].isalpha() or text[0] in "\\$"
    return is_word and not _MISTYPED(text) and bool(read_cell(text, has_decimal_comma=has_comma).problem)
