"""Encoder and decoder blocks against plain Python, with norms before or after, and with a cache."""

from typing import Any

import pytest

from clearhead import solve
from clearhead.worksheet.kinds.blocks import DecoderBlockProblem, EncoderBlockProblem, FeedForwardProblem
from tests.golden.by_hand import plus, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_models import (
    TOKENS,
    WIDTH,
    Matrix,
    attend,
    network,
    norm,
    random_attention,
    random_network,
)
from tests.unit.worksheet.random_problems import numbers, with_tokens_as_columns


@pytest.mark.parametrize("place", ["post", "pre"])
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_blocks_with_norms_before_or_after(place: str, layout: str) -> None:
    x, memory = numbers(TOKENS, WIDTH), numbers(2, 11)
    one, two, three = random_attention(WIDTH, 10), random_attention(WIDTH, 20, 11), random_network(WIDTH, 30)

    def residual(x: Matrix, sublayer: Any) -> Matrix:
        return plus(x, sublayer(norm(x))) if place == "pre" else norm(plus(x, sublayer(x)))

    after = residual(x, lambda h: attend(h, h, one))
    encoder = residual(after, lambda h: network(h, three))
    data: dict[str, Any] = {"kind": "encoder-block", "X": x, "self_attention": one, "feed_forward": three}
    data["norm_place"] = place
    decoded = residual(x, lambda h: attend(h, h, one, is_causal=True))
    decoded = residual(decoded, lambda h: attend(h, memory, two))
    decoded = residual(decoded, lambda h: network(h, three))
    other = data | {"kind": "decoder-block", "cross_attention": two, "memory": memory}
    if layout == "columns":
        assert_close(solve(with_tokens_as_columns(data)).answer, transpose(encoder))
        assert_close(solve(with_tokens_as_columns(other)).answer, transpose(decoded))
    else:
        assert_close(solve(data).answer, encoder)
        assert_close(solve(other).answer, decoded)


def test_a_block_with_a_cache_is_drawn_without_names_for_the_cached() -> None:
    layer = {"W_Q": [[1]], "W_K": [[1]], "W_V": [[1]], "cached_K": [[1]], "cached_V": [[1]]}
    sheet = solve({"kind": "encoder-block", "X": [[1]], "tokens": ["x"], "self_attention": layer, "norm": "none"})
    assert "2 × 1" in sheet.to_html()


ONE = {"W_Q": [[1, 0], [0, 1]], "W_K": [[1, 0], [0, 1]]}


def test_a_lone_token_takes_its_own_value_in_every_block() -> None:
    double, same = ONE | {"W_V": [[2, 0], [0, 2]]}, ONE | {"W_V": [[1, 0], [0, 1]]}
    encoder = {"X": [[1, 2]], "self_attention": double, "norm": "none"}
    # [1 2] attends to itself alone and gets twice itself added; the decoder then adds the one row of memory.
    assert solve(EncoderBlockProblem.model_validate(encoder)).answer.tolist() == [[3.0, 6.0]]
    decoder = encoder | {"cross_attention": same, "memory": [[1, 1]]}
    assert solve(DecoderBlockProblem.model_validate(decoder)).answer.tolist() == [[4.0, 7.0]]


def test_a_feed_forward_network_takes_every_token_alike() -> None:
    fields = {"X": [[1], [-1], [3]], "W_1": [[2]], "W_2": [[5]]}
    assert solve(FeedForwardProblem.model_validate(fields)).answer.tolist() == [[10.0], [0.0], [30.0]]
