"""The grades of a class as a spreadsheet: one sheet with a row for each student, one with the lines of each exercise.

Every cell is a number or a text; a name that looks like a formula stays text.
"""

import io
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from clearhead.check.class_summary import LineState, summarise
from clearhead.check.classroom import PERCENT, ClassReport, Grade, grade_rows
from clearhead.errors import printable

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet as BookSheet

_WIDEST = 60  # characters of a column
_MAX_CELL = 32_000  # characters; Excel allows 32,767 in a cell
_CREATOR = b"clearhead grades</dc:creator>"
_DATE = datetime(2000, 1, 1)  # the same grades give the same file


def grades_xlsx(class_report: ClassReport) -> bytes:
    """Return the grades as an .xlsx file."""
    from openpyxl import Workbook

    book = Workbook()
    book.properties.creator, book.properties.created, book.properties.modified = "clearhead grades", _DATE, _DATE
    grades = book.worksheets[0]
    grades.title = "Grades"
    _fill(grades, grade_rows(class_report))
    for row in grades.iter_rows(min_row=2, min_col=PERCENT + 1, max_col=PERCENT + 1):
        row[0].number_format = "0.0"
    grades.freeze_panes = "C2"  # the header, the file and the student stay visible
    lines = book.create_sheet("Lines")
    _fill(lines, _line_rows(class_report))
    lines.freeze_panes = "C2"
    content = io.BytesIO()
    book.save(content)
    return _with_fixed_dates(content.getvalue())


def is_grades_book(content: bytes) -> bool:
    """Return whether a file is a spreadsheet of grades: its properties name this program as the creator."""
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            return _CREATOR in archive.read("docProps/core.xml")
    except (BadZipFile, KeyError, OSError, ValueError, NotImplementedError):
        return False


def _line_rows(class_report: ClassReport) -> Iterable[Sequence[Grade]]:
    yield ["exercise", "line", *(state.value for state in LineState)]
    for quiz in summarise(class_report):
        for tally in quiz.lines:
            yield [quiz.title, tally.heading, *(tally.counts[state] for state in LineState)]


def _fill(sheet: "BookSheet", rows: Iterable[Sequence[Grade]]) -> None:
    """Write rows into a sheet, with a bold header and columns of a readable width."""
    from openpyxl.styles import Alignment, Font
    from openpyxl.utils import get_column_letter

    widths: dict[int, int] = {}
    for number, row in enumerate(rows, 1):
        for column, value in enumerate(row, 1):
            if value == "":
                continue
            cell = sheet.cell(number, column)
            if isinstance(value, str):
                cell.value = printable(value)[:_MAX_CELL]
                cell.data_type = "s"  # not a formula, also if it begins with =
                cell.quotePrefix = value[:1] in tuple("=+-@")
            else:
                cell.value = value
            if number == 1:
                cell.font, cell.alignment = Font(bold=True), Alignment(wrap_text=True, vertical="top")
            widths[column] = max(widths.get(column, 0), len(str(value)) if number > 1 else 8)
    for column, width in widths.items():
        sheet.column_dimensions[get_column_letter(column)].width = min(width + 2, _WIDEST)


def _with_fixed_dates(content: bytes) -> bytes:
    """Return the archive with the same date for every part, so that equal grades give equal bytes."""
    target = io.BytesIO()
    with ZipFile(io.BytesIO(content)) as source, ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for part in source.infolist():
            data = source.read(part)
            if part.filename == "docProps/core.xml":  # openpyxl writes the time of saving
                data = _core_properties(data)
            archive.writestr(ZipInfo(part.filename), data, ZIP_DEFLATED)
    return target.getvalue()


def _core_properties(data: bytes) -> bytes:
    date = _DATE.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    return re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>" + date, data)
