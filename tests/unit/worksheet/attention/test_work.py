"""A complete attention layer against plain Python: biases, heads, caches, rotary positions, at prime sizes."""

import math
from typing import Any

import numpy as np
import pytest

from clearhead import Rounding, solve
from clearhead.worksheet.attention.layer import AttentionLayer
from clearhead.worksheet.attention.work import TokenSequence, subscript, work_attention
from clearhead.worksheet.pen import Pen
from tests.golden.by_hand import attention, plus, times, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_problems import (
    HEAD,
    TOKENS,
    VALUE,
    WIDTH,
    K,
    Q,
    V,
    X,
    answer,
    numbers,
    with_tokens_as_columns,
)


def test_biases_are_added_to_every_token() -> None:
    b_q, b_k, b_v = numbers(HEAD, seed=4), numbers(HEAD, seed=5), numbers(VALUE, seed=6)
    got = answer(b_Q=b_q, b_K=b_k, b_V=b_v)
    assert_close(got, attention(*(plus(m, [b] * TOKENS) for m, b in ((Q, b_q), (K, b_k), (V, b_v))), math.sqrt(HEAD)))


def test_queries_keys_and_values_can_be_given_directly() -> None:
    assert_close(solve({"kind": "self-attention", "Q": Q, "K": K, "V": V}).answer, answer())


def test_late_causal_queries_are_turned_by_their_late_positions() -> None:
    row = numbers(1, 4)
    base = {"kind": "self-attention", "K": row * 5, "V": X, "mask": "causal", "rotary": {}, "scale": "none"}
    all_queries, last_queries = solve(base | {"Q": row * 5}), solve(base | {"Q": row * 2})
    assert_close(last_queries.answer, all_queries.answer[-2:])


@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize("rotary", [None, {}, {"pairing": "halves", "base": 100}])
def test_a_new_token_with_a_cache_gives_the_last_row_of_the_full_result(heads: int | None, rotary: Any) -> None:
    wide = {"W_Q": numbers(WIDTH, 4, seed=1), "W_K": numbers(WIDTH, 4, seed=2), "W_V": numbers(WIDTH, 6, seed=3)}
    base = {"kind": "masked-self-attention", "rotary": rotary, "num_heads": heads, **wide}
    full_sheet = solve(base | {"X": X})
    keys = full_sheet.trace.find(where="*key", step="rotate" if rotary is not None else "project")
    cached_k = np.hstack([record.value for record in keys])[:-1]
    cached = {"cached_K": cached_k.tolist(), "cached_V": full_sheet.value("V")[:-1].tolist()}
    step = solve(base | {"X": X[-1:], **cached})
    assert_close(step.answer, full_sheet.answer[-1:])
    assert_close(step.value("M"), [[1.0] * TOKENS])


def test_fewer_queries_than_keys_are_the_last_tokens_with_a_note() -> None:
    sheet = solve({"kind": "self-attention", "Q": Q[-2:], "K": K, "V": V, "mask": "causal"})
    assert_close(sheet.answer, attention(Q, K, V, math.sqrt(HEAD), is_causal=True)[-2:])
    assert "treats the queries as the last tokens" in sheet.warnings[0]


def heads_by_hand(w_q: Any, w_k: Any, w_v: Any, groups: list[int], is_causal: bool) -> list[list[float]]:
    parts = [
        attention(times(X, q), times(X, w_k[g]), times(X, w_v[g]), math.sqrt(HEAD), is_causal)
        for q, g in zip(w_q, groups, strict=True)
    ]
    return [[x for part in parts for x in part[t]] for t in range(TOKENS)]


@pytest.mark.parametrize(("num_heads", "num_kv"), [(2, 2), (6, 3), (4, 1)], ids=["all", "grouped", "multi-query"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_split_heads_and_heads_with_separate_weights_agree_with_plain_python(
    num_heads: int, num_kv: int, is_causal: bool
) -> None:
    w_q = [numbers(WIDTH, HEAD, seed=10 + h) for h in range(num_heads)]
    w_k = [numbers(WIDTH, HEAD, seed=20 + h) for h in range(num_kv)]
    w_v = [numbers(WIDTH, VALUE, seed=30 + h) for h in range(num_kv)]
    w_o, b_o = numbers(num_heads * VALUE, WIDTH, seed=40), numbers(WIDTH, seed=41)
    groups = [h * num_kv // num_heads for h in range(num_heads)]
    joined = heads_by_hand(w_q, w_k, w_v, groups, is_causal)
    expected = plus(times(joined, w_o), [b_o] * TOKENS)
    shared = {"kind": "multi-head-attention", "X": X, "W_O": w_o, "b_O": b_o, "mask": "causal" if is_causal else "none"}
    side_by_side = {name: np.hstack(parts).tolist() for name, parts in (("W_Q", w_q), ("W_K", w_k), ("W_V", w_v))}
    split = shared | side_by_side | {"num_heads": num_heads, "num_kv_heads": num_kv}
    if num_kv == num_heads:
        own = shared | {"heads": [{"W_Q": q, "W_K": k, "W_V": v} for q, k, v in zip(w_q, w_k, w_v, strict=True)]}
    else:
        pairs = [{"W_K": k, "W_V": v} for k, v in zip(w_k, w_v, strict=True)]
        own = shared | {"heads": [{"W_Q": q} for q in w_q], "kv_heads": pairs}
    for problem in (split, own):
        assert_close(solve(problem).answer, expected)
        assert_close(solve(with_tokens_as_columns(problem)).answer, transpose(expected))


def test_rotary_scores_depend_only_on_the_distance() -> None:
    row = numbers(1, 4)
    sheet = solve({"kind": "self-attention", "Q": row * 5, "K": row * 5, "V": X, "rotary": {}, "scale": "none"})
    scores = sheet.value("S")
    for distance in range(5):
        assert_close(np.diag(scores, distance), [scores[0, distance]] * (5 - distance))
        assert_close(np.diag(scores, -distance), [scores[0, distance]] * (5 - distance))


def test_every_step_of_a_layer_is_written_in_order() -> None:
    pen = Pen("rows", Rounding())
    tokens = TokenSequence(pen.give("X", np.array([[1.0, 0.0], [1.0, 1.0]])))
    fields = {name: np.eye(2) for name in ("W_Q", "W_K", "W_V")}
    layer = AttentionLayer.model_validate(fields | {"scale": "none", "normaliser": "division"})
    # Scores 1, 1 and 1, 2; divided by their sums 2 and 3; then rows of X by these weights.
    assert_close(work_attention(pen, layer, tokens, tokens), [[1, 1 / 2], [1, 2 / 3]])
    assert [record.step.name for record in pen.finish()] == ["project"] * 3 + ["score", "divide", "mix"]


def test_a_subscript_has_every_digit() -> None:
    assert subscript(1205) == "₁₂₀₅"
