"""The blocks of a Transformer against plain Python, with norms before or after."""

import math

import pytest

from clearhead import solve
from tests.golden.by_hand import attention, normalised, plus, times, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_problems import numbers, turned


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
        data, expected = turned(data), transpose(expected)
    assert_close(solve(data).answer, expected)
