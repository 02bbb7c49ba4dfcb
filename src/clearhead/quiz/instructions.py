"""The sentences on a sheet: what is asked, how to round, and which √d and e to use."""

import math
from collections.abc import Sequence

from clearhead.quiz.request import QuizRequest
from clearhead.steps import Record
from clearhead.worksheet.worksheet import Worksheet

_ROOT_DECIMALS = 4


def write_instructions(request: QuizRequest, sheet: Worksheet, lines: Sequence[Record]) -> tuple[str, ...]:
    """Return the instructions of a sheet with blanks in these lines."""
    decimals = sheet.rounding.shown_decimals
    many = f"{decimals} decimal{'s' * (decimals != 1)}"
    task = "Fill in the blank cells"
    if request.difficulty == 1:  # a line that shows the same numbers again has blanks too
        one_step = " of one step" if len(lines) == 1 else ""
        task += f"{one_step}; use the other lines as they are printed"
    elif request.blanks == "row":
        task += ": one row of every line"
    elif request.blanks == "hard":
        task += "; use the other lines as they are printed"
    if request.difficulty == 1:
        rule = f"Round to {many} (half up)."
    elif sheet.rounding.lines == "rounded":
        rule = f"Round every line to {many} (half up) and continue with the rounded numbers."
    else:
        rule = f"Calculate with all the digits of your calculator and write every number to {many} (half up)."
    return (f"{task}.", rule, *_constants(lines))


def _constants(lines: Sequence[Record]) -> list[str]:
    """Return the roots and constants that the lines need."""
    roots = {int(record.inputs["root_of"]) for record in lines if record.inputs.get("root_of") is not None}
    sentences = []
    for width in sorted(roots):
        root = math.sqrt(width)
        if root == int(root):
            sentences.append(f"√{width} = {int(root)}.")
        else:
            sentences.append(f"Use √{width} = {root:.{_ROOT_DECIMALS}f}, or more digits.")
    if any(record.step.name == "softmax" and record.inputs.get("base") is None for record in lines):
        sentences.append("Use e = 2.7183, or more digits.")
    if any(record.step.name in ("position", "angle", "rotate") for record in lines):
        sentences.append("Angles are in radians.")
    return sentences
