"""A sample of people who work without a fault, and the inner numbers that they keep."""

import math

import numpy as np
import pytest

from clearhead.check.comparison import SheetComparison, SheetInput
from clearhead.check.graph import Graph
from clearhead.check.inner_numbers import InnerNumbers, work, work_plainly
from clearhead.check.people import NUM_PEOPLE, People
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve

NUMBER = 500


def drawn(decimals, *, figures=0, chance=1.0):
    draw = np.random.default_rng(0)
    return InnerNumbers.drawn(draw, (decimals, figures), np.full(NUMBER, chance), np.zeros(NUMBER, dtype=bool))


def test_people_who_shorten_nothing_have_the_full_result():
    scores = np.array([[1.4, 0.6, 0.9]])
    results = work("softmax", {"scores": scores}, drawn(3, chance=0.0))
    assert np.allclose(results, np.exp(scores) / np.exp(scores).sum())


def test_some_people_keep_exponentials_with_two_decimals():
    """e^1.4 = 4.0552, e^0.6 = 1.8221, e^0.9 = 2.4596: 4.06, 1.82, 2.46 with the sum 8.34."""
    results = work("softmax", {"scores": np.array([[1.4, 0.6, 0.9]])}, drawn(3))
    assert results.shape == (NUMBER, 1, 3)
    assert np.any(np.all(np.isclose(results, [4.06 / 8.34, 1.82 / 8.34, 2.46 / 8.34]), axis=(1, 2)))
    assert np.all(np.abs(results[:, 0, 0] - 0.4864) < 0.01)


def test_nobody_keeps_inner_numbers_with_three_decimals_less_than_the_line():
    """σ = 1.2472 below a norm with five decimals is 1.247 at least, not 1.25."""
    inputs = {"x": np.array([[1.0, 2.0, 4.0]]), "mean": np.array([[7 / 3]]), "variance": np.array([[14 / 9]])}
    coarse = -4 / 3 / 1.25
    assert np.any(np.isclose(work("normalise", inputs, drawn(4))[:, 0, 0], coarse))
    assert not np.any(np.isclose(work("normalise", inputs, drawn(5))[:, 0, 0], coarse))


def test_nobody_divides_by_a_sum_of_one_figure():
    """e^-6 = 0.0025 and e^-7 = 0.0009 to two decimals would be 0 and 0."""
    results = work("softmax", {"scores": np.array([[-6.0, -7.0]])}, drawn(2))
    assert np.all(np.abs(results[:, 0, 0] - math.e / (1 + math.e)) < 0.06)


@pytest.mark.parametrize("step", ["mix", "project"])
def test_a_step_is_calculated_for_all_people_at_once(step):
    left, right = np.random.default_rng(0).normal(size=(NUMBER, 2, 3)), np.eye(3)
    inputs = {"weights": left, "v": right} if step == "mix" else {"x": left, "w": right}
    assert np.allclose(work_plainly(step, inputs, NUMBER), left)


def test_the_loss_of_every_person_is_that_of_the_target():
    probabilities = np.random.default_rng(0).uniform(0.1, 0.9, size=(NUMBER, 2, 3))
    results = work_plainly("loss", {"probabilities": probabilities, "targets": np.array([2, 0])}, NUMBER)
    assert np.allclose(results[:, 0, 0], -np.log(probabilities[:, 0, 2]))
    assert np.allclose(results[:, 1, 0], -np.log(probabilities[:, 1, 0]))


def test_people_who_wrote_nothing_reach_the_right_answer_and_others_near_it():
    """S = 1 2 over √2; the first person keeps everything in full."""
    problem = {"kind": "self-attention", "Q": [[1, 2]], "K": [[1, 0], [0, 1]], "V": [[1, 2], [3, 4]]}
    graph = Graph(solve(parse_problem({**problem, "scale": "sqrt(d_k)"}), Rounding()))
    comparison = SheetComparison(SheetInput(graph, {}))
    results = People(graph, {}, [], comparison.images[True]).results(len(graph) - 1)
    right = graph.records[-1].value
    assert results.shape == (NUM_PEOPLE, *right.shape)
    assert np.allclose(results[0], right)
    assert 0.0 < np.max(np.abs(results - right)) < 0.1
