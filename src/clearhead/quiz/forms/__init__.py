"""The forms of a sheet and its key, by name; a form is imported when it is first used."""

from collections.abc import Callable, Sequence
from importlib import import_module

from clearhead.errors import QuizError, did_you_mean
from clearhead.quiz.sheet import QuizSheet

Form = Callable[[QuizSheet, bool, str], bytes]  # the sheet, whether with solutions, and the decimal sign

SUFFIXES = {
    "markdown": ".md",
    "latex": ".tex",
    "html": ".html",
    "json": ".json",
    "notebook": ".ipynb",
    "moodle": ".xml",
}
_MODULES = {"markdown": "markdown", "latex": "latex", "html": "html", "json": "key", "notebook": "notebook"}


def write_form(sheet: QuizSheet, form: str, *, is_key: bool = False, decimal: str = "point") -> bytes:
    """Return a sheet in a form, with blanks or as the key; `decimal` is point or comma."""
    if form not in _MODULES:
        raise QuizError(
            f"'{form}' is not a form of a single sheet.{did_you_mean(form, _MODULES)} Forms: {', '.join(_MODULES)}."
        )
    write: Form = import_module(f"clearhead.quiz.forms.{_MODULES[form]}").write
    return write(sheet, is_key, decimal)


def introduction(sheet: QuizSheet, is_key: bool) -> Sequence[str]:
    """Return the sentences above the lines of a sheet: its instructions, and on the key what it tells apart."""
    return (*sheet.instructions, told_apart_sentence(sheet)) if is_key else sheet.instructions


def told_apart_sentence(sheet: QuizSheet) -> str:
    """Return the sentence that lists the wrong rules that the sheet tells apart."""
    if not sheet.told_apart:
        return "This sheet tells no common wrong rule apart."
    rules = "; ".join(f"{rule.misconception} ({rule.symbol})" for rule in sheet.told_apart)
    return f"At this rounding the answers differ from what these wrong rules give: {rules}."
