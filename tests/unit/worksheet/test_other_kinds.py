"""Recurrent attention, positions, context, norms and blocks against plain Python."""

import math
from typing import Any

import numpy as np
import pytest

from clearhead import solve
from tests.golden.by_hand import attention, normalised, plus, sinusoid, softmax, times, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.test_attention_options import numbers, turned

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


def test_multiplicative_scores_let_the_widths_differ() -> None:
    w = numbers(STATE, WIDTH, seed=6)
    scores = [sum(S[i] * w[i][j] * h[j] for i in range(STATE) for j in range(WIDTH)) for h in H]
    check_recurrent({"score": "multiplicative", "W": w}, context_of(scores) + S)


def test_scaled_dot_scores_are_divided_by_the_root_of_the_width() -> None:
    s = numbers(WIDTH, seed=7)
    scores = [sum(a * b for a, b in zip(s, h, strict=True)) / math.sqrt(WIDTH) for h in H]
    check_recurrent({"score": "scaled-dot", "s": s}, context_of(scores) + s)


@pytest.mark.parametrize("is_variant", [False, True])
def test_sinusoidal_positions_by_both_formulas(is_variant: bool) -> None:
    formula = "sinusoidal-odd-exponent" if is_variant else "sinusoidal"
    data = {"kind": "positions", "formula": formula, "positions": 5, "d_model": 7}
    expected = [[sinusoid(pos, dim, 7, is_variant) for dim in range(7)] for pos in range(5)]
    assert_close(solve(data).answer, expected)
    assert_close(solve(data | {"positions": [3], "dimensions": [3]}).answer, [[expected[3][3]]])
    assert_close(solve(data | {"layout": "columns"}).answer, transpose(expected))


def test_one_hot_and_counted_positions() -> None:
    assert (
        solve({"kind": "positions", "formula": "one-hot", "positions": 3, "d_model": 3}).answer.tolist()
        == np.eye(3).tolist()
    )
    counted = solve({"kind": "positions", "formula": "count", "X": [[0.5, 0.25], [0.5, 0.25]]})
    assert counted.answer.tolist() == [[0.5, 0.25], [1.5, 1.25]]


def test_learned_positions_are_looked_up_and_added_to_looked_up_words() -> None:
    data = {
        "kind": "positions",
        "formula": "learned",
        "tokens": ["is", "he"],
        "embedding": {"he": [1, 2], "is": [3, 4]},
        "P": [[0.5, 0], [0, 0.25], [9, 9]],
    }
    assert solve(data).answer.tolist() == [[3.5, 4.0], [1.0, 2.25]]
    turned_over = data | {"layout": "columns", "P": [[0.5, 0, 9], [0, 0.25, 9]]}
    assert solve(turned_over).answer.tolist() == [[3.5, 1.0], [4.0, 2.25]]
    assert solve(data | {"positions": [1, 0]}).answer.tolist() == [[3.0, 4.25], [1.5, 2.0]]


@pytest.mark.parametrize("pairing", ["neighbours", "halves"])
def test_rotary_positions_turn_each_pair_by_its_angle(pairing: str) -> None:
    x = numbers(3, 4)
    pairs = [(0, 1), (2, 3)] if pairing == "neighbours" else [(0, 2), (1, 3)]
    expected = [[0.0] * 4 for _ in x]
    for pos, row in enumerate(x):
        for i, (a, b) in enumerate(pairs):
            angle = pos / 10000 ** (2 * i / 4)
            expected[pos][a] = row[a] * math.cos(angle) - row[b] * math.sin(angle)
            expected[pos][b] = row[a] * math.sin(angle) + row[b] * math.cos(angle)
    assert_close(solve({"kind": "positions", "formula": "rotary", "X": x, "pairing": pairing}).answer, expected)


def test_context_by_nearness_in_time() -> None:
    times_, x = [0.0, 1.0, 2.5], [[2.0], [4.0], [3.0]]
    rows = [[math.exp(-((tj - ti) ** 2) / 2) for tj in times_] for ti in times_]
    weights = [[w / math.fsum(row) for w in row] for row in rows]
    sheet = solve({"kind": "context", "times": times_, "X": x})
    assert_close(sheet.value("W̃"), [[w / math.sqrt(2 * math.pi) for w in row] for row in rows])
    assert_close(sheet.answer, times(weights, x))


def test_context_from_dot_products_with_and_without_a_normaliser() -> None:
    x = [[1.0, 2.0], [3.0, 1.0]]
    # Dot products 5, 5, 5, 10.
    raw = solve({"kind": "context", "X": x, "normaliser": "none"})
    assert raw.answer.tolist() == [[5 * 1 + 5 * 3, 5 * 2 + 5 * 1], [5 * 1 + 10 * 3, 5 * 2 + 10 * 1]]
    shares = solve({"kind": "context", "X": x, "normaliser": "division"})
    assert_close(shares.answer, times([[0.5, 0.5], [1 / 3, 2 / 3]], x))
    masked = solve({"kind": "context", "X": x, "normaliser": "none", "mask": "causal"})
    assert masked.answer[0].tolist() == [5.0, 10.0]


@pytest.mark.parametrize("place", ["inside", "outside"])
def test_each_norm_with_gain_shift_and_epsilon_in_either_place(place: str) -> None:
    x, gain, shift, epsilon = numbers(5, 3), numbers(3, seed=8), numbers(3, seed=9), 0.25
    y = numbers(5, 3, seed=10)
    summed = plus(x, y)

    def norm(group: list[float]) -> list[float]:
        if place == "inside":
            return normalised(group, epsilon)
        mean = math.fsum(group) / len(group)
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in group) / len(group))
        return [(v - mean) / (deviation + epsilon) for v in group]

    flat = norm([v for row in summed for v in row])
    expected = {
        "layer": [norm(row) for row in summed],
        "batch": transpose([norm(column) for column in transpose(summed)]),
        "all": [flat[i * 3 : i * 3 + 3] for i in range(5)],
    }
    for kind, values in expected.items():
        data = {"kind": "add-and-norm", "X": x, "Y": y, "norm": kind, "epsilon": epsilon, "epsilon_place": place}
        data |= {"gain": gain, "shift": shift}
        wanted = [[g * v + s for g, v, s in zip(gain, row, shift, strict=True)] for row in values]
        assert_close(solve(data).answer, wanted)
        assert_close(solve(turned(data)).answer, transpose(wanted))


def test_padding_counts_in_a_norm_or_does_not() -> None:
    x = [[1.0, 2.0], [3.0, 6.0], [0.0, 0.0]]
    data = {"kind": "add-and-norm", "X": x, "norm": "all", "padding": 1}
    assert_close(solve(data).value("μ"), [[3.0]])
    assert_close(solve(data | {"count_padding": True}).value("μ"), [[2.0]])
    assert_close(solve(data | {"norm": "batch"}).value("μ"), [[2.0, 4.0]])


def test_zero_variance_is_no_trouble_with_an_epsilon() -> None:
    assert solve({"kind": "add-and-norm", "X": [[3, 3]]}).answer.tolist() == [[0.0, 0.0]]


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
