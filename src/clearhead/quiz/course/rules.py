"""The rules that a sheet on a course platform states, so that one fixed interval for each cell is fair.

A platform cannot mark a cell from the lines above it. A sheet states its rounding, √d and e in its instructions; here
it also states how many decimals of other numbers to keep, and whether other ways of continuing are accepted.
"""

from dataclasses import dataclass
from typing import Literal

from clearhead.errors import QuizError
from clearhead.quiz.sheet import QuizSheet, blank_cells
from clearhead.worksheet.working import WORKINGS, moves

CONSTANT_DECIMALS = 4  # of √d and e, as the instructions of every sheet state them
_INNER_DECIMALS = 2  # more than a line has: of exponentials, their sum, the deviation, and other numbers not written

Carry = Literal["rounded", "full", "any"]


@dataclass(frozen=True)
class CourseRules:
    """The rounding that a sheet states.

    `carry` is what the next line uses: the rounded numbers, the full ones (or at least `inner_decimals` of them), or
    any of these.
    """

    decimals: int
    carry: Carry

    @property
    def unit(self) -> float:
        """The unit of the last place of a written number."""
        return float(f"1e-{self.decimals}")

    @property
    def inner_decimals(self) -> int:
        """The fewest decimals of a number that is worked with and not written."""
        return self.decimals + _INNER_DECIMALS

    def sentences(self, num_lines: int) -> tuple[str, ...]:
        """Return what a sheet with blanks in some lines states in addition to its instructions."""
        inner = f"Keep at least {self.inner_decimals} decimals of every number that you do not write down."
        if self.carry != "any" or num_lines == 1:
            return (inner,)
        return (inner, "It is also accepted if you continue with the rounded numbers, or with more decimals of them.")


def rules_of(sheet: QuizSheet, *, is_free: bool) -> CourseRules:
    """Return the rules for a sheet: any way of continuing if `is_free`, or only the one that the sheet states."""
    rounding = sheet.worksheet.rounding
    if rounding.significant is not None:
        raise QuizError(
            f"sheet {sheet.number} is rounded to significant figures, and the intervals of a course platform need "
            "decimals. Choose a number of decimals.",
            options=("decimals",),
        )
    carry: Carry = "rounded" if rounding.lines == "rounded" else "full"
    return CourseRules(rounding.shown_decimals, "any" if is_free else carry)


def question_steps(sheet: QuizSheet) -> list[int]:
    """Return the indices of the steps that a platform asks for: those with blanks that have to be calculated.

    A line that only copies numbers is not asked for: the platform would mark the same number twice, and cannot read -∞.
    """
    return [
        index
        for index, step in enumerate(sheet.view.steps)
        if blank_cells(step) and WORKINGS[step.step.name] is not moves
    ]
