"""A small class for the tests of a class: two variants of one sheet, and workings with known errors."""

from pathlib import Path
from typing import Any

import yaml

from clearhead.check.classroom import ClassReport, mark_class
from clearhead.check.marks import Scheme
from clearhead.check.working import NumberedSheet
from clearhead.errors import QuizError

UNIT = [[1, 0], [0, 1]]
_BASE: dict[str, Any] = {
    "kind": "self-attention", "X": UNIT, "W_K": UNIT, "W_V": [[1, 2], [3, 4]], "scale": "none", "mask": "none",
    "normaliser": "softmax", "layout": "rows",
}  # fmt: skip
ONE, TWO = "att-2-7-01-v1-A", "att-2-7-02-v1-B"
PROBLEMS = {ONE: {**_BASE, "W_Q": [[1, 2], [3, 1]]}, TWO: {**_BASE, "W_Q": [[2, 5], [7, 3]]}}
QUIZ = "att, difficulty 2"
LINES = ("Q", "S", "A")
RIGHT = {
    ONE: {"Q": [["1", "2"], ["3", "1"]], "S": [["1", "2"], ["3", "1"]], "A": [["0.27", "0.73"], ["0.88", "0.12"]]},
    TWO: {"Q": [["2", "5"], ["7", "3"]], "S": [["2", "5"], ["7", "3"]], "A": [["0.05", "0.95"], ["0.98", "0.02"]]},
}
NO_EXP = {ONE: [["0.33", "0.67"], ["0.75", "0.25"]], TWO: [["0.29", "0.71"], ["0.70", "0.30"]]}


def find(number: str) -> NumberedSheet:
    """Return one of the two variants."""
    if number not in PROBLEMS:
        raise QuizError(f"there is no sheet '{number}'. Compare the number with the sheet.")
    return NumberedSheet(number, PROBLEMS[number], QUIZ, (), LINES)


def hand_in(folder: Path, student: str, number: str, **changes: Any) -> None:
    """Write the working of a student: the right one, with changed lines; a line that is None is left out."""
    lines = {name: cells for name, cells in {**RIGHT[number], **changes}.items() if cells is not None}
    content = {"student": student, "sheet": number, "written": lines}
    (folder / f"{student.lower()}.yaml").write_text(
        yaml.safe_dump(content, allow_unicode=True, sort_keys=False), encoding="utf-8"
    )


def mark(folder: Path) -> ClassReport:
    """Mark the class."""
    return mark_class(folder, Scheme(), sheets=find)
