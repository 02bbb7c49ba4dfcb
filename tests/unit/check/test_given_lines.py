"""The givens that a written line repeats."""

from clearhead.check.given_lines import GivenLines
from clearhead.check.graph import Graph
from clearhead.check.grid import read_grid
from clearhead.check.names import Pick
from clearhead.check.working import WrittenLine
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve

GIVENS = GivenLines(Graph(solve(parse_problem({"kind": "softmax", "scores": [2.1, 0.4]}), Rounding())))


def repeated(*cells: str) -> str:
    return GIVENS.repeated(read_grid(WrittenLine("x", (cells,)), has_decimal_comma=False), Pick("x"))


def test_a_given_is_found_by_its_numbers():
    assert repeated("2.1", "0.4") == repeated("2.10", ".4") == "scores"
    assert repeated("2.1", "0.5") == repeated("2.1", "0.4", "1") == ""


def test_a_given_is_found_by_its_name():
    assert GIVENS.named("S", "") == GIVENS.named("scores", "") == ["scores"]
    assert GIVENS.named("weights", "") == []
