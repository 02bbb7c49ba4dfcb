"""Matrices, vectors and names as people write them."""

from typing import Any

import numpy as np
import pytest

from clearhead import solve
from clearhead.errors import ProblemError
from clearhead.worksheet.cells import (
    count,
    read_allowed,
    read_embedding,
    read_matrix,
    read_number,
    read_tokens,
    read_vector,
)

X = [[1, 2], [3, 4], [5, 6]]
I2 = [[1, 0], [0, 1]]
SELF = {"kind": "self-attention", "X": X, "W_Q": I2, "W_K": I2, "W_V": I2}


def mistakes(data: Any) -> list[str]:
    with pytest.raises(ProblemError) as wrong:
        solve(data)
    return list(wrong.value.mistakes)


def test_a_matrix_of_ten_million_cells_is_refused() -> None:
    sentences = mistakes(SELF | {"X": np.zeros((10_000, 1_000))})
    assert sentences == [
        "X: has 10,000,000 cells. A matrix of a worksheet can have at most 1,048,576: give fewer tokens."
    ]


def test_numbers_can_be_written_in_many_ways() -> None:
    sheet = solve(SELF | {"X": [["1/2", "−2"], [".5", "1e-3"], [1e-3, 7]]})
    assert sheet.value("X").tolist() == [[0.5, -2.0], [0.5, 0.001], [0.001, 7.0]]


@pytest.mark.parametrize(
    ("cell", "number"),
    [("2/4", 0.5), ("\N{MINUS SIGN}1.5", -1.5), (" 1e-3 ", 0.001), (7, 7.0), (".5/.25", 2.0), ("+3.", 3.0)],
)
def test_a_number_is_what_people_mean_by_it(cell: object, number: float) -> None:
    assert read_number(cell) == number


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (True, "True is not a number"),
        ("1/0", "'1/0' divides by zero"),
        ("1,5", "'1,5' is not a number"),
        (10**400, "an integer of more than 308 digits is too large"),
        (float("inf"), "inf is not a finite number"),
    ],
)
def test_text_that_is_not_a_number_is_rejected(cell: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        read_number(cell)


def test_vectors_and_matrices_become_arrays() -> None:
    assert read_vector(["1/2", 3]).tolist() == [0.5, 3.0]
    assert read_matrix([[1, "2"], (3, 4)]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(ValueError, match="expected a flat list of numbers"):
        read_vector([[1], [2]])
    with pytest.raises(ValueError, match="row 3 has 1 number but row 1 has 2"):
        read_matrix([[1, 2], [3, 4], [5]])


def test_three_wrong_cells_are_named_and_the_rest_counted() -> None:
    with pytest.raises(
        ValueError, match=r"row 1, column 1: 'a' .*row 2, column 1: 'c' is not a number; and 2 more cells$"
    ):
        read_matrix([["a", "b"], ["c", "d"], ["e", 1]])


def test_a_mask_is_of_ones_and_zeros_or_of_true_and_false() -> None:
    assert read_allowed([[True, False], [0, 1]]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ValueError, match="row 1, column 2: 0.5 is neither 1"):
        read_allowed([[1, 0.5]])


def test_a_number_can_be_a_name_and_all_words_have_vectors_of_one_width() -> None:
    assert read_tokens([7, "a", 0.5]) == ("7", "a", "0.5")
    table = read_embedding({"the": [1, 2], 2024: ["1/2", 3]})
    assert {word: vector.tolist() for word, vector in table.items()} == {"the": [1.0, 2.0], "2024": [0.5, 3.0]}
    with pytest.raises(ValueError, match="the vector of 'cat' has 1 number but that of 'the' has 2"):
        read_embedding({"the": [1, 2], "cat": [3]})


def test_one_row_and_two_rows() -> None:
    assert (count(1, "row"), count(2, "row"), count(0, "row")) == ("1 row", "2 rows", "0 rows")
