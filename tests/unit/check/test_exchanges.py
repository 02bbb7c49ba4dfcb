"""Right numbers in the wrong place: all wrong cells of a line have each other's right numbers."""

import numpy as np
import pytest

from clearhead.check.compare import compare
from clearhead.check.comparison import SheetInput
from clearhead.check.exchanges import exchanged_cells
from clearhead.check.graph import Graph
from clearhead.check.placing import Placer
from clearhead.check.wrong_line import WrongLine, wrong_line
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from tests.unit.check.desk import working

WEIGHTS = [[0.25, 0.75], [0.5, 0.5], [0, 1]]
CONTEXT = {"kind": "context", "X": [[1, 20], [5, 60]], "weights": WEIGHTS, "layout": "rows"}
# Z = [[4, 50], [3, 40], [5, 60]]


def line_of(text: str) -> WrongLine:
    graph = Graph(solve(parse_problem(CONTEXT), Rounding()))
    comparison = compare(SheetInput(graph, Placer(graph, working(CONTEXT, {"Z": text})).place().statements))
    return wrong_line(comparison.judged)


@pytest.mark.parametrize(
    ("text", "name", "cells"),
    [
        ("3 40 / 4 50 / 5 60", "two rows exchanged", [(0, 0), (0, 1), (1, 0), (1, 1)]),
        ("4 40 / 3 50 / 5 60", "two numbers exchanged", [(0, 1), (1, 1)]),
    ],
)
def test_an_exchange_that_explains_all_wrong_cells_is_named(text, name, cells):
    exchange = exchanged_cells(line_of(text))
    assert exchange is not None
    assert (exchange.name, list(exchange.cells)) == (name, cells)


@pytest.mark.parametrize(
    "text", ["3 40 / 4 50 / 5 61", "4 40 / 3 50 / 7 60", "3 50 / 3 40 / 5 60", "4 50 / 3 40 / 5 60"]
)
def test_other_wrong_cells_or_a_single_one_are_no_exchange(text):
    """Two exchanged rows beside another slip; two exchanged numbers beside another slip; one wrong cell; none."""
    line = line_of(text)
    assert exchanged_cells(line) is None
    assert line.num_wrong == int(np.sum(line.wrong))
