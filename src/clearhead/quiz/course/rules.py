"""The rules that a sheet on a course platform states, so that one fixed interval for each cell is fair.

A platform cannot mark a cell from the lines above it. The sheet therefore says to how many decimals every number is
written, how many decimals of other numbers are kept, and which values of √d and e to use.
"""

import math
from dataclasses import dataclass
from functools import cached_property

from clearhead.errors import QuizError
from clearhead.quiz.sheet import QuizSheet, blank_cells
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.working import WORKINGS, moves

INNER_DECIMALS = 2  # more than a line has: of exponentials, their sum, the deviation, and other numbers not written
CONSTANT_DECIMALS = 1  # more than a line has: of √d and e


@dataclass(frozen=True)
class CourseRules:
    """The rounding that a sheet states: the decimals of a line, and whether the next line uses the rounded numbers.

    With `has_free_choice`, the next line can use the rounded numbers, the full ones, or anything in between.
    """

    decimals: int
    has_free_choice: bool = True
    widths: tuple[float, ...] = ()  # every d of a √d
    has_powers: bool = False  # whether a step needs e

    @property
    def unit(self) -> float:
        """The unit of the last place of a written number."""
        return float(f"1e-{self.decimals}")

    @property
    def inner_decimals(self) -> int:
        """The fewest decimals of a number that is worked with and not written."""
        return self.decimals + INNER_DECIMALS

    @cached_property
    def rounding(self) -> Rounding:
        """The rounding of a written number."""
        return Rounding(lines="rounded", decimals=self.decimals)

    def constant(self, number: float) -> float:
        """Return √d or e with the decimals that the sheet states."""
        return round(number, self.decimals + CONSTANT_DECIMALS)

    def sentences(self) -> tuple[str, ...]:
        """Return the rules as the sheet states them."""
        decimals = f"{self.decimals} decimal{'s' * (self.decimals != 1)}"
        choice = "Continue with the rounded number or with more of its decimals: both are accepted."
        if not self.has_free_choice:
            choice = "Continue with the rounded numbers."
        sentences = [
            f"Round every number to {decimals} (0.125 becomes 0.13). {choice}",
            f"Keep at least {self.inner_decimals} decimals of numbers that you do not write down, such as sums of "
            "exponentials.",
        ]
        constants = [f"√{width:g} = {self._text(math.sqrt(width))}" for width in self.widths if not _is_square(width)]
        if self.has_powers:
            constants.append(f"e = {self._text(math.e)}")
        if constants:
            sentences.append(f"Use {' and '.join(constants)}, or more decimals of {_them(len(constants))}.")
        return tuple(sentences)

    def _text(self, number: float) -> str:
        return f"{number:.{self.decimals + CONSTANT_DECIMALS}f}"


def _them(number: int) -> str:
    return "it" if number == 1 else "them"


def _is_square(number: float) -> bool:
    return math.isclose(math.sqrt(number), round(math.sqrt(number)), abs_tol=1e-12)


def rules_of(sheet: QuizSheet, *, has_free_choice: bool = True) -> CourseRules:
    """Return the rules for a sheet."""
    rounding = sheet.worksheet.rounding
    if rounding.significant is not None:
        raise QuizError(
            f"sheet {sheet.number} is rounded to significant figures, and the intervals of a course platform need "
            "decimals. Choose a number of decimals.",
            options=("decimals",),
        )
    records = sheet.worksheet.trace.records
    widths = [record.inputs["root_of"] for record in records if record.inputs.get("root_of") is not None]
    has_powers = any(
        (record.step.name in ("softmax", "exponentiate", "kernel") and record.inputs.get("base") is None)
        or record.inputs.get("function") in ("tanh", "sigmoid", "silu", "softmax")
        for record in records
    )  # fmt: skip
    return CourseRules(rounding.shown_decimals, has_free_choice, tuple(dict.fromkeys(widths)), has_powers)


def question_steps(sheet: QuizSheet) -> list[int]:
    """Return the indices of the steps that a platform asks for: those with blanks that have to be calculated.

    A line that only copies numbers is not asked for: the platform would mark the same number twice, and cannot read -∞.
    """
    return [
        index
        for index, step in enumerate(sheet.view.steps)
        if blank_cells(step) and WORKINGS[step.step.name] is not moves
    ]
