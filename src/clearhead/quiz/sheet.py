"""A practice sheet: a problem, its solution, the cells to fill in, and what the sheet says about itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from clearhead.quiz.request import QuizRequest
from clearhead.quiz.told_apart import ToldApart
from clearhead.worksheet.view import SheetView, StepView
from clearhead.worksheet.worksheet import Worksheet


@dataclass(frozen=True, eq=False)
class QuizSheet:
    """A sheet and its key.

    `problem` is what `solve` and a problem file take. `worksheet` is the solved problem. `blanks` are patterns of cells
    as `solve` takes them. `told_apart` are the wrong rules that give a visibly different answer.
    """

    request: QuizRequest
    number: str
    problem: Mapping[str, Any]
    worksheet: Worksheet
    blanks: tuple[str, ...]
    instructions: tuple[str, ...]
    told_apart: tuple[ToldApart, ...]

    @property
    def title(self) -> str:
        """The title of the sheet."""
        return self.worksheet.title

    @cached_property
    def view(self) -> SheetView:
        """The sheet as it is shown, with its blanks."""
        return SheetView(self.worksheet, self.blanks)

    @cached_property
    def key_view(self) -> SheetView:
        """The solved sheet as it is shown."""
        return SheetView(self.worksheet)

    @property
    def asked_steps(self) -> tuple[StepView, ...]:
        """The steps with cells to fill in."""
        return tuple(step for step in self.view.steps if blank_cells(step))


def blank_cells(step: StepView) -> list[tuple[int, int]]:
    """Return the rows and columns, from 0, of the cells of a step that are blank."""
    return [(row, column) for row, column in step.cells("*", "*") if step.matrix.digits.is_hidden(row, column)]


def step_name(step: StepView) -> str:
    """Return the name of a step as blanks, mark schemes and workings take it: `self_attention.query:Q`."""
    return f"{step.record.where}:{step.matrix.symbol}" if step.record.where else step.matrix.symbol
