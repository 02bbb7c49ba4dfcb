"""Attention of a recurrent encoder-decoder against plain Python: every score, and the new state."""

import math
from typing import Any

from clearhead import solve
from clearhead.worksheet.kinds.seq2seq import Seq2SeqAttentionProblem
from tests.golden.by_hand import softmax, times, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_problems import numbers

STATES, WIDTH, STATE, INNER = 5, 3, 2, 7
H, S = numbers(STATES, WIDTH), numbers(STATE, seed=1)
W_H, W_S, V = numbers(INNER, WIDTH, seed=2), numbers(INNER, STATE, seed=3), numbers(INNER, seed=4)


def context_of(scores: list[float]) -> list[float]:
    return times([softmax(scores)], H)[0]


def by_columns(data: dict[str, Any]) -> dict[str, Any]:
    """Tokens as columns: only h is turned, for W hᵢ is written the same way in both layouts."""
    return data | {"layout": "columns", "h": transpose(data["h"])}


def check_recurrent(data: dict[str, Any], expected: list[float]) -> None:
    data = {"kind": "seq2seq-attention", "h": H, "s": S, **data}
    assert_close(solve(data).answer, [expected])
    assert_close(solve(by_columns(data)).answer, transpose([expected]))


def test_additive_scores_and_the_new_state() -> None:
    inner = [
        [
            math.tanh(
                sum(w * x for w, x in zip(W_H[i], h, strict=True)) + sum(w * x for w, x in zip(W_S[i], S, strict=True))
            )
            for i in range(INNER)
        ]
        for h in H
    ]
    context = context_of([sum(v * t for v, t in zip(V, row, strict=True)) for row in inner])
    check_recurrent({"score": "additive", "W_h": W_H, "W_s": W_S, "v": V}, context + S)
    both = [a + b for a, b in zip(W_H, W_S, strict=True)]
    check_recurrent({"score": "additive-concatenated", "W": both, "v": V}, context + S)
    w_c = numbers(STATE, WIDTH + STATE, seed=5)
    state = [math.tanh(sum(w * x for w, x in zip(row, context + S, strict=True))) for row in w_c]
    check_recurrent({"score": "additive", "W_h": W_H, "W_s": W_S, "v": V, "W_c": w_c}, state)


def test_multiplicative_scores_allow_different_widths() -> None:
    w = numbers(STATE, WIDTH, seed=6)
    scores = [sum(S[i] * w[i][j] * h[j] for i in range(STATE) for j in range(WIDTH)) for h in H]
    check_recurrent({"score": "multiplicative", "W": w}, context_of(scores) + S)


def test_scaled_dot_scores_are_divided_by_the_root_of_the_width() -> None:
    s = numbers(WIDTH, seed=7)
    scores = [sum(a * b for a, b in zip(s, h, strict=True)) / math.sqrt(WIDTH) for h in H]
    check_recurrent({"score": "scaled-dot", "s": s}, context_of(scores) + s)


def test_a_state_of_zeros_attends_equally_to_all() -> None:
    problem = Seq2SeqAttentionProblem.model_validate({"h": [[4, 0], [0, 8]], "s": [0, 0]})
    # Scores 0 and 0, weights 1/2 and 1/2, context [2 4], new state [2 4 0 0].
    assert solve(problem).answer.tolist() == [[2.0, 4.0, 0.0, 0.0]]
    assert [record.symbol for record in solve(problem).trace] == ["e", "α", "a", "s′"]
