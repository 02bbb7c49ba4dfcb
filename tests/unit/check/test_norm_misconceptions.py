"""Misconceptions about norms, worked by hand on the row 1, 3, 8: mean 4, squares 9 + 1 + 16 = 26, variance 26/3."""

import numpy as np
import pytest

from clearhead.check.graph import Graph, fetch_from
from clearhead.check.norm_misconceptions import mean_rules, normalise_rules, variance_rules
from clearhead.check.wrong_rule import Site
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve

PROBLEM = {"kind": "add-and-norm", "X": [[1, 3, 8]], "Y": [[0, 0, 0]], "norm": "layer"}
RULES = {"mean": mean_rules, "variance": variance_rules, "normalise": normalise_rules}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph(solve(parse_problem(PROBLEM), Rounding()))


def wrong_values(graph: Graph, step: str) -> dict[str, list[float]]:
    index = next(i for i, record in enumerate(graph.records) if record.step.name == step)
    fetch = fetch_from([record.value for record in graph.records], graph.givens)
    return {variant.name: variant.value[0].tolist() for variant in RULES[step](Site(graph, index, fetch))}


def test_a_sum_instead_of_a_mean_is_worked(graph):
    assert wrong_values(graph, "mean")["sum instead of mean"] == [12.0]


def test_a_variance_divided_by_n_minus_1_not_divided_or_under_a_root_is_worked(graph):
    values = wrong_values(graph, "variance")
    assert values["n−1 in the variance"] == [pytest.approx(13.0)]
    assert values["sum of squares, not divided by n"] == [pytest.approx(26.0)]
    assert values["standard deviation instead of variance"] == [pytest.approx(np.sqrt(26 / 3))]


def test_a_norm_divided_by_the_variance_or_with_n_minus_1_is_worked(graph):
    values = wrong_values(graph, "normalise")
    assert values["divided by the variance"] == [pytest.approx(gap / (26 / 3), rel=1e-4) for gap in (-3, -1, 4)]
    assert values["n−1 in the variance"] == [pytest.approx(gap / np.sqrt(13), rel=1e-4) for gap in (-3, -1, 4)]
