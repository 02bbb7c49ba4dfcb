"""Attention layers that do not fit are refused, each mistake named."""

from typing import Any

import pytest

from clearhead import solve
from clearhead.errors import ProblemError
from clearhead.worksheet.attention.layer import AttentionLayer
from clearhead.worksheet.attention.validation import SequenceShape, attention_mistakes
from clearhead.worksheet.shapes import Shapes

X = [[1, 2], [3, 4], [5, 6]]
I2 = [[1, 0], [0, 1]]
SELF = {"kind": "self-attention", "X": X, "W_Q": I2, "W_K": I2, "W_V": I2}
MULTI = SELF | {"kind": "multi-head-attention"}


def mistakes(data: Any) -> list[str]:
    with pytest.raises(ProblemError) as wrong:
        solve(data)
    return list(wrong.value.mistakes)


def test_heads_of_unequal_length_are_reported() -> None:
    first = {"W_Q": I2, "W_K": I2, "W_V": I2, "cached_K": [[1, 1]], "cached_V": [[1, 1]]}
    sentences = mistakes({"kind": "multi-head-attention", "X": X, "heads": [first, {"W_Q": I2, "W_K": I2, "W_V": I2}]})
    assert sentences == [
        "head 2: it has 3 queries and 3 keys, but head 1 has 3 and 4. Give every head the same numbers."
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({}, "multi-head-attention needs heads: give num_heads, or heads with the weights of each head."),
        ({"num_heads": 3}, "num_heads = 3 does not divide the width 2 of Q. Use 1 or 2 heads."),
        ({"num_heads": 2, "num_kv_heads": 3}, "num_kv_heads = 3 does not divide num_heads = 2. Use 1 or 2 key/value heads."),
        ({"heads": [{"W_Q": I2, "W_K": I2, "W_V": I2}]}, "both heads and W_Q are given. Move W_Q into each head, or use num_heads."),
        ({"num_heads": 2, "Y": X, "X": None, "Q": None}, "Y is given without X. Give X: the keys and values are computed from it."),
    ],
)  # fmt: skip
def test_heads_that_do_not_fit_are_named(change: dict[str, Any], sentence: str) -> None:
    assert sentence in mistakes(MULTI | change)


def test_heads_with_separate_weights_are_checked_one_by_one() -> None:
    heads = [{"W_Q": I2, "W_K": I2, "W_V": I2}, {"W_Q": [[1, 1]], "W_K": I2}]
    sentences = mistakes({"kind": "multi-head-attention", "X": X, "heads": heads})
    assert "X is 3 × 2 and head 2: W_Q is 1 × 2" in sentences[0]
    assert sentences[1] == "head 2: W_V is missing: give the weights W_V, or the matrix V."
    shared = {"kind": "multi-head-attention", "X": X, "heads": heads[:1] * 3, "kv_heads": [{"W_K": I2, "W_V": I2}] * 2}
    assert "3 heads cannot be divided evenly among 2 kv_heads. Use 1 or 3 kv_heads." in mistakes(shared)


def test_the_shape_of_tokens_is_that_on_paper() -> None:
    tokens = SequenceShape("X", count=5, width=3)
    for layout, shape in (("rows", (5, 3)), ("columns", (3, 5))):
        matrix = tokens.on_paper(Shapes(layout))
        assert matrix is not None
        assert matrix.shape == shape
    assert SequenceShape("X", 5, 3, is_computed=True).on_paper(Shapes("rows")) is None


@pytest.mark.parametrize(
    ("change", "sentences"),
    [
        ({}, []),
        ({"W_K": I2}, ["X is 5 × 3 and W_K is 2 × 2, so X W_K cannot be multiplied. Give W_K 3 rows, or X 2 columns."]),
        ({"b_V": [1]}, ["b_V has 1 number, but W_V is 3 × 7. Give b_V 7 numbers."]),
        (
            {"kv_heads": [{"W_K": I2}]},
            ["kv_heads needs heads. Give heads too, or use num_heads with num_kv_heads."],
        ),
    ],
)
def test_a_layer_is_checked_against_its_tokens(change: dict[str, Any], sentences: list[str]) -> None:
    fields = {"W_Q": [[1, 0]] * 3, "W_K": [[0, 1]] * 3, "W_V": [[1] * 7] * 3}
    shapes, tokens = Shapes("rows"), SequenceShape("X", 5, 3)
    attention_mistakes(shapes, AttentionLayer.model_validate(fields | change), tokens, tokens)
    assert [mistake.sentence for mistake in shapes.mistakes][: len(sentences)] == sentences
    assert bool(shapes.mistakes) is bool(sentences)
