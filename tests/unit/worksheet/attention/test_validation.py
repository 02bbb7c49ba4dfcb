"""Attention layers that do not fit are refused, each mistake named."""

from typing import Any

import pytest

from clearhead import solve
from clearhead.errors import ProblemError

X = [[1, 2], [3, 4], [5, 6]]
I2 = [[1, 0], [0, 1]]
SELF = {"kind": "self-attention", "X": X, "W_Q": I2, "W_K": I2, "W_V": I2}
MULTI = SELF | {"kind": "multi-head-attention"}


def mistakes(data: Any) -> list[str]:
    with pytest.raises(ProblemError) as wrong:
        solve(data)
    return list(wrong.value.mistakes)


def test_heads_of_unequal_length_are_told() -> None:
    first = {"W_Q": I2, "W_K": I2, "W_V": I2, "cached_K": [[1, 1]], "cached_V": [[1, 1]]}
    told = mistakes({"kind": "multi-head-attention", "X": X, "heads": [first, {"W_Q": I2, "W_K": I2, "W_V": I2}]})
    assert told == ["head 2: it has 3 queries and 3 keys, but head 1 has 3 and 4. Give every head as many."]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({}, "multi-head-attention needs heads: give num_heads, or heads with each head's weights."),
        ({"num_heads": 3}, "num_heads = 3 does not divide the width 2 of Q. Use 1 or 2 heads."),
        ({"num_heads": 2, "num_kv_heads": 3}, "num_kv_heads = 3 does not divide num_heads = 2. Use 1 or 2 key/value heads."),
        ({"heads": [{"W_Q": I2, "W_K": I2, "W_V": I2}]}, "both heads and W_Q are given. Put W_Q into each head, or use num_heads."),
        ({"num_heads": 2, "Y": X, "X": None, "Q": None}, "Y is given without X. Give X, the sentence that is asked."),
    ],
)  # fmt: skip
def test_heads_that_do_not_fit_are_named(change: dict[str, Any], sentence: str) -> None:
    assert sentence in mistakes(MULTI | change)


def test_heads_of_their_own_are_checked_one_by_one() -> None:
    heads = [{"W_Q": I2, "W_K": I2, "W_V": I2}, {"W_Q": [[1, 1]], "W_K": I2}]
    told = mistakes({"kind": "multi-head-attention", "X": X, "heads": heads})
    assert "X is 3 × 2 and head 2: W_Q is 1 × 2" in told[0]
    assert told[1] == "head 2: W_V is missing: give the weights W_V, or V itself."
    shared = {"kind": "multi-head-attention", "X": X, "heads": heads[:1] * 3, "kv_heads": [{"W_K": I2, "W_V": I2}] * 2}
    assert "3 heads cannot share 2 kv_heads evenly. Use 1 or 3 kv_heads." in mistakes(shared)
