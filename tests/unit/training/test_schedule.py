"""The rate at each update, by numbers worked by hand."""

import pytest

from clearhead.training.schedule import rate_at
from tests.unit.training.models import settings


def test_the_rate_climbs_in_even_steps_to_its_highest() -> None:
    config = settings(rate=0.008, warm_up=4)
    assert [rate_at(step, config, None) for step in (1, 2, 3, 4)] == pytest.approx([0.002, 0.004, 0.006, 0.008])


@pytest.mark.parametrize(
    ("step", "rate"),
    [(4, 0.008), (16, 0.004), (64, 0.002), (100, 0.0016)],  # 0.008 √(4 / step): √(1/4), √(1/16), √(1/25)
)
def test_the_inverse_square_root(step: int, rate: float) -> None:
    assert rate_at(step, settings(rate=0.008, warm_up=4), None) == pytest.approx(rate)


def test_the_inverse_square_root_without_a_warm_up_starts_from_its_highest() -> None:
    config = settings(rate=0.6, warm_up=0)
    assert [rate_at(step, config, None) for step in (1, 4, 9)] == pytest.approx([0.6, 0.3, 0.2])


@pytest.mark.parametrize(
    ("step", "rate"),
    # The fall is from update 4 to 28, and ends at a tenth: 0.008 (0.1 + 0.9 (1 + cos πt) / 2)
    [(4, 0.008), (10, 0.00694558441), (12, 0.0062), (16, 0.0044), (28, 0.0008), (31, 0.0008)],
)
def test_the_cosine(step: int, rate: float) -> None:
    config = settings(rate=0.008, warm_up=4, schedule="cosine", final_rate=0.1)
    assert rate_at(step, config, 28) == pytest.approx(rate)


@pytest.mark.parametrize(("step", "rate"), [(4, 0.008), (10, 0.0062), (16, 0.0044), (28, 0.0008), (40, 0.0008)])
def test_the_straight_line(step: int, rate: float) -> None:
    config = settings(rate=0.008, warm_up=4, schedule="linear", final_rate=0.1)
    assert rate_at(step, config, 28) == pytest.approx(rate)


def test_a_constant_rate_stays() -> None:
    config = settings(rate=0.008, warm_up=4, schedule="constant")
    assert [rate_at(step, config, None) for step in (2, 4, 1000)] == pytest.approx([0.004, 0.008, 0.008])


def test_a_warm_up_longer_than_the_run_never_ends() -> None:
    config = settings(rate=0.01, warm_up=100, schedule="cosine")
    assert rate_at(10, config, 10) == pytest.approx(0.001)


def test_a_longer_run_falls_later() -> None:
    config = settings(rate=0.01, warm_up=0, schedule="cosine")
    assert rate_at(10, config, 10) == pytest.approx(0.0, abs=1e-12)
    assert rate_at(10, config, 20) == pytest.approx(0.005)
