"""Ranges for tests of images, and samples drawn inside them, corners included."""

import math
from typing import Any

import numpy as np

from clearhead.check.interval import Range

SAMPLES = 200
NOISE = 1e-11  # the error of float64, relative to the number
Numbers = np.random.Generator
Inputs = dict[str, Any]


def some(rng: Numbers, *shape: int, least: float = -3.0, most: float = 3.0, radius: float = 0.5) -> Range:
    """Numbers with a radius each: none, a small one or a large one."""
    middle = rng.uniform(least, most, shape)
    size = 10.0 ** rng.uniform(-4.0, math.log10(radius), shape)
    spread = np.where(rng.random(shape) < 0.2, 0.0, size)
    return Range(np.maximum(middle - spread, least), np.minimum(middle + spread, most))


def sampled(rng: Numbers, value: Any) -> Any:
    """A member of every range: uniform, or a corner, or one end throughout."""
    if isinstance(value, tuple):
        return tuple(sampled(rng, element) for element in value)
    if not isinstance(value, Range):
        return value
    shape = np.shape(value.low)
    share = (
        rng.random(shape),
        rng.integers(0, 2, shape).astype(float),
        np.zeros(shape),
        np.ones(shape),
    )[rng.integers(0, 4)]
    if value.low.dtype.kind != "f":
        return value.low
    with np.errstate(invalid="ignore"):
        between = value.low * (1.0 - share) + value.high * share
    return np.where(value.low == value.high, value.low, np.clip(between, value.low, value.high))


def of_choice(rng: Numbers, *choices: Any) -> Any:
    return choices[int(rng.integers(0, len(choices)))]


def lies_inside(value: Any, image: Range) -> Any:
    slack = NOISE * (1.0 + np.abs(np.where(np.isfinite(value), value, 0.0)))
    return np.isnan(value) | ((value >= image.low - slack) & (value <= image.high + slack))
