"""The wrong product of a sum is named, and the student's own sum is shown if it can be found.

Q = X W_Q with X = [[1, 2, 3]] and W_Q = [[4], [5], [6]]: 1×4 + 2×5 + 3×6 = 32.
"""

import pytest

from clearhead.check.compare import compare
from clearhead.check.comparison import SheetInput
from clearhead.check.graph import Graph
from clearhead.check.placing import Placer
from clearhead.check.products import FailingProduct, failing_product
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from tests.unit.check.desk import working

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
