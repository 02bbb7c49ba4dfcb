"""Misconceptions about positions, worked by hand: width 4, base 10000, so that the angles of position 1 are 1 and 0.01."""

import math

import pytest

from clearhead.check.graph import Graph, fetch_from
from clearhead.check.position_misconceptions import position_rules
from clearhead.check.wrong_rule import Site
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve

PROBLEM = {"kind": "positions", "positions": [0, 1], "d_model": 4, "formula": "sinusoidal"}


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, list[float]]]:
    graph = Graph(solve(parse_problem(PROBLEM), Rounding()))
    index = next(i for i, record in enumerate(graph.records) if record.step.name == "position")
    site = Site(graph, index, fetch_from([record.value for record in graph.records], graph.givens))
    return [(variant.name, variant.value[1].tolist()) for variant in position_rules(site)]


def row_of(rows: list[tuple[str, list[float]]], name: str) -> list[float]:
    return next(row for other, row in rows if other == name)


def waves(*angles: float) -> list[float]:
    """Return alternating sines and cosines."""
    return [pytest.approx(math.cos(a) if place % 2 else math.sin(a)) for place, a in enumerate(angles)]


def test_positions_counted_from_1_use_the_angle_of_the_next_token(rows):
    assert row_of(rows, "positions from 1") == waves(2.0, 2.0, 0.02, 0.02)


def test_degrees_instead_of_radians_shrink_every_angle(rows):
    small = math.pi / 180
    assert row_of(rows, "degrees instead of radians") == waves(small, small, 0.01 * small, 0.01 * small)


def test_sines_and_cosines_can_be_written_in_blocks(rows):
    expected = [math.sin(1.0), math.sin(0.01), math.cos(1.0), math.cos(0.01)]
    assert row_of(rows, "sine and cosine in blocks") == [pytest.approx(number) for number in expected]


def test_2i_taken_as_the_dimension_doubles_the_exponent(rows):
    """Dimension 2 has 10000^(2·2/4) = 10000 instead of 100."""
    doubled = [row for name, row in rows if name == "2i in the exponent taken as the dimension"]
    assert doubled[0] == waves(1.0, 0.01, 1e-4, 1e-6)
