"""A sheet as a table, for a CSV file or a workbook: each line with its symbol in the corner and its labels."""

import csv
import io
import re
from collections.abc import Iterator

from clearhead.exercises.sheet.sheet import Sheet, SheetLine

_NUMBER = re.compile(r"-?\d+(?:\.(\d+))?")
Row = list[str]


def rows_of(sheet: Sheet) -> Iterator[Row]:
    """Yield the rows of a sheet: its number, then for each line a row of labels and a row for each row of numbers."""
    if sheet.id:
        yield ["problem", sheet.id]
    yield ["title", sheet.title]
    section = ""
    for line in sheet.lines:
        if line.section != section:
            section = line.section
            yield []
            yield [f"# {section}"] if section else []
        yield []
        yield from _line_rows(line)


def _line_rows(line: SheetLine) -> Iterator[Row]:
    """Yield the symbol with the names of the columns beside it, and the rows with their names.

    A row or column without a name is called `row 1`: a bare 1 could be a number of the matrix.
    """
    height, width = line.shape
    columns = map(_label, line.columns) if line.columns else (f"column {column + 1}" for column in range(width))
    yield [line.symbol, *columns]
    for row in range(height):
        cells = ["" if line.state(row, column) == "blank" else line.texts[row][column] for column in range(width)]
        yield [_label(line.rows[row]) if line.rows else f"row {row + 1}", *cells]


def _label(name: str) -> str:
    """Return the name of a row or column; one that is a number gets a word before it."""
    return f"token {name}" if _NUMBER.fullmatch(name) else name


def to_csv(sheet: Sheet) -> bytes:
    """Return the sheet as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows_of(sheet))
    return text.getvalue().encode("utf-8")


def to_xlsx(sheet: Sheet) -> bytes:
    """Return the sheet as a workbook, with numbers as numbers that are shown with their digits."""
    from openpyxl import Workbook

    book = Workbook()
    page = book.active
    assert page is not None
    for number, row in enumerate(rows_of(sheet), 1):
        for column, text in enumerate(row, 1):
            cell = page.cell(number, column)
            match = _NUMBER.fullmatch(text) if column > 1 else None
            if match:
                cell.value = float(text)
                cell.number_format = f"0.{'0' * len(match[1])}" if match[1] else "0"
            else:
                cell.value = text
                cell.data_type = "s"  # never a formula, whatever a token begins with
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()
