"""Position vectors: how near they come, their bits, and a step as a rotation."""

import math
from itertools import combinations

import numpy as np
import pytest

from clearhead.studies import Experiment
from clearhead.studies.positions import WIDTH, encode, nearest_pair, rotation
from tests.tolerances import assert_close
from tests.unit.studies.tiny import measured


@pytest.fixture(scope="module")
def positions() -> Experiment:
    return measured("positions")


def test_a_count_is_unbounded_and_one_sine_repeats_and_many_do_not(positions: Experiment) -> None:
    count, sine, many = positions.tables[0].rows
    assert count[1:3] == (1000.0, 1.0)
    assert sine[1] <= 1.0
    assert sine[2] < 1e-6
    # 11 + 344 = 355 is nearly 113 π, an odd multiple, so that the sines are nearly equal.
    assert sine[3] == "11 and 344"
    assert_close(sine[2], abs(math.sin(11) - math.sin(344)))
    assert many[1] <= 1.0
    assert many[2] > 1.0


def test_neighbours_are_nearest_and_their_distance_is_the_closed_form(positions: Experiment) -> None:
    # |PE(p + 1) - PE(p)|² = Σ 2 - 2 cos(1 / 10000^(2i/d)), the same for every p
    expected = math.sqrt(sum(2 - 2 * math.cos(10000 ** (-2 * i / WIDTH)) for i in range(WIDTH // 2)))
    assert positions.tables[0].rows[2][2] == pytest.approx(expected, rel=1e-9)
    assert positions.tables[0].rows[2][3] == "0 and 1"


def test_the_nearest_pair_is_that_of_a_search_over_all_pairs() -> None:
    code = np.random.default_rng(5).standard_normal((23, 3))
    expected = min((math.dist(code[i], code[j]), i, j) for i, j in combinations(range(23), 2))
    nearest = nearest_pair(code)
    assert nearest[1:] == expected[1:]
    assert nearest[0] == pytest.approx(expected[0], rel=1e-12)


def test_the_picture_shows_fifty_positions_of_128_numbers(positions: Experiment) -> None:
    shown = positions.arrays["positions"]
    assert shown.shape == (50, 128)
    assert shown[0].tolist() == [0.0, 1.0] * 64
    assert shown[3, 10] == pytest.approx(math.sin(3 / 10000 ** (10 / 128)), rel=1e-12)
    assert shown[3, 11] == pytest.approx(math.cos(3 / 10000 ** (10 / 128)), rel=1e-12)


def test_the_lowest_bit_changes_at_every_step_and_each_higher_one_half_as_often(positions: Experiment) -> None:
    assert [int("".join(str(int(bit)) for bit in row), 2) for row in positions.arrays["bits"]] == list(range(16))
    changes = {row[0]: row[2] for row in positions.tables[1].rows}
    assert [changes[f"bit {bit} of a counter"] for bit in range(4)] == [15, 7, 3, 1]


def test_a_sine_changes_sign_once_in_every_half_wave(positions: Experiment) -> None:
    changes = {row[0]: row[2] for row in positions.tables[1].rows}
    for dim in (0, 16, 32, 48, 64, 80, 96, 112):
        assert changes[f"PE, dimension {dim}"] == math.floor(1000 / (math.pi * 10000 ** (dim / WIDTH)))


def test_a_step_is_one_rotation_at_every_position(positions: Experiment) -> None:
    assert all(error < 1e-12 for error in positions.tables[2].column("largest error over all positions"))
    step = rotation(13)
    assert_close(step @ step.T, np.eye(WIDTH))
    assert_close(encode(np.array([29.0])) @ step, encode(np.array([42.0])))
