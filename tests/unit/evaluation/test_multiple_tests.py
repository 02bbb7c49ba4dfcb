"""Many tests at once: Holm's correction worked by hand, and p-values of all exchanges of signs."""

from itertools import product

import numpy as np
import pytest

from clearhead.evaluation.multiple_tests import holm, randomised_sums
from clearhead.evaluation.significance import Resampling


def test_holm_by_hand() -> None:
    """Sorted: 0.005 x 4, 0.01 x 3, 0.03 x 2 = 0.06, then 0.04 x 1 = 0.04, which is raised to 0.06."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_no_corrected_p_value_exceeds_one() -> None:
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_p_values_are_those_of_all_exchanges() -> None:
    differences = np.array([[0.3, 0.1, 0.7, 0.2, 0.5, -0.1, 0.4], [0.3, -0.2, 0.1, -0.4, 0.2, -0.1, 0.05]])
    p_values = randomised_sums(differences, Resampling(num_trials=20_000))
    signs = np.array(list(product((1, -1), repeat=7))).T
    exact = (np.abs(differences @ signs) >= np.abs(differences.sum(axis=1))[:, None] - 1e-12).mean(axis=1)
    assert p_values == pytest.approx(exact.tolist(), abs=0.01)
    assert exact[0] < 0.05 < exact[1]


def test_a_change_that_changes_nothing_has_p_value_one() -> None:
    assert randomised_sums(np.zeros((1, 5)), Resampling(num_trials=40)) == [1.0]


def test_more_trials_extend_the_same_sequence_of_chunks() -> None:
    differences = np.random.default_rng(0).normal(size=(2, 11))
    assert randomised_sums(differences) == randomised_sums(differences)
    assert randomised_sums(differences) != randomised_sums(differences, Resampling(seed=1))
