"""Ranges of numbers, cell by cell, and the arithmetic that the images of steps share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearhead.worksheet.arrays import Array

Inputs = Mapping[str, Any]  # of a step: each array a Range, everything else as it is


@dataclass(frozen=True, eq=False)
class Range:
    """The numbers between `low` and `high`, cell by cell."""

    low: Array
    high: Array

    @property
    def middle(self) -> Array:
        """The centre of each cell; an infinite one is itself."""
        with np.errstate(invalid="ignore"):
            return np.where(self.low == self.high, self.low, (self.low + self.high) / 2)

    @property
    def radius(self) -> Array:
        """Half the width of each cell; an infinite one has none."""
        with np.errstate(invalid="ignore"):
            return np.where(self.low == self.high, 0.0, (self.high - self.low) / 2)

    def widened(self, by: Array | float) -> "Range":
        """Return the range with `by` added at both ends."""
        return Range(self.low - by, self.high + by)

    def turned(self) -> "Range":
        """Return the transpose."""
        return Range(self.low.T, self.high.T)


def exactly(value: Array) -> Range:
    """Return the range of numbers that are known."""
    return Range(value, value)


def around(value: Array, radius: Array | float) -> Range:
    """Return the numbers within `radius` of a value; infinities stay alone."""
    spread = np.where(np.isfinite(value), radius, 0.0)
    return Range(value - spread, value + spread)


def without_nan(result: Range) -> Range:
    """Return the range with no bound where there is none to tell."""
    return Range(
        np.where(np.isnan(result.low), -np.inf, result.low), np.where(np.isnan(result.high), np.inf, result.high)
    )


def hull(*candidates: Array) -> Range:
    """Return the range from the least to the greatest of the candidates, cell by cell."""
    return Range(np.minimum.reduce(candidates), np.maximum.reduce(candidates))


def product(a: Range, b: Range) -> Range:
    """|dy| ≤ Σ |a| r_b + |b| r_a + r_a r_b"""
    spread = np.abs(a.middle) @ b.radius + a.radius @ np.abs(b.middle) + a.radius @ b.radius
    return around(a.middle @ b.middle, spread)


def low_of(value: Any) -> Any:
    """Return the low end of a range; anything else as it is."""
    return value.low if isinstance(value, Range) else value


def add(inputs: Inputs) -> Range:
    """The ends add up."""
    a, b = inputs["a"], inputs["b"]
    return Range(a.low + b.low, a.high + b.high)


def multiply(inputs: Inputs) -> Range:
    """The least and the greatest of the four products of ends."""
    a, b = inputs["a"], inputs["b"]
    return hull(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
