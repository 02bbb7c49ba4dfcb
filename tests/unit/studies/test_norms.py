"""What padding does to batch norm and to layer norm, against sums by hand."""

import statistics

import numpy as np
import pytest

from clearhead.studies import Experiment
from clearhead.studies import norms as norms_experiment
from tests.tolerances import assert_close
from tests.unit.studies.tiny import measured

Z = [[7, 5, 4], [2, 3, 4], [1, 2, 3], [7, 5, 6], [3, 3, 4]]


@pytest.fixture(scope="module")
def norms() -> Experiment:
    return measured("norms")


def test_the_table_is_that_of_the_notes() -> None:
    assert norms_experiment.given_table().tolist() == Z


def normed(padding: int) -> np.ndarray:
    """The real rows under the three norms: (3, 5, 3)."""
    padded = np.concatenate([np.array(Z, dtype=np.float64), np.zeros((padding, 3))])
    return norms_experiment.norms_of(padded, num_real=5)


def test_layer_norm_does_not_move_by_a_single_bit() -> None:
    layer = normed(0)[2]
    assert all(np.array_equal(normed(padding)[2], layer) for padding in (1, 7, 100))
    row = [(z - statistics.mean(Z[0])) / (statistics.pvariance(Z[0]) + 1e-5) ** 0.5 for z in Z[0]]
    assert_close(layer[0], row)


@pytest.mark.parametrize("padding", [0, 1, 2, 3, 53, 100])
def test_batch_norm_includes_the_padding_unless_it_is_excluded(padding: int) -> None:
    for feature in range(3):
        real = [float(row[feature]) for row in Z]
        padded = real + [0.0] * padding
        mean, variance = statistics.fmean(padded), statistics.pvariance(padded)
        counted = [(z - mean) / (variance + 1e-5) ** 0.5 for z in real]
        assert_close(normed(padding)[0, :, feature], counted)
        spread = (statistics.pvariance(real) + 1e-5) ** 0.5
        excluded = [(z - statistics.fmean(real)) / spread for z in real]
        assert_close(normed(padding)[1, :, feature], excluded)


def test_the_first_table_is_that_of_one_value(norms: Experiment) -> None:
    for padding, mean, variance, *values in norms.tables[0].rows:
        column = [float(row[0]) for row in Z] + [0.0] * int(padding)
        assert_close(mean, statistics.fmean(column))
        assert_close(variance, statistics.pvariance(column))
        assert_close(values, normed(int(padding))[:, 0, 0])


def test_with_100_padding_rows_only_batch_norm_that_includes_them_changes(norms: Experiment) -> None:
    last = norms.tables[1].rows[-1]
    assert last[0] == 100
    assert last[1] > 5
    assert last[2] < 1e-12
    assert last[3] == 0.0
