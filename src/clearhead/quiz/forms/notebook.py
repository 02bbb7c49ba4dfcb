"""A sheet as a Jupyter notebook: the sheet, a cell for every line to fill in, and a cell that marks them."""

import json
from typing import Any

from clearhead.quiz.forms.decimals import with_decimal_sign
from clearhead.quiz.forms.key import KEY_SUFFIX
from clearhead.quiz.forms.markdown import sheet_markdown
from clearhead.quiz.number import is_trace_number
from clearhead.quiz.sheet import QuizSheet, blank_cells, step_name
from clearhead.worksheet.rounding import BLANK
from clearhead.worksheet.view import StepView

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_KEY_NOTE = "# The key file of the sheet must be in the folder of this notebook.\n"


def write(sheet: QuizSheet, is_key: bool, decimal: str) -> bytes:
    """Return the notebook as plain JSON of the notebook format 4.5."""
    cells = [_markdown(with_decimal_sign(sheet_markdown(sheet, is_key), decimal), "sheet")]
    steps = zip(sheet.view.steps, sheet.key_view.steps, strict=True)
    blank_steps = [(step, solved) for step, solved in steps if blank_cells(step)]
    cells.append(_code("answers = {}", "answers"))
    for place, (step, solved) in enumerate(blank_steps):
        equation = f"{step.matrix.symbol} = {step.equation}"
        text = f"# {step.section}: {equation}" if step.section else f"# {equation}"
        text += f"\nanswers[{_quoted(step_name(step))}] = {_rows(solved if is_key else step)}"
        cells.append(_code(text, f"line-{place + 1}"))
    cells.append(_code(_check(sheet), "check"))
    notebook = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1).encode("utf-8") + b"\n"


def _check(sheet: QuizSheet) -> str:
    """Return the code that marks the answers; quotes keep the last 0 of 0.50."""
    if is_trace_number(sheet.number):
        return (
            f"{_KEY_NOTE}from clearhead.quiz.answers import mark_answers\n"
            "from clearhead.quiz.forms.key import load_key\n\n"
            f"mark_answers(load_key({_quoted(sheet.number + KEY_SUFFIX)}), answers)"
        )
    return (
        "from clearhead.quiz import sheet_of_number\nfrom clearhead.quiz.answers import mark_answers\n\n"
        f"mark_answers(sheet_of_number({_quoted(sheet.number)}), answers)"
    )


def _quoted(text: str) -> str:
    """Return a text as Python writes it, in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def _rows(step: StepView) -> str:
    """Return a matrix as Python lists, with ... for the cells to fill in."""
    height, width = step.matrix.value.shape
    rows = [[step.matrix.digits.text(row, column) for column in range(width)] for row in range(height)]
    lines = ["[" + ", ".join(_cell(text) for text in row) + "]" for row in rows]
    return "[" + ",\n    ".join(["", *lines]).lstrip(",") + ",\n]"


def _cell(text: str) -> str:
    if text == BLANK:
        return "..."
    return text if text.lstrip("-").replace(".", "", 1).isdecimal() else _quoted(text)


def _markdown(text: str, name: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(text: str, name: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": name,
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": text.splitlines(keepends=True),
    }
