"""Mark a working: read it, compare every line with the lines above it, and report where each error started."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clearhead.check.marker import mark, mark_all, mark_worksheet
from clearhead.check.marks import Scheme
from clearhead.check.report import Report
from clearhead.check.scheme_lines import SchemeLineError
from clearhead.check.verdict import Verdict
from clearhead.check.working import Note, Working, WrittenLine
from clearhead.errors import ProblemError
from clearhead.exercises.check.read.sheet_number import SheetLookup

__all__ = [
    "Note",
    "Report",
    "Scheme",
    "Verdict",
    "Working",
    "WrittenLine",
    "check",
    "mark",
    "mark_all",
    "mark_worksheet",
]


def check(
    source: "str | Path | Mapping[str, Any]",
    problem: "str | Path | Mapping[str, Any] | None" = None,
    scheme: Scheme | None = None,
    max_seconds: float | None = None,
    sheets: SheetLookup | None = None,
) -> list[Report]:
    """Mark a file, a built-in example or plain data; return one report for each exercise in it.

    After `max_seconds` an error is raised; None means no limit. `sheets` finds the problem of a working that has the
    number of a practice sheet: `clearhead.quiz.lookup.sheet_lookup()`. Without a `problem`, that of the scheme is used.
    """
    from clearhead.check.time_limit import TimeUpError, late_sentence, time_limit
    from clearhead.exercises.check.read.workings import shown_name

    try:
        with time_limit(max_seconds):
            return _mark(source, problem, scheme, sheets)
    except TimeUpError:
        name = "the working" if isinstance(source, Mapping) else shown_name(source)
        sentence = f"{name}: {late_sentence(max_seconds or 0.0)}. Give fewer lines, or more time."
        raise ProblemError(sentence, options=("time_limit",)) from None


def _mark(
    source: "str | Path | Mapping[str, Any]",
    problem: "str | Path | Mapping[str, Any] | None",
    scheme: Scheme | None,
    sheets: SheetLookup | None,
) -> list[Report]:
    from clearhead.exercises.check.read.workings import load_workings, shown_name

    default = None if scheme is None else scheme.problem
    workings = load_workings(source, default if problem is None else problem, sheets, is_default=problem is None)
    try:
        return mark_all(workings, scheme)
    except SchemeLineError:
        raise
    except ProblemError as wrong:
        raise wrong if isinstance(source, Mapping) else wrong.located(shown_name(source)) from None
