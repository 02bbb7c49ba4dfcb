"""The names of exponentials, and the cells that their exponents show."""

import pytest

from clearhead.check.graph import Graph
from clearhead.check.read.exponential import PowerPlacer, exponents_of, power_name
from clearhead.check.working import WrittenLine
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve

# Q Kᵀ = 2 0.5 / 2 2
PROBLEM = {
    "kind": "self-attention",
    "scale": "none",
    "Q": [[1, 0], [0, 2]],
    "K": [[2, 1], [0.5, 1]],
    "V": [[1, 0], [0, 1]],
}


def placer(*lines: WrittenLine) -> PowerPlacer:
    return PowerPlacer(Graph(solve(parse_problem(PROBLEM), Rounding())), lines)


def cells(group: list[str], *lines: WrittenLine) -> list[tuple[int, int] | None]:
    return [place and (place.row, place.column) for place in placer(*lines).places([group])]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("e^2.1", "exp(2.1)"),
        ("- exp(−0.4)", "exp(-0.4)"),
        ("e^2 + e^0.5", "exp(2) + exp(0.5)"),
        ("e^t", ""),
        ("e^2/9", ""),
        ("e2", ""),
    ],
)
def test_a_power_of_e_has_one_name(head, name):
    assert power_name(head) == name


def test_the_exponents_of_a_name_are_numbers():
    assert exponents_of("exp(2) + exp(0.5)") == ["2", "0.5"]
    assert exponents_of("exp(S)") == exponents_of("weights") == []


def test_exponents_are_placed_in_the_row_that_they_make_up():
    assert cells(["2", "0.5"]) == [(0, 0), (0, 1)]
    assert cells(["2", "2"]) == [(1, 0), (1, 1)]
    assert cells(["0.5"]) == [(0, 1)]
    assert cells(["3"]) == [None]


def test_exponents_are_the_scores_of_the_student():
    """A score of 3 that should be 2 is the exponent that the student used."""
    assert cells(["3", "0.5"], WrittenLine("S", (("3", "0.5"), ("2", "2")))) == [(0, 0), (0, 1)]


def test_exponents_can_be_differences_from_the_largest_score():
    assert cells(["0", "-1.5"]) == [(0, 0), (0, 1)]
