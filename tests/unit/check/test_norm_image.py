"""The images of norms: rigorous even if mean and variance were not written, and exact if everything is known."""

import math

import numpy as np
import pytest

from clearhead.check.interval import Range, around, exactly, without_nan
from clearhead.check.norm_image import joint_norm, joint_variance, normalise, variance
from clearhead.check.softmax_image import divided, exponentiate, shift
from clearhead.worksheet.reference import NORM_AXES, REFERENCE
from tests.unit.check.ranges import SAMPLES, lies_inside, of_choice, sampled, some


@pytest.mark.parametrize("over", ["features", "tokens", "all"])
@pytest.mark.parametrize("counted", [None, (1.0, 1.0, 1.0, 0.0)])
def test_a_norm_without_written_mean_and_variance_is_in_its_joint_image(over, counted):
    rng = np.random.default_rng(11)
    bounded = 0
    if over == "features":
        counted = None  # padding does not change the norm of a token
    real = None if counted is None else np.array(counted)
    for case in range(12):
        x = some(rng, 4, 3, radius=of_choice(rng, 0.001, 0.01, 0.1, 0.4))
        epsilon, outside = of_choice(rng, (1e-5, 0.0), (0.2, 0.0), (0.0, 0.001), (0.0, 0.3), (0.0, 2.0))
        image = without_nan(joint_norm(x, NORM_AXES[over], real, epsilon, outside))
        bounded += int((image.high - image.low < 1.0).sum())
        for _ in range(SAMPLES):
            chosen = sampled(rng, x)
            mu = REFERENCE["mean"](chosen, over, real)
            var = REFERENCE["variance"](chosen, mu, over, real)
            value = REFERENCE["normalise"](chosen, mu, var, epsilon, outside)
            inside = lies_inside(value, image)
            assert np.all(inside), f"case {case}: {value[~inside]} outside {image.low[~inside]} … {image.high[~inside]}"
    assert bounded > 20, "nearly every image was boundless"


@pytest.mark.parametrize("over", ["features", "tokens", "all"])
def test_a_variance_without_a_written_mean_is_in_its_joint_image(over):
    rng = np.random.default_rng(12)
    for case in range(10):
        counted = of_choice(rng, None, np.array([1.0, 1.0, 0.0]))
        x = some(rng, 3, 4)
        image = joint_variance(x, over, counted)
        for _ in range(SAMPLES):
            chosen = sampled(rng, x)
            mu = REFERENCE["mean"](chosen, over, counted)
            value = REFERENCE["variance"](chosen, mu, over, counted)
            assert np.all(lies_inside(value, image)), f"case {case}: {value} outside {image.low} … {image.high}"


def test_the_variance_of_known_numbers_is_one_number():
    """1, 3, 8 have mean 4 and variance (9 + 1 + 16) / 3."""
    x = exactly(np.array([[1.0, 3.0, 8.0]]))
    image = variance({"x": x, "mean": exactly(np.array([[4.0]])), "over": "features"})
    assert image.low[0, 0] == image.high[0, 0] == pytest.approx(26 / 3)


def test_a_rounded_mean_widens_the_norm_by_its_radius_over_the_deviation():
    """(7 - 4 ± 0.05) / 2 lies between 1.475 and 1.525."""
    inputs = {
        "x": exactly(np.array([[1.0, 7.0]])),
        "mean": exactly(np.array([[4.0]])).widened(0.05),
        "variance": exactly(np.array([[4.0]])),
    }
    image = normalise(inputs)
    assert (image.low[0, 1], image.high[0, 1]) == (pytest.approx(1.475), pytest.approx(1.525))


# ---- The bounds of the lines of a softmax are attained, and no wider than the corners that attain them ----


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
