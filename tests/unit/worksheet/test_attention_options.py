"""Every option of the attention kinds against plain Python, at sizes that are distinct primes."""

import math
from typing import Any

import numpy as np
import pytest

from clearhead import solve
from tests.golden.by_hand import attention, plus, softmax, times, transpose
from tests.tolerances import assert_close

TOKENS, WIDTH, HEAD, VALUE, SOURCE, SOURCE_WIDTH = 5, 3, 2, 7, 11, 13


def numbers(*shape: int, seed: int = 0) -> list[Any]:
    values: list[Any] = np.random.default_rng([seed, *shape]).normal(size=shape).round(3).tolist()
    return values


X = numbers(TOKENS, WIDTH)
W_Q, W_K, W_V = numbers(WIDTH, HEAD, seed=1), numbers(WIDTH, HEAD, seed=2), numbers(WIDTH, VALUE, seed=3)
SELF = {"kind": "self-attention", "X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V}
Q, K, V = times(X, W_Q), times(X, W_K), times(X, W_V)


def answer(**changes: Any) -> np.ndarray:
    return solve(SELF | changes).answer


def turned(problem: dict[str, Any]) -> dict[str, Any]:
    """Return the problem with every matrix transposed, for tokens as columns."""

    def turn(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turn(each) for key, each in value.items()}
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return [turn(each) for each in value]
        return transpose(value) if isinstance(value, list) and isinstance(value[0], list) else value

    return {key: turn(value) for key, value in problem.items()} | {"layout": "columns"}


def test_the_scale_is_the_root_of_the_head_width_unless_said() -> None:
    assert_close(answer(), attention(Q, K, V, math.sqrt(HEAD)))
    assert_close(answer(scale="none"), attention(Q, K, V))
    assert_close(answer(scale="sqrt(d_model)"), attention(Q, K, V, math.sqrt(WIDTH)))
    assert_close(answer(scale=2.5), attention(Q, K, V, 2.5))


def test_biases_are_added_to_every_token() -> None:
    b_q, b_k, b_v = numbers(HEAD, seed=4), numbers(HEAD, seed=5), numbers(VALUE, seed=6)
    got = answer(b_Q=b_q, b_K=b_k, b_V=b_v)
    assert_close(got, attention(*(plus(m, [b] * TOKENS) for m, b in ((Q, b_q), (K, b_k), (V, b_v))), math.sqrt(HEAD)))


def test_queries_keys_and_values_may_be_given_themselves() -> None:
    assert_close(solve({"kind": "self-attention", "Q": Q, "K": K, "V": V}).answer, answer())


def test_a_causal_mask_hides_what_comes_later() -> None:
    expected = attention(Q, K, V, math.sqrt(HEAD), is_causal=True)
    assert_close(answer(mask="causal"), expected)
    assert_close(solve(SELF | {"kind": "masked-self-attention"}).answer, expected)


def test_padding_hides_the_last_keys() -> None:
    expected = attention(Q, K[:3], V[:3], math.sqrt(HEAD))
    assert_close(answer(mask={"padding": 2}), expected)
    assert_close(answer(mask={"padding": [1, 1, 1, 0, 0]}), expected)


def test_an_explicit_mask_is_used_as_it_is_and_with_the_others() -> None:
    allowed = np.random.default_rng(7).random((TOKENS, TOKENS)) < 0.6
    allowed[:, 0] = True
    for mask, seen in (
        ({"explicit": allowed.astype(int).tolist()}, allowed),
        ({"explicit": allowed.tolist(), "causal": True}, allowed & np.tri(TOKENS, dtype=bool)),
    ):
        scores = times(Q, transpose(K))
        weights = [
            softmax([s / math.sqrt(HEAD) for s in row], ok.tolist()) for row, ok in zip(scores, seen, strict=True)
        ]
        assert_close(answer(mask=mask), times(weights, V))


def test_a_query_that_may_see_no_key_gives_zeros_and_a_warning() -> None:
    sheet = solve(
        SELF | {"mask": {"explicit": [[0] * TOKENS] + [[1] * TOKENS] * (TOKENS - 1)}, "tokens": list("abcde")}
    )
    assert sheet.answer[0].tolist() == [0.0] * VALUE
    assert sheet.value("A")[0].tolist() == [0.0] * TOKENS
    assert sheet.warnings == ("self_attention: 'a' may see no key at all, so its weights and its output are zeros.",)
    assert_close(sheet.answer[1:], answer()[1:])


def test_softmax_may_have_another_base() -> None:
    scores = [[s / math.sqrt(HEAD) for s in row] for row in times(Q, transpose(K))]
    powers = [[2.0**s for s in row] for row in scores]
    weights = [[p / math.fsum(row) for p in row] for row in powers]
    assert_close(answer(base=2), times(weights, V))


@pytest.mark.parametrize("mask", ["none", "causal"])
def test_a_base_below_one_turns_the_order_of_the_weights_round(mask: str) -> None:
    data = {
        "kind": "self-attention",
        "Q": [[100], [-50]],
        "K": [[100], [1]],
        "V": [[1], [2]],
        "scale": "none",
        "base": 0.5,
    }
    assert_close(solve(data | {"mask": mask}).value("A"), [[1, 0], [1, 0]] if mask == "causal" else [[0, 1], [1, 0]])


def test_late_causal_queries_are_turned_by_their_late_positions() -> None:
    row = numbers(1, 4)
    base = {"kind": "self-attention", "K": row * 5, "V": X, "mask": "causal", "rotary": {}, "scale": "none"}
    whole, last = solve(base | {"Q": row * 5}), solve(base | {"Q": row * 2})
    assert_close(last.answer, whole.answer[-2:])


def test_division_by_the_sum_needs_no_exponential() -> None:
    data = {"kind": "self-attention", "Q": [[1, 2]], "K": [[2, 1], [1, 1], [0, 3]], "V": [[1, 0], [0, 1], [5, 5]]}
    # Scores 4, 3, 6 sum to 13; masked to the first two, 4 and 3 sum to 7.
    plain = solve(data | {"scale": "none", "normaliser": "division"})
    assert_close(plain.value("A"), [[4 / 13, 3 / 13, 6 / 13]])
    masked = solve(data | {"scale": "none", "normaliser": "division", "mask": {"padding": 1}})
    assert_close(masked.value("A"), [[4 / 7, 3 / 7, 0]])


def test_negative_scores_divided_by_their_sum_are_warned_of() -> None:
    sheet = solve({"kind": "self-attention", "Q": [[1]], "K": [[3], [-1]], "V": [[1], [2]], "normaliser": "division"})
    assert "some scores are negative" in sheet.warnings[0]


@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize("rotary", [None, {}, {"pairing": "halves", "base": 100}])
def test_one_more_token_against_a_cache_is_the_last_row_of_the_whole(heads: int | None, rotary: Any) -> None:
    wide = {"W_Q": numbers(WIDTH, 4, seed=1), "W_K": numbers(WIDTH, 4, seed=2), "W_V": numbers(WIDTH, 6, seed=3)}
    base = {"kind": "masked-self-attention", "rotary": rotary, "num_heads": heads, **wide}
    whole = solve(base | {"X": X})
    keys = whole.trace.find(where="*key", step="rotate" if rotary is not None else "project")
    cached_k = np.hstack([record.value for record in keys])[:-1]
    cached = {"cached_K": cached_k.tolist(), "cached_V": whole.value("V")[:-1].tolist()}
    step = solve(base | {"X": X[-1:], **cached})
    assert_close(step.answer, whole.answer[-1:])
    assert_close(step.value("M"), [[1.0] * TOKENS])


def test_fewer_queries_than_keys_are_the_last_tokens_and_it_is_said() -> None:
    sheet = solve({"kind": "self-attention", "Q": Q[-2:], "K": K, "V": V, "mask": "causal"})
    assert_close(sheet.answer, attention(Q, K, V, math.sqrt(HEAD), is_causal=True)[-2:])
    assert "takes the queries as the last tokens" in sheet.warnings[0]


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


def heads_by_hand(w_q: Any, w_k: Any, w_v: Any, groups: list[int], is_causal: bool) -> list[list[float]]:
    parts = [
        attention(times(X, q), times(X, w_k[g]), times(X, w_v[g]), math.sqrt(HEAD), is_causal)
        for q, g in zip(w_q, groups, strict=True)
    ]
    return [[x for part in parts for x in part[t]] for t in range(TOKENS)]


@pytest.mark.parametrize(("num_heads", "num_kv"), [(2, 2), (6, 3), (4, 1)], ids=["all", "grouped", "multi-query"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_heads_by_splitting_and_heads_of_their_own_agree_with_plain_python(
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
    whole = {name: np.hstack(parts).tolist() for name, parts in (("W_Q", w_q), ("W_K", w_k), ("W_V", w_v))}
    split = shared | whole | {"num_heads": num_heads, "num_kv_heads": num_kv}
    if num_kv == num_heads:
        own = shared | {"heads": [{"W_Q": q, "W_K": k, "W_V": v} for q, k, v in zip(w_q, w_k, w_v, strict=True)]}
    else:
        pairs = [{"W_K": k, "W_V": v} for k, v in zip(w_k, w_v, strict=True)]
        own = shared | {"heads": [{"W_Q": q} for q in w_q], "kv_heads": pairs}
    for problem in (split, own):
        assert_close(solve(problem).answer, expected)
        assert_close(solve(turned(problem)).answer, transpose(expected))


def test_rotary_scores_depend_only_on_the_distance() -> None:
    row = numbers(1, 4)
    sheet = solve({"kind": "self-attention", "Q": row * 5, "K": row * 5, "V": X, "rotary": {}, "scale": "none"})
    scores = sheet.value("S")
    for distance in range(5):
        assert_close(np.diag(scores, distance), [scores[0, distance]] * (5 - distance))
        assert_close(np.diag(scores, -distance), [scores[0, distance]] * (5 - distance))


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_tiny_and_huge_scores_do_not_overflow(size: float) -> None:
    sheet = solve({"kind": "self-attention", "Q": [[size]], "K": [[1], [2]], "V": [[1], [2]], "scale": "none"})
    assert_close(sheet.value("A"), [[0.5, 0.5]] if size < 1 else [[0.0, 1.0]])


def test_a_single_token_attends_to_itself() -> None:
    sheet = solve(SELF | {"X": X[:1]})
    assert sheet.value("A").tolist() == [[1.0]]
    assert_close(sheet.answer, V[:1])
