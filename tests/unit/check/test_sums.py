"""The sum behind a cell is written with the digits that the student wrote."""

import math

import pytest

from clearhead.check.compare import compare
from clearhead.check.comparison import SheetInput
from clearhead.check.graph import Graph
from clearhead.check.placing import Placer
from clearhead.check.products import FailingProduct, failing_product
from clearhead.check.sums import plain_number, right_sum
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from tests.unit.check.desk import working
from tests.unit.check.test_rules import ATTENTION


@pytest.mark.parametrize(
    ("number", "decimals", "text"),
    [
        (0.5, 6, "0.5"),
        (2.0, 6, "2"),
        (-0.0000001, 6, "-1e-07"),
        (-0.04, 1, "-0.04"),
        (1 / 3, 3, "0.333"),
        (1200.0, 2, "1200"),
        (-math.inf, 6, "-∞"),
        (math.inf, 6, "∞"),
    ],
)
def test_a_number_has_no_trailing_zeros(number, decimals, text):
    assert plain_number(number, decimals) == text


def test_the_sum_of_a_cell_uses_the_digits_of_the_line_above():
    """V was written with 5 instead of 4, so the weighted sum in row 1, column 2 is 0.27×2 + 0.73×5 = 4.19."""
    graph = Graph(solve(parse_problem(ATTENTION), Rounding()))
    lines = {"V": "1 2 / 3 5", "A": "0.27 0.73 / 0.88 0.12", "Z": "2.46 4.19 / 1.24 2.36"}
    placing = Placer(graph, working(ATTENTION, lines)).place()
    comparison = compare(SheetInput(graph, placing.statements, placing.copies))
    index = next(i for i, record in enumerate(graph.records) if record.step.name == "mix")
    assert right_sum(comparison, index, 0, 1, "4.19") == "0.27×2 + 0.73×5 = 4.19"


# ---- The wrong product of a sum is named, and the student's own sum is shown if it can be found. ----

ROW = {
    "kind": "self-attention", "X": [[1, 2, 3]], "W_Q": [[4], [5], [6]], "W_K": [[1], [0], [0]], "W_V": [[1], [0], [0]],
    "scale": "none", "mask": "none", "layout": "rows",
}  # fmt: skip


def explained(text: str) -> FailingProduct | None:
    graph = Graph(solve(parse_problem(ROW), Rounding()))
    placing = Placer(graph, working(ROW, {"Q": text})).place()
    comparison = compare(SheetInput(graph, placing.statements, placing.copies))
    return failing_product(comparison, comparison.judged[0], 0, 0)


@pytest.mark.parametrize(
    ("text", "name", "student_sum"),
    [
        ("22", "as if the term 2×5 were missing", "1×4 + 3×6 = 22"),
        ("12", "as if the term 2×5 had the other sign", "1×4 + (-2×5) + 3×6 = 12"),
        ("68", "as if the term 1×4 were ten times larger", ""),
        ("15.8", "as if the term 3×6 were ten times smaller", ""),
        ("42", "as if the term 2×5 were counted twice", "1×4 + 2×5 + 2×5 + 3×6 = 42"),
    ],
)
def test_a_slip_in_one_term_is_named(text, name, student_sum):
    slip = explained(text)
    assert slip is not None
    assert (slip.name, slip.student_sum) == (name, student_sum)


def test_a_number_that_no_single_term_explains_is_not_explained():
    assert explained("31") is None
