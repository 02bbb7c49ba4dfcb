"""Slips that a fixed interval does not see: how many of the usual ones still fall inside, step by step.

Slips of the pen: a wrong sign, two neighbouring digits exchanged, one digit too high or too low, a misplaced decimal
point. Slips of calculation: one number above is left out, used with the wrong sign, or replaced by its neighbour.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from clearhead.check.graph import Graph
from clearhead.quiz.course.intervals import CellInterval, CourseSheet
from clearhead.worksheet.parents import PARENTS
from clearhead.worksheet.reference import REFERENCE

_MAX_PARENTS = 8  # of one cell: the first ones show what the others do


@dataclass(frozen=True)
class SlipShare:
    """The slips in one step of all sheets, and how many of them fall inside the interval of their cell."""

    step: str
    num_slips: int
    num_inside: int

    @property
    def share(self) -> float:
        """The share of the slips that are not seen."""
        return self.num_inside / self.num_slips if self.num_slips else 0.0


def slip_shares(sheets: Sequence[CourseSheet]) -> list[SlipShare]:
    """Return the share of slips inside the intervals for every step, in the order of the sheets."""
    slips: dict[str, list[int]] = {}
    for course in sheets:
        graph = Graph(course.sheet.worksheet)
        for cell in course.cells:
            counts = slips.setdefault(cell.step, [0, 0])
            for number in cell_slips(graph, cell):
                counts[0] += 1
                counts[1] += cell.accepts(number)
    return [SlipShare(step, *counts) for step, counts in slips.items()]


def cell_slips(graph: Graph, cell: CellInterval) -> set[Decimal]:
    """Return the numbers that usual slips write in a cell, each once; the number of the key is none of them."""
    numbers = {*_slips_of_the_pen(cell.key), *_slips_of_calculation(graph, cell)}
    return numbers - {Decimal(cell.key)}


def _slips_of_the_pen(text: str) -> Iterator[Decimal]:
    key = Decimal(text)
    yield from (-key, key.scaleb(1), key.scaleb(-1))
    places = [place for place, sign in enumerate(text) if sign.isdigit()]
    for place in places:
        for digit in (int(text[place]) - 1, int(text[place]) + 1):
            if 0 <= digit <= 9:
                yield Decimal(f"{text[:place]}{digit}{text[place + 1 :]}")
    for place, after in pairwise(places):
        letters = list(text)
        letters[place], letters[after] = letters[after], letters[place]
        yield Decimal("".join(letters))


def _slips_of_calculation(graph: Graph, cell: CellInterval) -> Iterator[Decimal]:
    """Yield the cell with one of the numbers above it left out, with the wrong sign, or replaced by its neighbour."""
    record = graph.records[cell.index]
    place = (cell.column, cell.row) if graph.is_turned else (cell.row, cell.column)
    step = record.step.name
    for parent in PARENTS[step](record, *place)[:_MAX_PARENTS]:
        value = record.inputs[parent.name]
        value = value if parent.part is None else value[parent.part]
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            continue
        where = (parent.row, parent.column) if value.ndim == 2 else (parent.column,)
        neighbour = np.roll(value, 1, axis=-1)[where]
        for wrong in (0.0, -value[where], neighbour):
            changed = value.copy()
            changed[where] = wrong
            with np.errstate(all="ignore"):
                result = float(np.asarray(REFERENCE[step](**_with(record.inputs, parent, changed)))[place])
            if np.isfinite(result):
                yield Decimal(f"{result + 0.0:.{cell.decimals}f}")


def _with(inputs: Any, parent: Any, changed: Any) -> dict[str, Any]:
    """Return the inputs of a record with one array replaced."""
    if parent.part is None:
        return {**inputs, parent.name: changed}
    parts = list(inputs[parent.name])
    parts[parent.part] = changed
    return {**inputs, parent.name: tuple(parts)}


def course_summary(sheets: Sequence[CourseSheet]) -> str:
    """Return what a teacher should know: how wide the intervals are, and which slips they do not see, by step."""
    widest = max((cell.units for course in sheets for cell in course.cells), default=0.0)
    shares = ", ".join(f"{share.step} {share.share:.1%}" for share in slip_shares(sheets))
    number = f"{len(sheets)} sheet{'s' * (len(sheets) != 1)}"
    return (
        f"{number} with intervals of at most ±{widest:.2g} units of the last place. "
        f"Share of usual slips that are still inside: {shares}."
    )
