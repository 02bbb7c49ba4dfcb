"""norms and static: the numbers of the notes, worked again by other means."""

import statistics

import numpy as np
import pytest

from clearhead.experiments import Experiment
from clearhead.experiments import norms as norms_experiment
from clearhead.experiments import static as static_experiment
from tests.tolerances import assert_close

Z = [[7, 5, 4], [2, 3, 4], [1, 2, 3], [7, 5, 6], [3, 3, 4]]


@pytest.fixture(scope="module")
def norms() -> Experiment:
    return norms_experiment.run(0)


@pytest.fixture(scope="module")
def static() -> Experiment:
    return static_experiment.run(0)


def test_the_table_is_that_of_the_notes() -> None:
    assert norms_experiment.given_table().tolist() == Z


def test_layer_norm_does_not_move_by_a_single_bit(norms: Experiment) -> None:
    layer = norms.arrays["layer norm"]
    assert layer.shape == (101, 5, 3)
    assert np.array_equal(layer, np.broadcast_to(layer[0], layer.shape))
    row = [(z - statistics.mean(Z[0])) / (statistics.pvariance(Z[0]) + 1e-5) ** 0.5 for z in Z[0]]
    assert_close(layer[0, 0], row)


@pytest.mark.parametrize("padding", [0, 1, 2, 3, 53, 100])
def test_batch_norm_counts_the_padding_unless_it_is_left_out(norms: Experiment, padding: int) -> None:
    for feature in range(3):
        real = [float(row[feature]) for row in Z]
        padded = real + [0.0] * padding
        mean, variance = statistics.fmean(padded), statistics.pvariance(padded)
        assert_close(norms.arrays["batch means"][padding, feature], mean)
        assert_close(norms.arrays["batch variances"][padding, feature], variance)
        counted = [(z - mean) / (variance + 1e-5) ** 0.5 for z in real]
        assert_close(norms.arrays["batch norm, counted"][padding, :, feature], counted)
        spread = (statistics.pvariance(real) + 1e-5) ** 0.5
        kept = [(z - statistics.fmean(real)) / spread for z in real]
        assert_close(norms.arrays["batch norm, left out"][padding, :, feature], kept)


def test_the_largest_moves_say_so(norms: Experiment) -> None:
    last = norms.tables[1].rows[-1]
    assert last[0] == 100
    assert last[1] > 5
    assert last[2] < 1e-12
    assert last[3] == 0.0


def test_one_bank_becomes_two(static: Experiment) -> None:
    rows = static.tables[0].rows
    assert [row[1] for row in rows] == pytest.approx([1.0] * 3)
    assert all(row[2] < 0.95 for row in rows)
    # first sketch: 0.2 money + 0.7 bank + 0.1 grows, and 0.5 river + 0.4 bank + 0.1 flows
    assert_close(static.arrays["money bank, first sketch of the notes"], [0.18 + 0.35 + 0.06, 0.02 + 0.35 + 0.03])
    assert_close(static.arrays["river bank, first sketch of the notes"], [0.05 + 0.2 + 0.02, 0.45 + 0.2 + 0.08])
    # full table: 0.25 money + 0.7 bank + 0.05 grows = [0.605, 0.39]; 0.2 river + 0.78 bank + 0.02 flows
    assert_close(static.arrays["money bank, full table of the notes"], [0.605, 0.39])
    assert_close(static.arrays["river bank, full table of the notes"], [0.414, 0.586])


def test_the_average_apple_is_nine_tenths_fruit(static: Experiment) -> None:
    first = static.tables[1].rows[0]
    assert first[:2] == (9000, 1000)
    assert first[2:4] == pytest.approx((0.9, 0.1))
    assert first[4:] == pytest.approx((0.9 / 0.82**0.5, 0.1 / 0.82**0.5))
    assert "[0.9, 0.1]" in static.finding


def test_cosine_and_angle_of_known_vectors() -> None:
    assert static_experiment.cosine(np.array([3.0, 4.0]), np.array([4.0, 3.0])) == pytest.approx(24 / 25)
    assert static_experiment.angle_between(np.array([0.0, 2.0]), np.array([5.0, 0.0])) == pytest.approx(90)
