"""Choose the sheets for a course platform: those whose intervals are narrow enough."""

from collections.abc import Callable
from dataclasses import replace

from clearhead.errors import QuizError
from clearhead.quiz.course.intervals import MAX_UNITS, CourseSheet, course_sheet
from clearhead.quiz.draw import draw_sheet
from clearhead.quiz.request import MAX_VARIANT, QuizRequest
from clearhead.quiz.sheet import QuizSheet

_TRIES_PER_SHEET = 4  # variants that are looked at for each sheet that is wanted
_LEAST_TRIES = 12
_HOPELESS = 6  # variants of which none is fair: the other rules are tried


def choose_course_sheets(
    request: QuizRequest, count: int, draw: Callable[[QuizRequest], QuizSheet] = draw_sheet
) -> list[CourseSheet]:
    """Return `count` sheets whose intervals are at most ±2 units: variants of the request, from its own variant on.

    All sheets accept any way of continuing with a rounded line, or else all require the way that they state. A variant
    with a wider interval is left out, so the numbers of the sheets can have gaps.
    """
    if not 1 <= count <= MAX_VARIANT:
        raise QuizError(
            f"count = {count} is not possible. Give an integer from 1 to {MAX_VARIANT}.", options=("count",)
        )
    last = min(request.variant + max(_LEAST_TRIES, _TRIES_PER_SHEET * count), MAX_VARIANT + 1)
    sheets: dict[int, QuizSheet] = {}
    contents: dict[str, int] = {}
    for is_free in (True, False):
        fair: list[CourseSheet] = []
        for variant in range(request.variant, last):
            if variant not in sheets:
                sheets[variant] = draw(replace(request, variant=variant))
                contents.setdefault(_content(sheets[variant]), variant)
            if contents[_content(sheets[variant])] != variant:  # the same problem again
                continue
            candidate = course_sheet(sheets[variant], is_free=is_free)
            fair += [candidate] if candidate.is_fair else []
            if len(fair) == count:
                return fair
            if not fair and is_free and variant - request.variant + 1 >= _HOPELESS:
                break
    raise QuizError(
        f"only {len(fair)} of the variants {request.variant} to {last - 1} of {request.kind}, difficulty "
        f"{request.difficulty}, can be marked with intervals of at most ±{MAX_UNITS:g} units of the last place, and "
        f"{count} are needed. Ask for fewer sheets, fewer blanks or another seed.",
        options=("count", "blanks", "seed"),
    )


def _content(sheet: QuizSheet) -> str:
    """Return what distinguishes a sheet from others, without its number."""
    return repr(({key: value for key, value in sheet.problem.items() if key != "title"}, sheet.blanks))
