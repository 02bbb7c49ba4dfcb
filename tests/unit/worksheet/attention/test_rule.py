"""How scores become weights: scale, masks, softmax and division, against plain Python at prime sizes."""

import math
from typing import Any

import numpy as np
import pytest

from clearhead import solve
from clearhead.errors import ProblemError
from clearhead.worksheet.attention.rule import MaskRule, check_scores
from tests.golden.by_hand import attention, softmax, times, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_problems import HEAD, SELF, TOKENS, VALUE, WIDTH, K, Q, V, answer


def test_the_scale_is_the_root_of_the_head_width_by_default() -> None:
    assert_close(answer(), attention(Q, K, V, math.sqrt(HEAD)))
    assert_close(answer(scale="none"), attention(Q, K, V))
    assert_close(answer(scale="sqrt(d_model)"), attention(Q, K, V, math.sqrt(WIDTH)))
    assert_close(answer(scale=2.5), attention(Q, K, V, 2.5))


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
    for mask, expected_allowed in (
        ({"explicit": allowed.astype(int).tolist()}, allowed),
        ({"explicit": allowed.tolist(), "causal": True}, allowed & np.tri(TOKENS, dtype=bool)),
    ):
        scores = times(Q, transpose(K))
        weights = [
            softmax([s / math.sqrt(HEAD) for s in row], ok.tolist())
            for row, ok in zip(scores, expected_allowed, strict=True)
        ]
        assert_close(answer(mask=mask), times(weights, V))


def test_a_query_without_visible_keys_gives_zeros_and_a_warning() -> None:
    sheet = solve(
        SELF | {"mask": {"explicit": [[0] * TOKENS] + [[1] * TOKENS] * (TOKENS - 1)}, "tokens": list("abcde")}
    )
    assert sheet.answer[0].tolist() == [0.0] * VALUE
    assert sheet.value("A")[0].tolist() == [0.0] * TOKENS
    assert sheet.warnings == ("self_attention: 'a' cannot attend to any key, so its weights and its output are zeros.",)
    assert_close(sheet.answer[1:], answer()[1:])


def test_softmax_can_have_another_base() -> None:
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


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_tiny_and_huge_scores_do_not_overflow(size: float) -> None:
    sheet = solve({"kind": "self-attention", "Q": [[size]], "K": [[1], [2]], "V": [[1], [2]], "scale": "none"})
    assert_close(sheet.value("A"), [[0.5, 0.5]] if size < 1 else [[0.0, 1.0]])


@pytest.mark.parametrize(
    ("mask", "allowed"),
    [
        ({}, [[1, 1, 1], [1, 1, 1]]),
        ({"causal": True}, [[1, 1, 0], [1, 1, 1]]),  # two queries of three tokens are the last two
        ({"padding": 1}, [[1, 1, 0], [1, 1, 0]]),
        ({"padding": [0, 1, 1]}, [[0, 1, 1], [0, 1, 1]]),
        ({"explicit": [[0, 1, 1], [1, 1, 0]], "causal": True}, [[0, 1, 0], [1, 1, 0]]),
    ],
)
def test_a_mask_allows_what_all_its_parts_allow(mask: dict[str, Any], allowed: list[list[float]]) -> None:
    rule = MaskRule.model_validate(mask)
    assert rule.is_off is (not mask)
    assert rule.allowed(2, 3, is_transposed=False).tolist() == allowed


def test_an_explicit_mask_is_transposed_where_tokens_are_columns() -> None:
    rule = MaskRule.model_validate({"explicit": [[1, 0], [1, 1], [0, 1]]})
    assert rule.allowed(2, 3, is_transposed=True).tolist() == [[1, 1, 0], [0, 1, 1]]


def test_the_most_scores_are_two_to_the_twenty_fourth() -> None:
    check_scores(2, 2**12, 2**11)
    with pytest.raises(ProblemError, match=r"3 × 4096 × 2048 scores \(heads × queries × keys\) are more than"):
        check_scores(3, 2**12, 2**11)
