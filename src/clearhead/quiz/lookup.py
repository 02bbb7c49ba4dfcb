"""Find practice sheets by their numbers, for the marker: drawn again, or read from a folder of key files.

A number comes from a student. It is compared with the names of the files in the folder and never becomes a path.
"""

from functools import lru_cache
from pathlib import Path

from clearhead.check.read.sheet_number import SheetLookup
from clearhead.check.working import NumberedSheet
from clearhead.errors import ProblemError, QuizError
from clearhead.files.bounded import UnreadableFileError, read_bounded
from clearhead.quiz.draw import sheet_of_number
from clearhead.quiz.number import is_trace_number, tidy_number
from clearhead.quiz.request import QuizRequest
from clearhead.quiz.sheet import QuizSheet, step_name
from clearhead.quiz.working import printed_lines
from clearhead.worksheet.reading import parse_problem, read_data
from clearhead.worksheet.solver import solve

KEY_SUFFIX = ".key.json"
_MAX_KEY = 2**22  # bytes of a key file


def sheet_lookup(keys: Path | None = None) -> SheetLookup:
    """Return the function that finds a sheet by its number; `keys` has the key files of sheets from a trace."""
    if keys is not None and not keys.is_dir():
        raise QuizError(f"{keys} is not a folder of key files (NUMBER{KEY_SUFFIX}).", options=("keys",))

    @lru_cache(maxsize=1024)  # a class hands in the same sheet many times
    def find(number: str) -> NumberedSheet:
        if is_trace_number(number):
            return _from_key_file(number, keys)
        return numbered_sheet(sheet_of_number(number))

    return find


def numbered_sheet(sheet: QuizSheet, quiz: str = "") -> NumberedSheet:
    """Return what the marker needs of a sheet; `quiz` is the name of its variants, if it has no request."""
    name = quiz or f"{sheet.request.kind}, difficulty {sheet.request.difficulty}"
    asked = tuple(step_name(step) for step in sheet.asked_steps)
    return NumberedSheet(sheet.number, sheet.problem, name, printed_lines(sheet), asked)


def _from_key_file(number: str, keys: Path | None) -> NumberedSheet:
    wanted = tidy_number(number)
    if keys is None:
        raise QuizError(
            f"sheet {wanted} was drawn from a trace, so it is found only by its key file, {wanted}{KEY_SUFFIX}. Give "
            "the folder with that file.",
            options=("keys",),
        )
    paths = [path for path in sorted(keys.iterdir()) if path.name.casefold() == f"{wanted}{KEY_SUFFIX}"]
    if not paths:
        raise QuizError(f"{keys} has no key file of sheet {wanted} ({wanted}{KEY_SUFFIX}).", options=("keys",))
    path = paths[0]
    try:
        data = read_data(read_bounded(path, _MAX_KEY))
        problem, blanks = data["problem"], tuple(str(blank) for blank in data["blanks"])
        worksheet = solve(parse_problem(problem))
        sheet = QuizSheet(QuizRequest(worksheet.kind), str(data["number"]), problem, worksheet, blanks, (), ())
        return numbered_sheet(sheet, f"{worksheet.kind}, from a trace")
    except (UnreadableFileError, ProblemError, KeyError, TypeError, ValueError, OSError):
        raise QuizError(f"the key file {path} cannot be used. Draw the sheet again, or restore the file.") from None
