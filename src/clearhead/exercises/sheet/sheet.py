"""A Sheet: the lines of an exercise with their symbols and digits, as the forms print them and `check` reads them.

`solve` and `quiz` make sheets, the forms print them, and the marker compares a page with one. A line is known by its
id, which no form changes: `encoder.0.self_attention:score`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from clearhead.steps import Step
from clearhead.worksheet.arrays import AnyArray, Mask

State = Literal["given", "asked", "blank"]
Labels = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class SheetLine:
    """One matrix of a sheet, in the layout of the sheet.

    A line without a `step` is given. `id` is `where:step`, or the path of a given. `parents` has for each input of the
    step the ids of the lines it is calculated from. `texts` are the digits that are printed.
    """

    id: str
    symbol: str
    section: str
    equation: str
    step: Step | None
    where: str
    parents: Mapping[str, tuple[str, ...]]
    values: AnyArray
    texts: tuple[Labels, ...]
    blanks: Mask
    rows: Labels = ()
    columns: Labels = ()

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        height, width = self.values.shape
        return height, width

    def state(self, row: int, column: int) -> State:
        """Return whether a cell is printed as given, asked for, or left empty."""
        if self.step is None:
            return "given"
        return "blank" if self.blanks[row, column] else "asked"


@dataclass(frozen=True, eq=False)
class Sheet:
    """The lines of an exercise in order: the givens before the first step that uses them.

    `id` is the gallery id, if there is one.
    """

    id: str
    title: str
    layout: str
    lines: tuple[SheetLine, ...]

    @cached_property
    def steps(self) -> tuple[SheetLine, ...]:
        """The lines that are calculated."""
        return tuple(line for line in self.lines if line.step is not None)

    @cached_property
    def givens(self) -> tuple[SheetLine, ...]:
        """The lines that are given."""
        return tuple(line for line in self.lines if line.step is None)

    @cached_property
    def by_id(self) -> Mapping[str, SheetLine]:
        """The lines by their ids."""
        return {line.id: line for line in self.lines}
