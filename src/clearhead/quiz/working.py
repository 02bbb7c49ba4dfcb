"""The lines of a sheet as a working: those that are printed, the complete key, and a student's lines with the former.

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
    lines = (line for line in _lines(sheet.view) if any(cell for row in line.cells for cell in row))
    return tuple(replace(line, place=PRINTED) for line in lines)


def key_lines(sheet: QuizSheet) -> tuple[WrittenLine, ...]:
    """Return every line with the digits of the key."""
    return tuple(_lines(sheet.key_view))


def answer_lines(sheet: QuizSheet) -> tuple[WrittenLine, ...]:
    """Return the answers: the digits of the key in the cells to fill in, and nothing in the others."""
    lines = []
    for blank, key in zip(_lines(sheet.view), _lines(sheet.key_view), strict=True):
        cells = tuple(
            tuple("" if text else right for text, right in zip(row, key_row, strict=True))
            for row, key_row in zip(blank.cells, key.cells, strict=True)
        )
        if any(cell for row in cells for cell in row):
            lines.append(WrittenLine(key.name, cells, key.where))
    return tuple(lines)


def sheet_working(sheet: QuizSheet, lines: Iterable[WrittenLine], student: str = "") -> Working:
    """Return a student's lines as a working of the sheet, together with the lines that the sheet prints."""
    return Working(sheet.problem, (*printed_lines(sheet), *lines), title=sheet.title, student=student)


def key_working(sheet: QuizSheet) -> Working:
    """Return the key as a working, which earns full marks."""
    return Working(sheet.problem, key_lines(sheet), title=sheet.title)


def _lines(view: SheetView) -> Iterable[WrittenLine]:
    for step in view.steps:
        height, width = step.matrix.value.shape
        cells = tuple(
            tuple(_text(step.matrix.digits.text(row, column)) for column in range(width)) for row in range(height)
        )
        yield WrittenLine(step.matrix.symbol, cells, step.record.where)


def _text(shown: str) -> str:
    return "" if shown == BLANK else shown
