"""The attention kinds: self-attention, cross-attention and multi-head attention across two sentences."""

import math

from clearhead import solve
from clearhead.worksheet.kinds.attention import (
    MaskedSelfAttentionProblem,
    MultiHeadAttentionProblem,
    SelfAttentionProblem,
)
from tests.golden.by_hand import attention, times, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_problems import (
    HEAD,
    SELF,
    SOURCE,
    SOURCE_WIDTH,
    VALUE,
    W_Q,
    V,
    X,
    numbers,
    with_tokens_as_columns,
)


def test_cross_attention_takes_other_lengths_and_widths() -> None:
    source = numbers(SOURCE, SOURCE_WIDTH)
    w_k, w_v = numbers(SOURCE_WIDTH, HEAD, seed=8), numbers(SOURCE_WIDTH, VALUE, seed=9)
    data = {"kind": "cross-attention", "W_Q": W_Q, "W_K": w_k, "W_V": w_v}
    expected = attention(times(X, W_Q), times(source, w_k), times(source, w_v), math.sqrt(HEAD))
    assert_close(solve(data | {"Y": X, "X": source}).answer, expected)
    assert_close(solve(data | {"X_D": X, "X_E": source}).answer, expected)
    assert_close(solve(with_tokens_as_columns(data | {"X_D": X, "X_E": source})).answer, transpose(expected))
    multi = solve(data | {"kind": "multi-head-attention", "num_heads": 1, "Y": X, "X": source})
    assert_close(multi.answer, expected)


def test_a_single_token_attends_to_itself() -> None:
    sheet = solve(SELF | {"X": X[:1]})
    assert sheet.value("A").tolist() == [[1.0]]
    assert_close(sheet.answer, V[:1])


def test_only_masked_self_attention_is_causal_by_default() -> None:
    fields = {"Q": [[0], [0]], "K": [[1], [2]], "V": [[4], [8]]}
    # All scores are 0: a token takes the mean of the values that it may see.
    assert solve(SelfAttentionProblem.model_validate(fields)).answer.tolist() == [[6.0], [6.0]]
    assert solve(MaskedSelfAttentionProblem.model_validate(fields)).answer.tolist() == [[4.0], [6.0]]
    unmasked = MaskedSelfAttentionProblem.model_validate(fields | {"mask": "none"})
    assert solve(unmasked).answer.tolist() == [[6.0], [6.0]]


def test_two_heads_each_take_their_own_columns() -> None:
    fields = {"Q": [[0, 0]], "K": [[1, 1], [2, 2]], "V": [[4, 10], [8, 30]], "num_heads": 2, "W_O": [[1, 0], [1, 1]]}
    # The heads give 6 and 20; [6 20] W_O = [26 20].
    assert solve(MultiHeadAttentionProblem.model_validate(fields)).answer.tolist() == [[26.0, 20.0]]
