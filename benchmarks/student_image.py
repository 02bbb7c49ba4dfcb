"""How far faultless roundings can move a line: the habits of many students are tried on the lines above it.

Each sample is a faultless student who wrote the same digits above. It does not use the bounds of the marker, so that
"outside its reach" does not depend on them.
"""

import math
import random
import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from student_rounding import CALCULATOR, Constants, Precision, compute
from students import CARRIES, MOVES, Desk, Habit, Written, random_habit, unwritten_precision

SAMPLES = 60
MARGIN = 1.2  # a finite number of samples misses the last bit of the range
PURE = len(CARRIES) + 1  # the first samples: the digits as written, then each habit in every line


def image(desk: Desk, index: int) -> tuple[Any, tuple[Any, Any]]:
    """Return a line by the right rule from the lines above as written, and its smallest and largest possible values."""
    lines = Lines(desk)
    outcomes = [Sample(lines, index, number).result(index) for number in range(SAMPLES)]
    stack = np.stack(outcomes)
    centre = stack[0]
    with np.errstate(all="ignore"):
        low = centre - MARGIN * (centre - stack.min(axis=0))
        high = centre + MARGIN * (stack.max(axis=0) - centre)
    return centre, (low, high)


class Lines:
    """What all samples have in common: where lines come from, what they show, and which ones are exact."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.source = {id(record.value): number for number, record in enumerate(desk.trace)}
        self.exact: dict[int, bool] = {}
        self.shown: dict[int, tuple[Any, Any]] = {}
        self.finest: dict[int, Precision] = {}

    def parents(self, index: int) -> list[int]:
        """Return the lines from which a line is computed."""
        values = self.desk.trace[index].inputs.values()
        parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
        return [self.source[id(part)] for part in parts if id(part) in self.source]

    def is_exact(self, index: int) -> bool:
        """Return whether a line is written in full with exact numbers, as are all lines above it."""
        if index not in self.exact:
            line = self.desk.lines[index]
            is_exact = bool(np.all(line.texts != "")) and np.allclose(
                line.values, line.record.value, rtol=0, atol=1e-12
            )
            self.exact[index] = is_exact and all(self.is_exact(parent) for parent in self.parents(index))
        return self.exact[index]

    def units(self, index: int) -> tuple[Any, Any]:
        """Return where a line is written, and the units of its digits."""
        if index not in self.shown:
            line = self.desk.lines[index]
            self.shown[index] = (line.texts != "", shown_units(line))
        return self.shown[index]

    def unwritten(self, index: int) -> Precision:
        """Return the precision of the sheet for a line that is not written."""
        if index not in self.finest:
            self.finest[index] = unwritten_precision(self.desk, self.desk.lines[index].record)
        return self.finest[index]


@cache
def _constants() -> tuple[Constants, ...]:
    """e and π in full, and with two to four decimals."""
    digits = [Precision(decimals, None, way) for decimals in (2, 3, 4) for way in ("half-up", "cut")]
    return (CALCULATOR, *(Constants(float(d.kept(math.e)), float(d.kept(math.pi))) for d in digits))


class Sample:
    """One way in which the lines above may have been worked; the first takes their digits as they are."""

    def __init__(self, lines: Lines, target: int, number: int) -> None:
        self.lines, self.desk, desk = lines, lines.desk, lines.desk
        self.draw = random.Random(f"{target} {number}")
        self.values: dict[int, Any] = {}
        self.is_centre = number == 0
        if number < PURE:
            self.style = replace(
                desk.style, carries=CARRIES[max(0, number - 1)], inner=0.0, keeps_skipped="full", root=None
            )
            self.constants = CALCULATOR
        else:
            self.style = replace(
                desk.style,
                carries=self.draw.choice([*CARRIES, "mixed", "mixed"]),
                inner=self.draw.choice([0.0, 0.5, 1.0, 1.0]),
                keeps_skipped=self.draw.choice(["full", "rounded", "mixed"]),
                root=None,
            )
            is_plain = self.draw.random() < 0.6
            self.constants = CALCULATOR if is_plain else self.draw.choice(_constants())

    def habit(self, index: int) -> Habit:
        """Draw the habit of a line."""
        if self.is_centre:
            return Habit()
        line = self.desk.lines[index]
        finest = self.lines.unwritten(index)
        if self.style.varies and finest.figures is None:  # nothing shows how fine an unwritten line was
            finest = replace(finest, decimals=self.draw.choice([2, 3, 4, 5]))
        precision = line.precision if line.is_written else finest
        return random_habit(self.draw, self.style, line.record, precision, finest)

    def result(self, index: int) -> Any:
        """Return the line by the right rule from the lines above it."""
        return self._worked(index, self.habit(index))

    def _worked(self, index: int, habit: Habit) -> Any:
        record = self.desk.trace[index]
        inputs = {name: self.mine(value) for name, value in record.inputs.items()}
        return compute(record, inputs, self.constants, habit.inner)

    def mine(self, value: Any) -> Any:
        """Return an input as this student has it."""
        if isinstance(value, tuple):
            return tuple(self.mine(part) for part in value)
        index = self.lines.source.get(id(value))
        return value if index is None else self.line(index)

    def line(self, index: int) -> Any:
        """Return the numbers of a line with which this student continues."""
        if index not in self.values:
            is_exact = self.lines.is_exact(index)
            self.values[index] = self.desk.lines[index].values if is_exact else self._line(index)
        return self.values[index]

    def _line(self, index: int) -> Any:
        line, habit = self.desk.lines[index], self.habit(index)
        is_written, units = self.lines.units(index)
        if habit.carries == "rounded" and np.all(is_written):
            return line.values
        full = self._worked(index, habit)
        is_moved = line.record.step.name in MOVES
        unwritten = full if habit.unwritten is None or is_moved else habit.unwritten.kept_all(full)
        if habit.carries == "rounded":
            return np.where(is_written, line.values, unwritten)
        carried = full if habit.carries == "full" or is_moved else line.precision.finer.kept_all(full)
        # Where the digits cannot come from this number, the student has another one: that of the digits.
        carried = np.where(_is_shown(line, units, full), carried, line.values)
        return np.where(is_written, carried, unwritten)


def _is_shown(line: Written, units: Any, full: Any) -> Any:
    """Return where a number gives the written digits, rounded or cut."""
    with np.errstate(invalid="ignore"):
        gaps = np.abs(full - line.values)
        is_rounded = gaps <= units * (0.5 + 1e-9) + 1e-12
        is_cut = (gaps < units) & (np.abs(full) >= np.abs(line.values))
        return is_rounded | is_cut | (full == line.values)


def large_cells(desk: Desk, index: int, cells: list[tuple[int, int]] | None = None) -> list[tuple[int, int]]:
    """Return the written cells that are two units or more from the right, and further than rounding can explain."""
    line = desk.lines[index]
    centre, (low, high) = image(desk, index)
    large = []
    for place in cells if cells is not None else list(np.ndindex(line.texts.shape)):
        if not line.texts[place]:
            continue
        value, unit = float(line.values[place]), unit_of(line, place)
        if math.isinf(value) or math.isinf(centre[place]):  # a mask in the wrong place
            if value != centre[place]:
                large.append(place)
            continue
        is_far = abs(value - centre[place]) >= 2 * unit
        if is_far and (value + unit < low[place] or value - unit > high[place]):
            large.append(place)
    return large


def unit_of(line: Written, place: tuple[int, int]) -> float:
    """Return the unit of a cell: as the student means it, or as its digits show it if zeros were dropped."""
    return max(text_unit(line.texts[place]), float(line.units[place]))


def text_unit(text: str) -> float:
    """Return the unit of the last digit that is shown, 0 if it is unknown."""
    match = re.fullmatch(r"[-−]?\d*\.?(\d*)(?:(?:e|(?:×|\*|\\times)10\^\{?)(-?\d+)\}?)?", text)
    if match is None or ("." not in text and match[2] is None):
        return 0.0
    decimals = len(match[1]) if "." in text else 0
    return float(10.0 ** (int(match[2] or 0) - decimals))


def shown_units(line: Written) -> Any:
    """Return the units of a line; a number without decimals is as coarse as the coarsest one beside it."""
    units = np.array([[unit_of(line, (row, column)) for column in range(line.texts.shape[1])]
                      for row in range(line.texts.shape[0])])  # fmt: skip
    has_point = np.array([["." in text for text in row] for row in line.texts])
    if not has_point.any() or line.precision.figures is not None:
        return units
    return np.where(has_point | (line.texts == ""), units, np.maximum(units, units[has_point].max()))
