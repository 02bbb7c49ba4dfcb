"""Inner numbers: the results that people get who keep exponentials, σ or √d with fewer digits."""

import math

import numpy as np
import pytest

from clearhead.check.habits import Care, Shortening, habits, kept, roots


def test_numbers_are_rounded_away_from_0_or_cut():
    values = np.array([0.125, -0.125, 0.129, -np.inf])
    assert kept(values, 0.01, is_cut=False).tolist() == [0.13, -0.13, 0.13, -math.inf]
    assert kept(values, 0.01, is_cut=True).tolist() == [0.12, -0.12, 0.12, -math.inf]


def test_small_numbers_keep_two_figures():
    """0.0067 to two decimals would be 0.01."""
    assert Shortening(2, 2, is_cut=False).of(np.array([0.00674, 7.389])) == pytest.approx([0.0067, 7.39])


def test_without_figures_all_numbers_have_the_same_decimals():
    assert Shortening(2, 0, is_cut=False).of(np.array([0.0408, 0.004, 7.389])) == pytest.approx([0.04, 0.0, 7.39])


def test_inner_numbers_have_at_most_two_decimals_less_than_the_line():
    assert {digits.decimals for digits in Care(0.00001).digits} == {3, 4}
    assert {digits.decimals for digits in Care(0.001).digits} == {2, 3}


def test_the_root_of_2_is_shortened_to_two_or_more_decimals_or_to_the_line_itself():
    assert 1.41 in roots(2, 0.01)
    assert 1.4 not in roots(2, 0.01)
    assert 1.4 in roots(2, 0.1)
    assert roots(4, 0.1) == [2.0]


def test_exponentials_with_two_decimals():
    """e^1.4 = 4.0552, e^0.6 = 1.8221, e^0.9 = 2.4596: 4.06, 1.82, 2.46 with the sum 8.34."""
    results = habits("softmax", {"scores": np.array([[1.4, 0.6, 0.9]])}, Care(0.001))
    assert any(np.allclose(result, [[4.06 / 8.34, 1.82 / 8.34, 2.46 / 8.34]]) for result in results)
    assert all(abs(result[0, 0] - 0.4864) < 0.01 for result in results)


def test_equal_weights_depend_only_on_the_digits_of_the_sum():
    """2·e² = 14.7781: with 14.78 the weights are 0.49994."""
    results = habits("softmax", {"scores": np.array([[2.0, 2.0]])}, Care(0.01))
    assert results[0].tolist() == [[0.5, 0.5]]
    assert all(abs(result[0, 0] - 0.5) < 0.0005 for result in results)


def test_a_deviation_with_two_decimals():
    """x = 1, 2, 4: μ = 7/3, σ = 1.2472; with σ = 1.25 the first number is -1.0667 instead of -1.0690."""
    x = np.array([[1.0, 2.0, 4.0]])
    mean, variance = np.array([[7 / 3]]), np.array([[14 / 9]])
    results = habits("normalise", {"x": x, "mean": mean, "variance": variance}, Care(0.001))
    assert any(result[0, 0] == pytest.approx(-4 / 3 / 1.25) for result in results)
    assert results[0][0, 0] == pytest.approx(-4 / 3 / math.sqrt(14 / 9))


@pytest.mark.parametrize("function", ["tanh", "sigmoid", "silu"])
def test_all_habits_are_near_the_full_result(function):
    x = np.linspace(-3.0, 3.0, 13)[None]
    results = habits("activate", {"x": x, "function": function}, Care(0.001, is_thorough=True))
    assert len(results) > 20
    assert max(np.max(np.abs(result - results[0])) for result in results) < 0.03
