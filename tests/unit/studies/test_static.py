"""Static against contextual vectors: 'bank' in two sentences, and the average 'apple'."""

import numpy as np
import pytest

from clearhead.studies import Experiment
from clearhead.studies import static as static_experiment
from tests.tolerances import assert_close
from tests.unit.studies.tiny import measured


@pytest.fixture(scope="module")
def static() -> Experiment:
    return measured("static")


def test_one_bank_becomes_two(static: Experiment) -> None:
    rows = static.tables[0].rows
    assert [row[1] for row in rows] == pytest.approx([1.0] * 3)
    assert all(row[2] < 0.95 for row in rows)
    # first sketch: 0.2 money + 0.7 bank + 0.1 grows, and 0.5 river + 0.4 bank + 0.1 flows
    first = static_experiment.cosine(
        np.array([0.18 + 0.35 + 0.06, 0.02 + 0.35 + 0.03]), np.array([0.05 + 0.2 + 0.02, 0.45 + 0.2 + 0.08])
    )
    # full table: 0.25 money + 0.7 bank + 0.05 grows = [0.605, 0.39]; 0.2 river + 0.78 bank + 0.02 flows
    second = static_experiment.cosine(np.array([0.605, 0.39]), np.array([0.414, 0.586]))
    assert_close([row[2] for row in rows[:2]], [first, second])


def test_the_average_apple_is_nine_tenths_fruit(static: Experiment) -> None:
    first = static.tables[1].rows[0]
    assert first[:2] == (9000, 1000)
    assert first[2:4] == pytest.approx((0.9, 0.1))
    assert first[4:] == pytest.approx((0.9 / 0.82**0.5, 0.1 / 0.82**0.5))
    assert "[0.9, 0.1]" in static.finding


def test_cosine_and_angle_of_known_vectors() -> None:
    assert static_experiment.cosine(np.array([3.0, 4.0]), np.array([4.0, 3.0])) == pytest.approx(24 / 25)
    assert static_experiment.angle_between(np.array([0.0, 2.0]), np.array([5.0, 0.0])) == pytest.approx(90)
