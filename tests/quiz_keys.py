"""The key of a practice sheet as a student's working, for tests and benchmarks."""

from clearhead.check.working import Working, WrittenLine
from clearhead.quiz.sheet import QuizSheet
from clearhead.quiz.working import lines_of_view


def key_lines(sheet: QuizSheet) -> tuple[WrittenLine, ...]:
    """Return every line with the digits of the key."""
    return tuple(lines_of_view(sheet.key_view))


def answer_lines(sheet: QuizSheet) -> tuple[WrittenLine, ...]:
    """Return the answers: the digits of the key in the cells to fill in, and nothing in the others."""
    lines = []
    for blank, key in zip(lines_of_view(sheet.view), lines_of_view(sheet.key_view), strict=True):
        cells = tuple(
            tuple("" if text else right for text, right in zip(row, key_row, strict=True))
            for row, key_row in zip(blank.cells, key.cells, strict=True)
        )
        if any(cell for row in cells for cell in row):
            lines.append(WrittenLine(key.name, cells, key.where))
    return tuple(lines)


def key_working(sheet: QuizSheet) -> Working:
    """Return the key as a working, which earns full marks."""
    return Working(sheet.problem, key_lines(sheet), title=sheet.title)
