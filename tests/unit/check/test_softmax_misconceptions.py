"""Misconceptions in the lines of a softmax and of a deviation are named where they start."""

import pytest

from clearhead.check.misconceptions import MISCONCEPTIONS
from clearhead.check.softmax_misconceptions import exponentiate_rules, row_sum_rules
from tests.unit.check.desk import marked

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
