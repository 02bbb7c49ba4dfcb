"""Misconceptions about norms, worked by hand on the row 1, 3, 8: mean 4, squares 9 + 1 + 16 = 26, variance 26/3."""

import numpy as np
import pytest

from clearhead.check.graph import Graph, fetch_from
from clearhead.check.misconceptions import MISCONCEPTIONS
from clearhead.check.norm_misconceptions import mean_rules, normalise_rules, variance_rules
from clearhead.check.softmax_misconceptions import exponentiate_rules, row_sum_rules
from clearhead.check.wrong_rule import Site
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from tests.unit.check.desk import marked

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


# ---- Misconceptions in the lines of a softmax and of a deviation are named where they start ----

SOFTMAX = {"kind": "softmax", "scores": [[2, 1], [0, 3]]}
RIGHT = "7.389 2.718 / 1 20.086"  # e², e, 1 and e³


def named(problem: dict[str, object], lines: dict[str, str]) -> list[tuple[str, str]]:
    report = marked(problem, lines)
    return [(finding.name, report.lines[finding.line].symbol) for finding in report.findings]


def test_another_base_is_named_in_the_exponentials_and_the_weights_follow() -> None:
    """2², 2¹, 2⁰ and 2³; 4/6 = 0.667 and 8/9 = 0.889 follow from them."""
    lines = {"exp": "4 2 / 1 8", "sum": "6 9", "A": "0.667 0.333 / 0.111 0.889"}
    assert named(SOFTMAX, lines) == [("base 2", "exp")]
    with_base = {**SOFTMAX, "base": 2}
    assert named(with_base, {"exp": RIGHT})[0] == ("e instead of the base in the question", "exp")


@pytest.mark.parametrize(
    ("sums", "name"),
    [
        ("8.389 22.804", "softmax down the columns"),  # 7.389 + 1 and 2.718 + 20.086
        ("31.193 31.193", "softmax over the whole matrix"),
    ],
)
def test_sums_over_other_cells_are_named(sums: str, name: str) -> None:
    assert named(SOFTMAX, {"exp": RIGHT, "sum": sums}) == [(name, "Σ")]


def test_weights_divided_by_the_sum_of_their_column_are_named_below_written_exponentials() -> None:
    """7.389/8.389 = 0.881, 2.718/22.804 = 0.119, 1/8.389 = 0.119 and 20.086/22.804 = 0.881."""
    assert named(SOFTMAX, {"exp": RIGHT, "A": "0.881 0.119 / 0.119 0.881"}) == [("softmax down the columns", "A")]


def test_n_minus_1_is_named_in_the_deviation() -> None:
    """√(14/2) = 2.646 and √(6/2) = 1.732."""
    problem = {"kind": "add-and-norm", "X": [[1, 2, 6], [2, 2, 5]]}
    lines = {"mean": "3 3", "variance": "4.667 2", "std": "2.646 1.732"}
    assert named(problem, lines) == [("n−1 in the variance", "σ")]


def test_the_rules_belong_to_their_steps() -> None:
    assert MISCONCEPTIONS["exponentiate"] is exponentiate_rules
    assert MISCONCEPTIONS["row_sum"] is row_sum_rules
