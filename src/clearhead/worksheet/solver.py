"""Solve a problem and record every step, from the given values to the answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clearhead.errors import ProblemError
from clearhead.worksheet.kinds.parts import PartsProblem
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.reading import gallery_id, load_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.worksheet import Worksheet


def solve(problem: str | Path | Mapping[str, Any] | Problem, rounding: Rounding | None = None) -> Worksheet:
    """Solve a problem, given as a file, a gallery id, plain data or a Problem; `rounding` overrides the problem's."""
    loaded = load_problem(problem)
    policy = rounding or loaded.rounding
    pen = Pen(loaded.layout, policy, frozenset(loaded.show))
    try:
        loaded.work(pen)
    except ProblemError as wrong:
        if isinstance(problem, str | Path):
            raise wrong.located(str(problem)) from None
        raise
    if loaded.show:
        _warn_of_idle_lines(pen, loaded.show)
    titles: tuple[str, ...] = ()
    if isinstance(loaded, PartsProblem):
        titles = tuple(part.title or part.kind for part in loaded.parts)
    shown = (tuple(pen.warnings), titles)
    return Worksheet(loaded.kind, loaded.title, policy, pen.finish(), *shown, id=gallery_id(problem))


def _warn_of_idle_lines(pen: Pen, show: tuple[str, ...]) -> None:
    """Warn of lines to show that the problem does not have."""
    steps = {record.step.name for record in pen.finish()}
    for name in show:
        needed = {"deviation", "root_mean_square"} if name == "deviation" else {"exponentiate"}
        if not steps & needed:
            reason = "norm" if name == "deviation" else "softmax"
            pen.warn(f"show: {name} adds no line, because this exercise has no {reason}.")
