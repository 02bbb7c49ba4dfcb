"""What padding does to batch norm and to layer norm, against sums by hand."""

import statistics

import numpy as np
import pytest

from clearhead.experiments import Experiment
from clearhead.experiments import norms as norms_experiment
from tests.tolerances import assert_close
from tests.unit.experiments.results import measured

Z = [[7, 5, 4], [2, 3, 4], [1, 2, 3], [7, 5, 6], [3, 3, 4]]


@pytest.fixture(scope="module")
def norms() -> Experiment:
    return measured("norms")


def test_the_table_is_that_of_the_notes() -> None:
    assert norms_experiment.given_table().tolist() == Z


def test_layer_norm_does_not_move_by_a_single_bit(norms: Experiment) -> None:
    layer = norms.arrays["layer norm"]
    assert layer.shape == (101, 5, 3)
    assert np.array_equal(layer, np.broadcast_to(layer[0], layer.shape))
    row = [(z - statistics.mean(Z[0])) / (statistics.pvariance(Z[0]) + 1e-5) ** 0.5 for z in Z[0]]
    assert_close(layer[0, 0], row)


@pytest.mark.parametrize("padding", [0, 1, 2, 3, 53, 100])
def test_batch_norm_includes_the_padding_unless_it_is_excluded(norms: Experiment, padding: int) -> None:
    for feature in range(3):
        real = [float(row[feature]) for row in Z]
        padded = real + [0.0] * padding
        mean, variance = statistics.fmean(padded), statistics.pvariance(padded)
        assert_close(norms.arrays["batch means"][padding, feature], mean)
        assert_close(norms.arrays["batch variances"][padding, feature], variance)
        counted = [(z - mean) / (variance + 1e-5) ** 0.5 for z in real]
        assert_close(norms.arrays["batch norm, counted"][padding, :, feature], counted)
        spread = (statistics.pvariance(real) + 1e-5) ** 0.5
        excluded = [(z - statistics.fmean(real)) / spread for z in real]
        assert_close(norms.arrays["batch norm, left out"][padding, :, feature], excluded)


def test_with_100_padding_rows_only_batch_norm_that_includes_them_changes(norms: Experiment) -> None:
    last = norms.tables[1].rows[-1]
    assert last[0] == 100
    assert last[1] > 5
    assert last[2] < 1e-12
    assert last[3] == 0.0
