"""A bare softmax: a vector or a matrix of numbers in, weights out."""

import math
from typing import Any

import numpy as np
import pytest

from clearhead import solve
from clearhead.errors import ProblemError
from clearhead.worksheet.kinds.softmax import SoftmaxProblem
from tests.unit.check.desk import marked, verdicts

LOG3 = math.log(3.0)


def weights(**problem: Any) -> Any:
    sheet = solve({"kind": "softmax", **problem})
    return sheet.value("W" if problem.get("layout") == "columns" else "A")


def test_a_vector_is_one_row() -> None:
    """e^0 = 1 and e^ln 3 = 3: a quarter and three quarters."""
    assert weights(scores=[0, LOG3]) == pytest.approx(np.array([[0.25, 0.75]]))
    assert SoftmaxProblem.model_fields["kind"].default == "softmax"


def test_each_row_of_a_matrix_and_in_columns_each_column() -> None:
    assert weights(scores=[[0, LOG3], [LOG3, 0]]) == pytest.approx(np.array([[0.25, 0.75], [0.75, 0.25]]))
    assert weights(scores=[[0, 0], [LOG3, 0]], layout="columns") == pytest.approx(np.array([[0.25, 0.5], [0.75, 0.5]]))
    assert weights(scores=[0, LOG3], layout="columns") == pytest.approx(np.array([[0.25], [0.75]]))


def test_temperature_base_mask_and_division() -> None:
    assert weights(scores=[0, 2 * LOG3], temperature=2) == pytest.approx(np.array([[0.25, 0.75]]))
    assert weights(scores=[0, 2 * LOG3], scale=2) == pytest.approx(np.array([[0.25, 0.75]]))
    assert weights(scores=[0, 1], base=3) == pytest.approx(np.array([[0.25, 0.75]]))
    assert weights(S=[[0, LOG3, 9], [0, 0, 0]], mask={"padding": 1})[0] == pytest.approx([0.25, 0.75, 0.0])
    assert weights(logits=[1, 3], normaliser="division") == pytest.approx(np.array([[0.25, 0.75]]))


def test_names_of_rows_and_numbers() -> None:
    sheet = solve({"kind": "softmax", "scores": [[1, 2]], "tokens": ["tea", "milk"], "query_tokens": ["cup"]})
    assert (sheet.trace.givens["scores"].rows, sheet.trace.givens["scores"].columns) == (("cup",), ("tea", "milk"))


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ({}, "softmax needs scores: the numbers"),
        ({"scores": 3}, "scores: expected a list of numbers such as"),
        ({"scores": [[1, 2], [3]]}, "row 2 has 1 number but row 1 has 2"),
        ({"scores": [1, 2], "tokens": ["a"]}, "tokens has 1 name, but scores has 2 tokens"),
        ({"scores": [1, 2], "query_tokens": ["a", "b"]}, "query_tokens has 2 names, but scores has 1 token"),
        ({"scores": [1, 2], "scale": "sqrt(d_k)"}, "needs vectors, but a softmax has only scores"),
        ({"scores": [1, 2], "temperature": 0}, "0 is not greater than 0"),
        ({"scores": [1, 2], "mask": [[1, 1, 1]]}, "mask: explicit is 1 × 3"),
    ],
)
def test_what_does_not_fit_is_explained(problem: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        solve({"kind": "softmax", **problem})


def test_a_working_is_marked() -> None:
    """e² + e + e^-1 = 7.389 + 2.718 + 0.368 = 10.475; 7.389/10.475 = 0.705, 2.718/10.475 = 0.259, 0.368/10.475 = 0.035."""
    problem = {"kind": "softmax", "scores": [2, 1, -1]}
    assert verdicts(marked(problem, {"weights": "0.705 0.259 0.035"})) == ["A ccc"]
    assert verdicts(marked(problem, {"p": "0.705 0.325 0.035"})) == ["A cSc"]
    copied = marked(problem, {"scores": "2 1 -1", "softmax(s)": "0.705 0.259 0.035"})
    assert [note.sentence for note in copied.notes if note.kind == "unplaced"] == [], "the scores are given"


def test_misconceptions_are_named() -> None:
    """2/2, 1/2 and -1/2: divided by the sum of the scores; down the columns, e²/(e² + 1) = 0.881 and so on."""
    divided = marked({"kind": "softmax", "scores": [2, 1, -1]}, {"weights": "1 0.5 -0.5"})
    assert divided.findings[0].name == "no exp (divided by the sum)"
    columns = marked({"kind": "softmax", "scores": [[2, 1], [0, 3]]}, {"A": "0.881 0.119 / 0.119 0.881"})
    assert columns.findings[0].name == "softmax down the columns"
