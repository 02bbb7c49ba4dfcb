"""Mark answers that are Python numbers or texts, as a notebook has them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clearhead.check.working import WrittenLine
from clearhead.errors import QuizError, did_you_mean
from clearhead.quiz.sheet import QuizSheet, step_name
from clearhead.quiz.working import sheet_working

if TYPE_CHECKING:
    from clearhead.check.report import Report

Rows = Sequence[Sequence[Any]]


def mark_answers(sheet: QuizSheet, answers: Mapping[str, Rows]) -> "Report":
    """Mark the lines of a sheet, each a list of rows; `...` is a cell that is not filled in.

    A number is taken as written to the decimals of the sheet; a text such as "0.5" keeps its own.
    """
    from clearhead.check.marker import mark
    from clearhead.check.marks import Scheme
    from clearhead.quiz.draw import quiz_scheme

    decimals = sheet.worksheet.rounding.shown_decimals
    steps = {step_name(step): step for step in sheet.view.steps}
    lines = []
    for name, rows in answers.items():
        if name not in steps:
            raise QuizError(
                f"'{name}' is not a line of sheet {sheet.number}.{did_you_mean(name, steps)} Lines: {', '.join(steps)}."
            )
        cells = tuple(tuple(_text(cell, decimals) for cell in row) for row in rows)
        if any(cell for row in cells for cell in row):
            lines.append(WrittenLine(steps[name].matrix.symbol, cells, steps[name].record.where))
    if not lines:
        raise QuizError(f"no cell of sheet {sheet.number} is filled in. Replace the ... by numbers.")
    return mark(sheet_working(sheet, lines), Scheme.model_validate(quiz_scheme(sheet)))


def _text(cell: Any, decimals: int) -> str:
    """Return a cell as it would be written by hand; 0.5 on a sheet with two decimals is 0.50."""
    if cell is None or cell is ...:
        return ""
    if isinstance(cell, float):
        shown = repr(cell)
        num_decimals = len(shown.partition(".")[2]) if "e" not in shown and "n" not in shown else 0
        return f"{cell:.{decimals}f}" if 0 < num_decimals < decimals else shown.replace("inf", "∞")
    return str(cell)
