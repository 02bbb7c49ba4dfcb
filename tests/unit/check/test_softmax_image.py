"""The bounds of the lines of a softmax are attained, and no wider than the corners that attain them."""

import math

import numpy as np
import pytest

from clearhead.check.interval import Range, around, exactly
from clearhead.check.softmax_image import divided, exponentiate, shift


def test_the_largest_score_of_a_row_is_always_0_after_the_shift():
    """2 ± 0.1 is the largest: 1 ± 0.1 becomes -1 ± 0.2, and 2 itself 0; a masked key stays at -∞."""
    image = shift({"scores": around(np.array([[1.0, 2.0, -np.inf]]), 0.1)})
    assert image.low[0] == pytest.approx([-1.2, 0.0, -math.inf])
    assert image.high[0] == pytest.approx([-0.8, 0.0, -math.inf])


def test_near_scores_can_change_places():
    image = shift({"scores": around(np.array([[1.0, 1.1]]), 0.1)})
    assert image.low[0] == pytest.approx([-0.3, -0.1]), "0.9 - 1.2 and 1.0 - 1.1"
    assert image.high[0] == pytest.approx([0.0, 0.0])


def test_one_score_alone_is_0():
    image = shift({"scores": around(np.array([[3.0]]), 0.5)})
    assert (image.low[0, 0], image.high[0, 0]) == (0.0, 0.0)


def test_an_exponential_has_the_ends_of_its_score_and_of_e():
    image = exponentiate({"scores": around(np.array([[2.0, -np.inf]]), 0.1)})
    share = 1.0 + 0.01 / math.e
    assert image.high[0, 0] == pytest.approx(math.exp(2.1 * share))
    assert image.low[0, 0] == pytest.approx(math.exp(1.9 * (2.0 - share)))
    assert (image.low[0, 1], image.high[0, 1]) == (0.0, 0.0)


def test_a_base_below_1_turns_the_ends_round():
    image = exponentiate({"scores": Range(np.array([[1.0]]), np.array([[2.0]])), "base": 0.5})
    assert (image.low[0, 0], image.high[0, 0]) == (pytest.approx(0.25), pytest.approx(0.5))


def test_a_weight_is_least_where_the_sum_is_greatest():
    image = divided(around(np.array([[2.0, 6.0]]), 0.5), around(np.array([[8.0]]), 1.0))
    assert image.low[0] == pytest.approx([1.5 / 9, 5.5 / 9])
    assert image.high[0] == pytest.approx([2.5 / 7, 6.5 / 7])


def test_a_row_with_the_sum_0_has_weights_0_and_a_sum_around_0_bounds_nothing():
    nothing = divided(exactly(np.zeros((1, 2))), exactly(np.zeros((1, 1))))
    assert nothing.high[0].tolist() == [0.0, 0.0]
    anything = divided(exactly(np.ones((1, 2))), around(np.zeros((1, 1)), 0.5))
    assert np.all(np.isinf(anything.high))
