"""What attention costs: memory is quadratic, and the growth exponent is estimated correctly."""

import numpy as np
import pytest

from clearhead.studies import Experiment
from clearhead.studies import cost as cost_experiment
from tests.unit.studies.tiny import measured


@pytest.fixture(scope="module")
def cost() -> Experiment:
    return measured("cost")


def test_the_memory_of_the_weights_is_quadratic(cost: Experiment) -> None:
    memory = np.array(cost.tables[0].column("peak memory (MiB)"))
    table = np.array(cost.tables[0].column("one n × n matrix (MiB)"))
    assert np.all(memory >= table)  # the weights themselves are one
    assert memory[-1] / memory[-2] == pytest.approx(4.0, rel=0.05)
    exponent = dict(cost.tables[1].rows)["peak memory"]
    assert exponent == pytest.approx(2.0, abs=0.15)


def test_the_times_are_measured(cost: Experiment) -> None:
    assert all(time > 0 for time in cost.tables[0].column("time (ms)"))
    assert "on this machine" in cost.finding


def test_the_growth_of_a_power_is_its_exponent() -> None:
    lengths = (3, 7, 31)
    assert cost_experiment.growth(lengths, [5.0 * n**1.7 for n in lengths]) == pytest.approx(1.7, rel=1e-9)


def test_memory_can_be_measured_during_another_measurement() -> None:
    import tracemalloc

    q = k = np.ones((67, 5))
    alone = cost_experiment.peak_memory(q, k)
    tracemalloc.start()
    try:
        assert cost_experiment.peak_memory(q, k) == pytest.approx(alone, rel=0.1)
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()
