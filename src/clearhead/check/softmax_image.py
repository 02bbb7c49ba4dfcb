"""The images of the lines of a softmax: scores without the largest of their row, exponentials, and their division."""

import math

import numpy as np

from clearhead.check.interval import Inputs, Range, hull, without_nan
from clearhead.worksheet.arrays import Array

_EULER = 0.01 / math.e  # the relative error of an exponent if e was rounded or cut at two decimals


def shift(inputs: Inputs) -> Range:
    """Subtract the largest score of the row: least where the own score is least and the others are greatest."""
    scores: Range = inputs["scores"]
    low, high = scores.low, scores.high
    with np.errstate(invalid="ignore"):
        least = low - np.maximum(low, _largest_other(high))
        most = high - np.maximum(high, _largest_other(low))
    return Range(np.where(np.isneginf(low), low, least), np.where(np.isneginf(high), high, most))


def _largest_other(values: Array) -> Array:
    """Return, for every cell, the largest of the other cells of its row; -∞ where there is none."""
    width = values.shape[-1]
    if width == 1:
        return np.full(values.shape, -np.inf)
    order = np.sort(values, axis=-1)
    is_first = np.arange(width) == np.argmax(values, axis=-1)[..., None]
    return np.where(is_first, order[..., -2:-1], order[..., -1:])


def exponentiate(inputs: Inputs) -> Range:
    """Return the exponentials of the ends; e may have been shortened to two decimals."""
    scores, base = inputs["scores"], inputs.get("base")
    factor = 1.0 if base is None else math.log(base)
    with np.errstate(invalid="ignore", over="ignore"):
        ends = hull(*(np.where(np.isneginf(end), -np.inf, end * factor) for end in (scores.low, scores.high)))
        if base is None:
            ends = Range(ends.low - _stretch(ends.low), ends.high + _stretch(ends.high))
        return Range(np.exp(ends.low), np.exp(ends.high))


def _stretch(exponents: Array) -> Array:
    return np.where(np.isfinite(exponents), np.abs(exponents), 0.0) * _EULER


def divided(exponentials: Range, total: Range) -> Range:
    """Bound each exponential divided by the sum of its row; a row with the sum 0 has weights 0."""
    least, most = (np.where(end == 0.0, 1.0, end) for end in (total.low, total.high))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient = hull(*(end / divisor for end in (exponentials.low, exponentials.high) for divisor in (least, most)))
    is_open = (total.low < 0.0) & (total.high > 0.0)
    result = Range(np.where(is_open, -np.inf, quotient.low), np.where(is_open, np.inf, quotient.high))
    return without_nan(result)
