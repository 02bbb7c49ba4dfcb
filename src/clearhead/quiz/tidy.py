"""Which draws make a good sheet: scores that do not saturate the softmax, short numbers, and values that differ.

The limits are stated here and nowhere else; a draw that breaks one is drawn again.
"""

import math
from itertools import combinations

import numpy as np

from clearhead.steps import Record
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.working import WORKINGS, moves
from clearhead.worksheet.worksheet import Worksheet

MAX_GAP = 3.0  # between the largest and the smallest score of a row, in powers of e: no weight is below e⁻³ of another
MAX_ARGUMENT = 3.0  # of tanh and sigmoid: tanh 3 = 0.995
MAX_SIZE = 100.0  # every number of a sheet is smaller
_SAME = 1e-9
_COMPARED = frozenset({"project", "transform", "score", "scale", "softmax", "divide", "mix", "add", "normalise"})
_TURNABLE = frozenset({"project", "transform", "score", "scale", "softmax", "divide", "mix"})


def untidy_reason(sheet: Worksheet) -> str:
    """Return which condition a solved problem breaks, or an empty text."""
    names = [(record.where, record.symbol) for record in sheet.trace]
    if len(set(names)) < len(names):
        return "two lines have the same name"
    for record in sheet.trace:
        reason = _reason(record)
        if reason:
            return f"{record.where}:{record.symbol} {reason}"
    return ""


def _reason(record: Record) -> str:
    value = np.asarray(record.value, dtype=np.float64)
    finite = value[np.isfinite(value)]
    if finite.size and float(np.max(np.abs(finite))) >= MAX_SIZE:
        return "is too large"
    if record.step.name == "softmax" and largest_gap(record) > MAX_GAP + _SAME:
        return "is saturated"
    if record.step.name in _COMPARED and value.shape[1] > 1 and _has_equal_rows(value):
        return "has equal rows"
    if record.step.name == "activate" and not _is_bounded(record):
        return "is saturated"
    if record.step.name in _TURNABLE and _is_symmetric(value) and not _must_be_symmetric(record):
        return "is symmetric"
    return ""


def largest_gap(record: Record) -> float:
    """Return the largest difference of two scores in a row of a softmax, in powers of e."""
    scores = np.asarray(record.inputs["scores"], dtype=np.float64)
    factor = math.log(record.inputs.get("base") or math.e)
    gaps = [float(np.ptp(row[np.isfinite(row)])) for row in scores if np.isfinite(row).any()]
    return max(gaps, default=0.0) * abs(factor)


def _is_bounded(record: Record) -> bool:
    """Return whether tanh and sigmoid stay away from their limits."""
    return record.inputs["function"] not in ("tanh", "sigmoid") or bool(
        np.all(np.abs(np.asarray(record.inputs["x"])) <= MAX_ARGUMENT + _SAME)
    )


def _must_be_symmetric(record: Record) -> bool:
    """Return whether a line is symmetric for every draw: the dot products of vectors with themselves."""
    if record.step.name == "score":
        return record.inputs["q"] is record.inputs["k"]
    return record.step.name == "scale" and _is_symmetric(np.asarray(record.inputs["scores"]))


def _has_equal_rows(value: Array) -> bool:
    return any(_is_equal(first, second) for first, second in combinations(value, 2))


def _is_symmetric(value: Array) -> bool:
    return value.shape[0] == value.shape[1] > 1 and _is_equal(value, value.T)


def _is_equal(first: Array, second: Array) -> bool:
    """Compare numbers, of which some can be -∞; the last digit of float64 depends on the processor."""
    with np.errstate(invalid="ignore"):
        return bool(np.all((first == second) | (np.abs(first - second) < _SAME)))


def is_copied(record: Record) -> bool:
    """Return whether a line only copies numbers: a split, a join or a mask."""
    return WORKINGS[record.step.name] is moves
