"""Ranges: their middle and radius, and the bounds of products and sums, worked by hand."""

import math

import numpy as np
import pytest

from clearhead.check.interval import Range, add, around, exactly, hull, low_of, multiply, product, without_nan


def matrix(*rows: list[float]) -> np.ndarray:
    return np.array(rows)


def test_a_range_around_infinity_contains_only_infinity():
    masked = around(matrix([2.0, -math.inf]), 0.5)
    assert (masked.low[0, 0], masked.high[0, 0]) == (1.5, 2.5)
    assert masked.low[0, 1] == masked.high[0, 1] == masked.middle[0, 1] == -math.inf
    assert masked.radius[0, 1] == 0.0


def test_widened_adds_at_both_ends_and_turned_transposes():
    row = Range(matrix([1.0, 2.0, 3.0]), matrix([1.5, 2.0, 4.0])).widened(0.25)
    assert row.low.tolist() == [[0.75, 1.75, 2.75]]
    assert row.turned().high.tolist() == [[1.75], [2.25], [4.25]]


def test_the_bound_of_a_product_is_that_of_its_formula():
    """|a| r_b + |b| r_a + r_a r_b = 3 × 0.5 + 2 × 0.1 + 0.05 = 1.75 around -6."""
    bound = product(around(matrix([3.0]), 0.1), around(matrix([-2.0]), 0.5))
    assert (bound.low[0, 0], bound.high[0, 0]) == (pytest.approx(-7.75), pytest.approx(-4.25))


def test_a_factor_whose_range_contains_0_can_change_the_sign():
    """-1 … 2 times 3 … 5 lies between -5 and 10."""
    bound = multiply({"a": Range(matrix([-1.0]), matrix([2.0])), "b": Range(matrix([3.0]), matrix([5.0]))})
    assert (bound.low[0, 0], bound.high[0, 0]) == (-5.0, 10.0)


def test_the_ends_of_a_sum_add_up():
    total = add({"a": around(matrix([1.0]), 0.05), "b": around(matrix([2.0]), 0.005)})
    assert (total.low[0, 0], total.high[0, 0]) == (pytest.approx(2.945), pytest.approx(3.055))


def test_the_hull_goes_from_the_smallest_to_the_largest_value_cell_by_cell():
    corners = hull(matrix([1.0, 7.0]), matrix([5.0, 2.0]), matrix([3.0, 3.0]))
    assert (corners.low.tolist(), corners.high.tolist()) == ([[1.0, 2.0]], [[5.0, 7.0]])


def test_an_unknown_bound_becomes_infinite():
    bound = without_nan(Range(matrix([math.nan, 1.0]), matrix([2.0, math.nan])))
    assert (bound.low.tolist(), bound.high.tolist()) == ([[-math.inf, 1.0]], [[2.0, math.inf]])


def test_the_low_end_of_a_value_that_is_not_a_range_is_the_value():
    assert low_of("features") == "features"
    assert low_of(exactly(matrix([5.0])))[0, 0] == 5.0


def test_a_product_with_a_half_open_range_can_be_anything():
    """0 … ∞ is what ReLU leaves of an unknown number; its centre is infinite, but it is not known to be infinite."""
    bound = product(Range(matrix([0.0, 1.0]), matrix([math.inf, 1.0])), exactly(matrix([0.4], [0.2])))
    assert (bound.low[0, 0], bound.high[0, 0]) == (-math.inf, math.inf)
