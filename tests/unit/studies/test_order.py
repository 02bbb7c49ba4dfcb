"""Self-attention ignores word order without positions or a mask."""

import math

import numpy as np
import pytest

from clearhead.studies import order as order_experiment
from tests.tolerances import assert_close


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])
def test_self_attention_ignores_order_without_positions_or_a_mask(seed: int) -> None:
    rows = {row[0]: row[1:] for row in order_experiment.run(seed).tables[0].rows}
    assert all(value < 1e-12 for value in rows["nothing"])
    for variant in ("positions", "a causal mask", "both"):
        assert all(value > 0.05 for value in rows[variant])


def test_the_two_sentences_have_the_same_words() -> None:
    first, second = order_experiment.SENTENCES
    assert first != second
    assert sorted(first.lower().split()) == sorted(second.lower().split())


def test_attention_of_the_experiment_is_that_of_plain_loops() -> None:
    random = np.random.default_rng(7)
    x, parameters = random.standard_normal((5, 3)), random.standard_normal((3, 3, 3))
    expected = []
    for i in range(5):
        scores = [(x[i] @ parameters[0]) @ (x[j] @ parameters[1]) / math.sqrt(3) for j in range(i + 1)]
        powers = [math.exp(score) for score in scores]
        expected.append(sum(p / sum(powers) * (x[j] @ parameters[2]) for j, p in enumerate(powers)))
    assert_close(order_experiment.attend(x, parameters, False, True), np.stack(expected))


def test_the_difference_of_two_bags_is_that_of_the_most_distant_output() -> None:
    one, two = np.array([[0.0], [1.0], [9.0]]), np.array([[1.0], [0.0], [4.0]])
    assert order_experiment.bag_difference(order_experiment.distances(one, two)) == 5.0
