"""Statements without an index are placed by the numbers that they use."""

import numpy as np
import pytest

from clearhead.exercises.check.read.operands import RowPlace, SoftmaxRows, powers_of, softmax_of
from clearhead.exercises.sheet.build import sheet_of
from clearhead.worksheet.solver import solve
from clearhead.worksheet.view import SheetView

# Q Kᵀ = 2 0.5 / 2 2
ATTENTION = {
    "kind": "self-attention",
    "scale": "none",
    "Q": [[1, 0], [0, 2]],
    "K": [[2, 1], [0.5, 1]],
    "V": [[1, 0], [0, 1]],
}


def rows(problem: dict[str, object], written: dict[str, np.ndarray] | None = None) -> SoftmaxRows:
    return SoftmaxRows(sheet_of(SheetView(solve(problem))), written or {})


@pytest.mark.parametrize("text", ["e^2.1", "exp(2.1)", "e^{2.1}", "exp 2.1", "e ^ (2.1)"])
def test_a_power_has_an_exponent(text: str) -> None:
    assert powers_of(text) == ["2.1"]


def test_a_sum_of_powers_has_several_and_other_names_have_none() -> None:
    assert powers_of("e^2.1 + e^-0.4") == ["2.1", "-0.4"]
    assert powers_of("e^S") == powers_of("weights") == powers_of("e^2.1 + weights") == []


def test_the_numbers_of_a_softmax_are_its_scores() -> None:
    assert softmax_of("softmax(2, 4, 4)") == softmax_of("softmax([2 4 4])") == ["2", "4", "4"]
    assert softmax_of("softmax(S)") == softmax_of("softmax") == []


def test_a_row_is_found_by_its_scores_and_equal_rows_one_after_the_other() -> None:
    found = rows(ATTENTION)
    assert found.row_of(["2", "0.5"]) == RowPlace(1, 0)
    equal = rows({**ATTENTION, "Q": [[1, 0], [1, 0]]})
    assert [equal.row_of(["2", "0.5"]) for _ in range(3)] == [RowPlace(1, 0), RowPlace(1, 1), RowPlace(1, 0)]
    assert found.row_of(["7", "7"]) is None


def test_exponents_that_make_up_a_row_are_its_cells() -> None:
    cells = rows(ATTENTION).cells_of(["2", "2", "2", "0.5"])
    assert cells == [RowPlace(1, 1, 0), RowPlace(1, 1, 1), RowPlace(1, 0, 0), RowPlace(1, 0, 1)]


def test_the_scores_that_the_student_wrote_come_before_the_right_ones() -> None:
    own = {"self_attention:score": np.array([[2.5, 0.5], [2.0, 2.0]])}
    assert rows(ATTENTION, own).cells_of(["2.5", "0.5"]) == [RowPlace(1, 0, 0), RowPlace(1, 0, 1)]
