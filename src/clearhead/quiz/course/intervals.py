"""A fixed interval for every blank cell: the numbers of every faultless student who follows the rules are inside."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import cached_property

import numpy as np

from clearhead.check.habits import kept
from clearhead.quiz.course.rules import CourseRules, question_steps, rules_of
from clearhead.quiz.course.ways import StudentLine, Students
from clearhead.quiz.sheet import QuizSheet, blank_cells, step_name
from clearhead.worksheet.arrays import Array

MAX_UNITS = 2.0  # the largest half-width of an interval, in units of the last place
_MARGIN = 0.1  # the share of its half-width by which the range of a sample is widened
_MORE_DECIMALS = 2  # of the ends of an interval
_FINEST = Decimal("1e-9")  # the last bits of a binary number do not count


@dataclass(frozen=True)
class CellInterval:
    """The numbers that are accepted in one cell; `row` and `column` count from 0 in the layout of the sheet.

    `key` is the number of the key with the decimals of the sheet, which lies in the interval.
    """

    line: str
    step: str
    index: int
    row: int
    column: int
    key: str
    low: Decimal
    high: Decimal
    decimals: int

    @property
    def centre(self) -> Decimal:
        """The middle of the interval."""
        return (self.low + self.high) / 2

    @property
    def tolerance(self) -> Decimal:
        """Half of the width of the interval."""
        return (self.high - self.low) / 2

    @property
    def units(self) -> float:
        """Half of the width, in units of the last place."""
        return float(self.tolerance.scaleb(self.decimals))

    def accepts(self, number: float | Decimal) -> bool:
        """Return whether a number is inside."""
        return self.low <= Decimal(number).quantize(_FINEST) <= self.high


@dataclass(frozen=True, eq=False)
class CourseSheet:
    """A sheet with the rules that it states on a platform and the interval of every blank cell."""

    sheet: QuizSheet
    rules: CourseRules
    cells: tuple[CellInterval, ...]

    @cached_property
    def widest(self) -> CellInterval | None:
        """The cell with the widest interval."""
        return max(self.cells, key=lambda cell: cell.units, default=None)

    @property
    def is_fair(self) -> bool:
        """Whether something is asked and no interval is wider than the limit."""
        return self.widest is not None and self.widest.units <= MAX_UNITS


def course_sheet(sheet: QuizSheet, *, is_free: bool = True) -> CourseSheet:
    """Return a sheet with its intervals; with `is_free`, for any way of continuing with a rounded line."""
    rules = rules_of(sheet, is_free=is_free)
    students = Students(sheet, rules)
    cells: list[CellInterval] = []
    for index in question_steps(sheet):
        cells += _line_intervals(sheet, rules, students, index)
    return CourseSheet(sheet, rules, tuple(cells))


def _line_intervals(sheet: QuizSheet, rules: CourseRules, students: Students, index: int) -> list[CellInterval]:
    step = sheet.view.steps[index]
    key = sheet.worksheet.rounding.rounded(np.asarray(students.graph.records[index].value, dtype=np.float64))
    low, high = _bounds(students.lines[index], key, rules.unit)
    is_turned = sheet.worksheet.layout == "columns"
    cells = []
    for row, column in blank_cells(step):
        place = (column, row) if is_turned else (row, column)
        if not np.isfinite(key[place]):
            continue
        cells.append(
            CellInterval(
                line=step_name(step),
                step=step.step.name,
                index=index,
                row=row,
                column=column,
                key=f"{key[place] + 0.0:.{rules.decimals}f}",
                low=_outwards(float(low[place]), rules.decimals, ROUND_FLOOR),
                high=_outwards(float(high[place]), rules.decimals, ROUND_CEILING),
                decimals=rules.decimals,
            )
        )
    return cells


def _bounds(line: StudentLine, key: Array, unit: float) -> tuple[Array, Array]:
    """Return the least and the greatest number of every cell: written, before it is rounded, or in the key.

    The students are a sample, so the range before rounding is widened a little.
    """
    full, digits = (values if values.ndim > 2 else values[None] for values in (line.full, line.digits))
    least, greatest = full.min(axis=0), full.max(axis=0)
    with np.errstate(invalid="ignore"):  # ∞ - ∞
        margin = np.where(np.isfinite(least), (greatest - least) / 2.0 * _MARGIN, 0.0)
    least, greatest = least - margin, greatest + margin
    low = np.minimum.reduce([key, digits.min(axis=0), least, kept(least, unit, is_cut=False)])
    high = np.maximum.reduce([key, digits.max(axis=0), greatest, kept(greatest, unit, is_cut=False)])
    return low, high


def _outwards(number: float, decimals: int, direction: str) -> Decimal:
    """Return an end of an interval with few decimals, rounded away from its middle."""
    place = Decimal(1).scaleb(-decimals - _MORE_DECIMALS)
    return Decimal(number).quantize(_FINEST).quantize(place, direction).normalize() + Decimal(0)
