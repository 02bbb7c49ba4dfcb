"""How far rounding can move a line: the lines above it are sampled within their digits.

It does not use the bounds of the marker, so that "outside its image" does not depend on them.
"""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np

from students import Desk, Written, compute

SAMPLES = 48
SPREAD = 2.0  # random samples rarely reach the corners of a box: their range is widened by this factor


def image(desk: Desk, index: int) -> tuple[Any, tuple[Any, Any]]:
    """Return a line by the right rule from the lines above as written, and its smallest and largest possible values."""
    source = {id(record.value): number for number, record in enumerate(desk.trace)}
    draws = np.random.default_rng(index)
    outcomes = [_Sample(desk, source, draws, number).result(index) for number in range(SAMPLES)]
    stack = np.stack(outcomes)
    centre = stack[0]
    with np.errstate(all="ignore"):
        low = centre - SPREAD * (centre - stack.min(axis=0))
        high = centre + SPREAD * (stack.max(axis=0) - centre)
    return centre, (low, high)


class _Sample:
    """Sample the lines above, each cell within its digits (the first sample takes them as they are)."""

    def __init__(self, desk: Desk, source: dict[int, int], draws: np.random.Generator, number: int) -> None:
        self.desk, self.source, self.draws = desk, source, draws
        self.kind = "centre" if number == 0 else ("corner" if number % 2 else "inside")
        self.values: dict[int, Any] = {}
        self.style = replace(
            desk.style, euler=math.e + 0.01 * float(self.shake(())), pi=math.pi + 0.01 * float(self.shake(()))
        )

    def shake(self, shape: tuple[int, ...]) -> Any:
        if self.kind == "centre":
            return np.zeros(shape)
        if self.kind == "corner":
            return self.draws.choice([-1.0, 1.0], size=shape)
        return self.draws.uniform(-1.0, 1.0, size=shape)

    def result(self, index: int) -> Any:
        """Return the line by the right rule from the lines above it."""
        record = self.desk.trace[index]
        inputs = {name: self.mine(value) for name, value in record.inputs.items()}
        if record.step.name == "scale" and "root_of" in inputs:
            root = math.sqrt(inputs["root_of"])
            return inputs["scores"] / (root + (0.01 * float(self.shake(())) if root % 1 else 0.0))
        return compute(record, inputs, self.style)

    def mine(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self.mine(part) for part in value)
        return self.line(self.source[id(value)]) if id(value) in self.source else value

    def line(self, index: int) -> Any:
        if index not in self.values:
            line = self.desk.lines[index]
            is_written = line.texts != ""
            width = shown_units(line) * (1.0 if line.precision.way == "cut" else 0.5)
            value = line.values + width * self.shake(line.values.shape)
            if not np.all(is_written):
                redone = self.result(index)
                # Where the precision varies, that of an unwritten line is unknown: it can be the coarsest.
                units = np.maximum(line.units, 0.01) if self.style.varies else line.units
                value = np.where(is_written, value, redone + units * self.shake(redone.shape))
            self.values[index] = value
        return self.values[index]


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
        if is_far and (value + unit / 2 < low[place] or value - unit / 2 > high[place]):
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
