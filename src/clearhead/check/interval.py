"""Ranges of numbers for each cell, and the arithmetic that the images of steps share."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from clearhead.worksheet.arrays import Array

Inputs = Mapping[str, Any]  # inputs of a step: each array is a Range, everything else is unchanged


@dataclass(frozen=True, eq=False)
class Range:
    """The numbers between `low` and `high`, for each cell."""

    low: Array
    high: Array

    @cached_property
    def middle(self) -> Array:
        """The centre of each cell; an infinite cell is its own centre."""
        with np.errstate(invalid="ignore"):
            return np.where(self.low == self.high, self.low, (self.low + self.high) / 2)

    @cached_property
    def radius(self) -> Array:
        """Half the width of each cell; 0 for an infinite cell."""
        with np.errstate(invalid="ignore"):
            return np.where(self.low == self.high, 0.0, (self.high - self.low) / 2)

    def widened(self, by: Array | float) -> "Range":
        """Return the range with `by` added at both ends."""
        return Range(self.low - by, self.high + by)

    def turned(self) -> "Range":
        """Return the transpose."""
        return Range(self.low.T, self.high.T)


def exactly(value: Array) -> Range:
    """Return the range of exactly known numbers."""
    return Range(value, value)


def around(value: Array, radius: Array | float) -> Range:
    """Return the range within `radius` of a value; infinities are not widened."""
    spread = np.where(np.isfinite(value), radius, 0.0)
    return Range(value - spread, value + spread)


def without_nan(result: Range) -> Range:
    """Replace bounds that are NaN by infinite bounds."""
    return Range(
        np.where(np.isnan(result.low), -np.inf, result.low), np.where(np.isnan(result.high), np.inf, result.high)
    )


def hull(*candidates: Array) -> Range:
    """Return the range from the least to the greatest candidate, for each cell."""
    return Range(np.minimum.reduce(candidates), np.maximum.reduce(candidates))


def product(a: Range, b: Range) -> Range:
    """|dy| ≤ Σ |a| r_b + |b| r_a + r_a r_b; a product of ranges that are open on a side can be anything"""
    with np.errstate(invalid="ignore"):
        spread = np.abs(a.middle) @ b.radius + a.radius @ np.abs(b.middle) + a.radius @ b.radius
        result = around(a.middle @ b.middle, spread)
    is_open = ~np.isfinite(spread)
    return Range(np.where(is_open, -np.inf, result.low), np.where(is_open, np.inf, result.high))


def low_of(value: Any) -> Any:
    """Return the low end of a range, and any other value unchanged."""
    return value.low if isinstance(value, Range) else value


def add(inputs: Inputs) -> Range:
    """Add the ends."""
    a, b = inputs["a"], inputs["b"]
    return Range(a.low + b.low, a.high + b.high)


def multiply(inputs: Inputs) -> Range:
    """Return the least and the greatest of the four products of the ends."""
    a, b = inputs["a"], inputs["b"]
    return hull(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
