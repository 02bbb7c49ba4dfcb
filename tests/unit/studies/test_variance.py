"""Why scores are divided by √d: variance, softmax and its gradient, against theory."""

import math

import numpy as np
import pytest

from clearhead.studies import Experiment
from clearhead.studies.variance import NUM_KEYS, gradient_size, mean_entropy
from tests.tolerances import assert_close
from tests.unit.studies.tiny import measured


@pytest.fixture(scope="module")
def variance() -> Experiment:
    return measured("variance")


def test_the_variance_of_a_dot_product_is_its_dimension(variance: Experiment) -> None:
    plain, scaled = variance.tables
    assert plain.column("d") == tuple(2**power for power in range(11))
    for width, unscaled, divided in zip(
        plain.column("d"), plain.column("variance"), scaled.column("variance"), strict=True
    ):
        assert unscaled == pytest.approx(width, rel=0.08)
        assert divided == pytest.approx(1.0, rel=0.08)


def test_with_wide_unscaled_scores_softmax_selects_one_key_and_has_little_gradient(variance: Experiment) -> None:
    plain, scaled = (dict(zip(table.columns, table.rows[-1], strict=True)) for table in variance.tables)
    assert plain["largest weight"] > 0.9
    assert plain["entropy (nats)"] < 0.2
    assert scaled["largest weight"] < 0.3
    assert scaled["entropy (nats)"] > 0.8 * math.log(NUM_KEYS)
    assert scaled["mean |∂a/∂s|"] > 10 * plain["mean |∂a/∂s|"]


def test_unscaled_softmax_grows_sharper_with_every_doubling(variance: Experiment) -> None:
    largest, sizes = (np.array(variance.tables[0].column(name)) for name in ("largest weight", "mean |∂a/∂s|"))
    assert np.all(np.diff(largest) > 0)
    assert np.all(np.diff(sizes) < 0)


def test_the_size_of_the_gradient_is_that_of_finite_differences() -> None:
    scores = np.random.default_rng(3).standard_normal((5, 7))
    step = 1e-6

    def weights(row: np.ndarray) -> np.ndarray:
        return np.exp(row) / np.sum(np.exp(row))

    slopes = [
        (weights(row + step * unit) - weights(row - step * unit)) / (2 * step) for row in scores for unit in np.eye(7)
    ]
    size = gradient_size(np.stack([weights(row) for row in scores]))
    assert size == pytest.approx(float(np.mean(np.abs(slopes))), rel=1e-6)


def test_the_size_of_the_gradient_has_a_closed_form() -> None:
    weights = np.array([[0.5, 0.3, 0.2]])  # Σ|J| = 2 (1 - Σa²) = 2 (1 - 0.38) = 1.24, over 9 entries
    assert_close(gradient_size(weights), 1.24 / 9)


def test_entropy_is_that_of_a_fair_choice_and_of_a_certain_one() -> None:
    assert_close(mean_entropy(np.full((2, 5), 0.2)), math.log(5))
    assert mean_entropy(np.array([[1.0, 0.0, 0.0]])) == 0.0
