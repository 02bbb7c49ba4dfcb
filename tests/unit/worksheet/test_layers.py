"""The blocks of a Transformer against plain Python, with norms before or after."""

import math

import pytest

from clearhead import solve
from clearhead.worksheet.attention.layer import AttentionLayer
from clearhead.worksheet.attention.validation import SequenceShape
from clearhead.worksheet.feed_forward import FeedForwardLayer
from clearhead.worksheet.layers import EncoderLayer, MaskedAttentionLayer, check_attention, check_feed_forward
from clearhead.worksheet.shapes import Shapes
from tests.golden.by_hand import attention, normalised, plus, times, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_problems import numbers, with_tokens_as_columns


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_a_decoder_block_is_its_parts_one_after_the_other(layout: str) -> None:
    x, memory = numbers(3, 2), numbers(5, 7)
    self_w = {name: numbers(2, 2, seed=i) for i, name in enumerate(("W_Q", "W_K", "W_V"))}
    cross_w = {"W_Q": numbers(2, 2, seed=5), "W_K": numbers(7, 2, seed=6), "W_V": numbers(7, 2, seed=7)}
    data = {"kind": "decoder-block", "X": x, "memory": memory, "self_attention": self_w, "cross_attention": cross_w}
    q, k, v = (times(x, self_w[name]) for name in ("W_Q", "W_K", "W_V"))
    middle = [normalised(row, 1e-5) for row in plus(x, attention(q, k, v, math.sqrt(2), is_causal=True))]
    q, k, v = times(middle, cross_w["W_Q"]), times(memory, cross_w["W_K"]), times(memory, cross_w["W_V"])
    expected = [normalised(row, 1e-5) for row in plus(middle, attention(q, k, v, math.sqrt(2)))]
    if layout == "columns":
        data, expected = with_tokens_as_columns(data), transpose(expected)
    assert_close(solve(data).answer, expected)


I2 = [[1, 0], [0, 1]]
SELF = {"W_Q": I2, "W_K": I2, "W_V": I2}


def test_each_residual_has_its_own_norm_or_all_share_one() -> None:
    shared = EncoderLayer.model_validate({"self_attention": SELF, "norm": "rms"})
    assert [shared.norm_of(number).norm for number in range(2)] == ["rms", "rms"]
    own = EncoderLayer.model_validate({"self_attention": SELF, "norms": ["batch", {"norm": "none"}]})
    assert [own.norm_of(number).norm for number in range(2)] == ["batch", "none"]


def test_the_masked_layer_is_causal_by_default() -> None:
    assert MaskedAttentionLayer.model_validate(SELF).mask.causal
    assert MaskedAttentionLayer.model_validate(SELF | {"mask": "none"}).mask.is_off


def test_what_a_residual_adds_must_be_as_wide_as_what_went_in() -> None:
    shapes, tokens = Shapes("rows"), SequenceShape("X", 5, 2)
    layer = AttentionLayer.model_validate(SELF | {"W_O": [[1, 0, 1]] * 2})
    check_attention(shapes, "self_attention", layer, tokens, tokens)
    check_feed_forward(shapes, FeedForwardLayer.model_validate({"W_1": I2, "W_2": [[1], [1]]}), 5, 2)
    check_feed_forward(shapes, None, 5, 2)
    assert [mistake.sentence for mistake in shapes.mistakes] == [
        "self_attention: the output vectors are 3 wide, but the residual adds them to vectors that are 2 wide. "
        "Change W_V or W_O.",
        "feed_forward: the output vectors are 1 wide, but the residual adds them to vectors that are 2 wide. Change W_2.",
    ]
