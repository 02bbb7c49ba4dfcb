"""Find practice sheets by their numbers, for the marker: drawn again, or read from a folder of key files.

A sheet that was drawn from a trace has only its key file. A number comes from a student and never becomes a path.
"""

from functools import lru_cache
from pathlib import Path

from clearhead.check.working import NumberedSheet
from clearhead.errors import QuizError
from clearhead.exercises.check.read.sheet_number import SheetLookup
from clearhead.quiz.draw import sheet_of_number
from clearhead.quiz.forms.key import KEY_SUFFIX, load_numbered_key
from clearhead.quiz.number import is_trace_number
from clearhead.quiz.sheet import QuizSheet, step_name
from clearhead.quiz.working import printed_lines


def sheet_lookup(keys: Path | None = None) -> SheetLookup:
    """Return the function that finds a sheet by its number; `keys` has the key files of sheets from a trace."""
    if keys is not None and not keys.is_dir():
        raise QuizError(f"{keys} is not a folder of key files (NUMBER{KEY_SUFFIX}).", options=("keys",))

    @lru_cache(maxsize=1024)  # a class hands in the same sheet many times
    def find(number: str) -> NumberedSheet:
        if not is_trace_number(number):
            return numbered_sheet(sheet_of_number(number))
        if keys is None:
            raise QuizError(
                f"sheet {number} was drawn from a trace, so it is found only by its key file, {number}{KEY_SUFFIX}. "
                "Give the folder with that file.",
                options=("keys",),
            )
        return numbered_sheet(load_numbered_key(number, keys), "from a trace")

    return find


def numbered_sheet(sheet: QuizSheet, origin: str = "") -> NumberedSheet:
    """Return what the marker needs of a sheet; `origin` is part of the name of a quiz that has no difficulty."""
    quiz = f"{sheet.request.kind}, {origin or f'difficulty {sheet.request.difficulty}'}"
    blank_lines = tuple(step_name(step) for step in sheet.asked_steps)
    return NumberedSheet(sheet.number, sheet.problem, quiz, printed_lines(sheet), blank_lines)
