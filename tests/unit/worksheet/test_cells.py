"""Matrices, vectors and names as people write them."""

from typing import Any

import numpy as np
import pytest

from clearhead import solve
from clearhead.errors import ProblemError

X = [[1, 2], [3, 4], [5, 6]]
I2 = [[1, 0], [0, 1]]
SELF = {"kind": "self-attention", "X": X, "W_Q": I2, "W_K": I2, "W_V": I2}


def mistakes(data: Any) -> list[str]:
    with pytest.raises(ProblemError) as wrong:
        solve(data)
    return list(wrong.value.mistakes)


def test_a_matrix_of_ten_million_cells_is_refused() -> None:
    told = mistakes(SELF | {"X": np.zeros((10_000, 1_000))})
    assert told == ["X: has 10,000,000 cells. A worksheet takes at most 1,048,576 in one matrix: give fewer tokens."]


def test_numbers_may_be_written_in_many_ways() -> None:
    sheet = solve(SELF | {"X": [["1/2", "−2"], [".5", "1e-3"], [1e-3, 7]]})
    assert sheet.value("X").tolist() == [[0.5, -2.0], [0.5, 0.001], [0.001, 7.0]]
