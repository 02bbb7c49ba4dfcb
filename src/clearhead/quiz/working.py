"""The lines of a sheet as a working: those that are printed, and a student's lines with them.

The lines that a sheet prints count as written, because the student works from them as they are printed.
"""

from collections.abc import Iterable
from dataclasses import replace

from clearhead.check.numbered_sheet import PRINTED
from clearhead.check.working import Working, WrittenLine
from clearhead.quiz.sheet import QuizSheet
from clearhead.worksheet.rounding import BLANK
from clearhead.worksheet.view import SheetView


def printed_lines(sheet: QuizSheet) -> tuple[WrittenLine, ...]:
    """Return the lines with the numbers that the sheet prints; a cell to fill in is empty."""
    lines = (line for line in lines_of_view(sheet.view) if any(cell for row in line.cells for cell in row))
    return tuple(replace(line, place=PRINTED) for line in lines)


def sheet_working(sheet: QuizSheet, lines: Iterable[WrittenLine], student: str = "") -> Working:
    """Return a student's lines as a working of the sheet, together with the lines that the sheet prints."""
    return Working(sheet.problem, (*printed_lines(sheet), *lines), title=sheet.title, student=student)


def lines_of_view(view: SheetView) -> Iterable[WrittenLine]:
    """Yield the lines that a view shows; a blank is an empty cell."""
    for step in view.steps:
        height, width = step.matrix.value.shape
        cells = tuple(
            tuple(_text(step.matrix.digits.text(row, column)) for column in range(width)) for row in range(height)
        )
        yield WrittenLine(step.matrix.symbol, cells, step.record.where)


def _text(shown: str) -> str:
    return "" if shown == BLANK else shown
