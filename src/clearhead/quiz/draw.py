"""Draw practice sheets: the same sheet for the same request, and again from its number.

A generator draws plain data from integers. A draw that is untidy, or that does not tell the main wrong rules apart, is
followed by another one; the number of the draw is part of the number of the sheet.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from clearhead.errors import ProblemError, QuizError
from clearhead.quiz.blanks import choose_blanks
from clearhead.quiz.chance import Chance
from clearhead.quiz.instructions import write_instructions
from clearhead.quiz.kinds import condition_of, generator_of, kinds_with_generator
from clearhead.quiz.main_rules import MAIN_RULES
from clearhead.quiz.number import SheetNumber, parse_number
from clearhead.quiz.request import MAX_VARIANT, QuizRequest, check_request
from clearhead.quiz.sheet import QuizSheet, blank_cells, step_name
from clearhead.quiz.tidy import untidy_reason
from clearhead.quiz.told_apart import ToldApart, wrong_lines
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from clearhead.worksheet.view import SheetView
from clearhead.worksheet.worksheet import Worksheet

MAX_DRAWS = 1_000
_DECIMALS = {1: 2, 2: 3, 3: 2}
_MIN_CELLS = 2  # that must show a wrong rule, unless it changes fewer: the marker names a rule from two cells


def quiz_kinds() -> tuple[str, ...]:
    """Return the kinds of exercises that sheets can be drawn of."""
    return kinds_with_generator()


def draw_sheet(request: QuizRequest) -> QuizSheet:
    """Draw the sheet of a request."""
    return next(_sheets(request))


def draw_sheets(request: QuizRequest, count: int) -> list[QuizSheet]:
    """Draw `count` different sheets: the variants of the request from its own variant on."""
    last = request.variant + count - 1
    if count < 1 or last > MAX_VARIANT:
        raise QuizError(
            f"count = {count} is not possible. Give an integer from 1 to {MAX_VARIANT - request.variant + 1}; for more "
            "sheets, use another seed.",
            options=("count", "seed"),
        )
    sheets: list[QuizSheet] = []
    contents: set[str] = set()
    for variant in range(request.variant, last + 1):
        try:
            sheet = next(s for s in _sheets(replace(request, variant=variant)) if _content(s) not in contents)
        except QuizError as wrong:
            if not sheets:
                raise
            raise QuizError(
                f"{count} different sheets of {request.kind}, difficulty {request.difficulty}, are not possible with "
                f"these settings: there are too few small numbers for more than {len(sheets)}. Ask for fewer sheets, "
                "or use another difficulty.",
                options=("count", "difficulty"),
            ) from wrong
        contents.add(_content(sheet))
        sheets.append(sheet)
    return sheets


def _content(sheet: QuizSheet) -> str:
    """Return what makes a sheet different from others: its numbers and its blanks, without the title."""
    return repr(({key: value for key, value in sheet.problem.items() if key != "title"}, sheet.blanks))


def sheet_of_number(number: str) -> QuizSheet:
    """Return the sheet of a number, the same in this and later versions."""
    parsed = parse_number(number)
    try:
        return _sheet(parsed)
    except (ProblemError, _UnusableDrawError):
        raise QuizError(f"there is no sheet {parsed}. Compare the number with the sheet.") from None


class _UnusableDrawError(QuizError):
    """A draw that is not a sheet."""


def _sheets(request: QuizRequest) -> Iterator[QuizSheet]:
    """Yield the sheets of a request, one for every draw that meets the conditions."""
    check_request(request)
    reason = ""
    for draw in range(MAX_DRAWS):
        try:
            sheet = _sheet(SheetNumber(request, draw), is_strict=True)
        except (ProblemError, _UnusableDrawError) as wrong:
            reason = str(wrong)
            continue
        yield sheet
    raise QuizError(
        f"no sheet of {request.kind}, difficulty {request.difficulty}, meets the conditions with these settings "
        f"({MAX_DRAWS:,} draws; the last one: {reason}). Use more decimals, other blanks or another seed.",
        options=("decimals", "blanks", "seed"),
    )


def _sheet(number: SheetNumber, *, is_strict: bool = False) -> QuizSheet:
    """Build the sheet of a draw; with `is_strict`, raise an error if it does not meet the conditions."""
    request = number.request
    chance = Chance(
        f"clearhead quiz v{number.version}|{request.kind}|{request.difficulty}|{request.seed}|{request.variant}"
        f"|{number.draw}"
    )
    drawn = generator_of(request.kind)(chance, request.difficulty)
    problem = _with_conventions(drawn, number)
    key = solve(parse_problem(problem))
    if is_strict and (reason := untidy_reason(key) or condition_of(request.kind)(problem, key)):
        raise _UnusableDrawError(reason)
    blanks = choose_blanks(request, key, chance)
    view = SheetView(key, blanks)
    told_apart, missing = told_apart_by(problem, key, view)
    if is_strict and missing:
        raise _UnusableDrawError(f"it does not tell apart: {', '.join(sorted(missing))}")
    if is_strict and not told_apart:
        raise _UnusableDrawError("it tells no wrong rule apart")
    lines = [step.record for step in view.steps if blank_cells(step)]
    instructions = write_instructions(request, key, lines)
    return QuizSheet(request, str(number), problem, key, blanks, instructions, told_apart)


def _with_conventions(drawn: dict[str, Any], number: SheetNumber) -> dict[str, Any]:
    request = number.request
    rounding = {
        "lines": "exact" if request.difficulty == 2 else "rounded",
        "decimals": _DECIMALS[request.difficulty] if request.decimals is None else request.decimals,
        "ties": "half-up",
    }
    title = f"{request.kind.capitalize()} · sheet {number}"
    return {"kind": request.kind, "title": title, "layout": "rows", **drawn, "rounding": rounding}


def told_apart_by(
    problem: dict[str, Any], key: Worksheet, view: SheetView
) -> tuple[tuple[ToldApart, ...], frozenset[str]]:
    """Return the wrong rules that the blanks tell apart, and the main rules that they do not."""
    cells_asked = {index: blank_cells(step) for index, step in enumerate(view.steps)}
    cells_asked = {index: cells for index, cells in cells_asked.items() if cells}
    exact = solve(parse_problem(problem), Rounding())
    rules: dict[str, ToldApart] = {}
    possible = set()
    for line in wrong_lines(exact, key, cells_asked):
        changed = [cell for cell in cells_asked[line.index] if line.changes[cell]]
        cells = [cell for cell in changed if line.differs[cell]]
        if not changed:
            continue
        possible.add(line.misconception)
        if line.misconception not in rules and len(cells) >= min(_MIN_CELLS, len(changed)):
            record = key.trace[line.index]
            rules[line.misconception] = ToldApart(line.misconception, record.symbol, record.where, len(cells))
    return tuple(rules.values()), frozenset((possible & MAIN_RULES) - set(rules))


def quiz_scheme(sheet: QuizSheet) -> dict[str, Any]:
    """Return a mark scheme, as `clearhead check` reads it: M1 A1 for every line with cells to fill in."""
    lines = {step_name(step): {"M": 1.0, "A": 1.0} for step in sheet.asked_steps}
    return {"problem": dict(sheet.problem), "lines": lines, "only_these": True}
