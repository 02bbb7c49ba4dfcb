"""The attention kinds: self-attention, cross-attention and multi-head attention across two sentences."""

import math

from clearhead import solve
from tests.golden.by_hand import attention, times, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_problems import HEAD, SELF, SOURCE, SOURCE_WIDTH, VALUE, W_Q, V, X, numbers, turned


def test_cross_attention_takes_other_lengths_and_widths() -> None:
    source = numbers(SOURCE, SOURCE_WIDTH)
    w_k, w_v = numbers(SOURCE_WIDTH, HEAD, seed=8), numbers(SOURCE_WIDTH, VALUE, seed=9)
    data = {"kind": "cross-attention", "W_Q": W_Q, "W_K": w_k, "W_V": w_v}
    expected = attention(times(X, W_Q), times(source, w_k), times(source, w_v), math.sqrt(HEAD))
    assert_close(solve(data | {"Y": X, "X": source}).answer, expected)
    assert_close(solve(data | {"X_D": X, "X_E": source}).answer, expected)
    assert_close(solve(turned(data | {"X_D": X, "X_E": source})).answer, transpose(expected))
    multi = solve(data | {"kind": "multi-head-attention", "num_heads": 1, "Y": X, "X": source})
    assert_close(multi.answer, expected)


def test_a_single_token_attends_to_itself() -> None:
    sheet = solve(SELF | {"X": X[:1]})
    assert sheet.value("A").tolist() == [[1.0]]
    assert_close(sheet.answer, V[:1])
