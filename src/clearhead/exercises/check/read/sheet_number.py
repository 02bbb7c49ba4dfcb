"""Find the number of a practice sheet in a working, and the problem of that sheet.

The sheets are drawn by another package, which imports this one: whoever reads a working passes in the lookup.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearhead.exercises.check.read.number import visible
from clearhead.check.working import NumberedSheet
from clearhead.errors import ClearheadError, ProblemError
from clearhead.worksheet.problem import shorten

_MAX_START = 20_000  # characters at the start of a page in which a number is searched
_MAX_NUMBER = 100  # characters
_MAX_LINE = 1000  # characters of a line in which a sentence of the sheet is searched
_LEAST_LETTERS = 12  # of a sentence
_MOST_AROUND = 30  # letters of commands around a sentence
_BREAK = "\\hspace{0pt}"  # where a number can be broken in LaTeX
_BEFORE = r"(?:^|[·(,;|—–\t]|  )[ \t>#*_|%-]{0,9}(?:\\[a-z]{1,20}\*?\{)?[ \t*_]{0,4}(?:practice )?"
_AROUND = r"[ \t*_`|{]{0,9}(?:\\(?:texttt|textbf|verb\|)\{?)?[ \t*_`|{]{0,9}"
_WORDS = r"(?:sheet(?: (?:number|no\.?))?|hoja)"
# Letters, digits and at least three hyphens; "sheet 3" and a date are not the number of a practice sheet, and a number
# with a mistyped letter is, so that it is reported.
_NUMBER = re.compile(
    rf"{_BEFORE}{_WORDS}[ \t*_]{{0,4}}[:=#|]?{_AROUND}(?P<number>(?=\S{{0,99}}[A-Za-z])(?=\S{{0,99}}\d)"
    rf"[^\W_]{{1,40}}(?:[-‐‑–−][^\W_]{{1,40}}){{3,16}})(?![^\W_])[ \t*_`|}}),;]{{0,9}}",
    re.IGNORECASE | re.MULTILINE,
)


SheetLookup = Callable[[str], NumberedSheet]  # raises ClearheadError for a number that no sheet has


@dataclass(frozen=True)
class ProblemSources:
    """Where the problem of a working can come from, other than its own keys.

    `problem` takes precedence, unless it `is_default` and the working has the number of a sheet. A file that a working
    names must be in `folder` (None: no file). `sheets` finds a practice sheet by its number.
    """

    problem: Mapping[str, Any] | None = None
    folder: Path | None = None
    sheets: SheetLookup | None = None
    is_default: bool = False

    def sheet(self, number: Any) -> NumberedSheet:
        """Return the problem of the sheet with this number."""
        if isinstance(number, bool) or not isinstance(number, str | int) or not str(number).strip():
            raise ProblemError(f"sheet = {shorten(number)} is not the number of a sheet. Copy it from the sheet.")
        if self.sheets is None:
            raise ProblemError(
                f"sheet {shorten(number)} cannot be looked up here. Give the problem of the sheet.",
                options=("problem",),
            )
        try:
            return self.sheets(str(number).strip()[:_MAX_NUMBER])
        except ClearheadError as wrong:
            raise ProblemError([visible(line) for line in str(wrong).split("\n")], options=wrong.options) from None


@dataclass(frozen=True)
class NumberedPage:
    """A page without the line that has the number of its sheet, and that number (empty: the page has none)."""

    text: str
    number: str = ""


def without_sentences(text: str, sentences: Sequence[str]) -> str:
    """Return a page without the lines that are prose of the sheet itself: a sentence above a table is not its name."""
    keys = [key for key in map(_letters, sentences) if len(key) >= _LEAST_LETTERS]
    lines = text.split("\n")
    for number, line in enumerate(lines):
        letters = _letters(line)
        if any(key in letters and len(letters) <= len(key) + _MOST_AROUND for key in keys):
            lines[number] = ""
    return "\n".join(lines)


def _letters(text: str) -> str:
    """Return the letters of a line, without its markup."""
    return "".join(letter for letter in text[:_MAX_LINE].casefold() if letter.isalpha())


def sheet_on_page(text: str) -> NumberedPage:
    """Return the number at the top of a page: `Sheet: self-attention-2-7-03-v1-K`; two sheets are an error."""
    text = text.replace(_BREAK, "")
    lines = list(_NUMBER.finditer(text[:_MAX_START].replace("\r", "\n")))
    numbers = list(dict.fromkeys(match["number"] for match in lines))
    if not numbers:
        return NumberedPage(text)
    if len(numbers) > 1:
        raise ProblemError(
            f"names two sheets, {shorten(numbers[0])} and {shorten(numbers[1])}. Hand in one file for each sheet."
        )
    for match in reversed(lines):
        text = f"{text[: match.start()]} {text[match.end() :]}"
    return NumberedPage(text, numbers[0])
