"""Recurrent networks against plain Python: a plain cell, and an LSTM."""

import math
from typing import Any

from clearhead import solve
from clearhead.worksheet.kinds.recurrent import RecurrentProblem
from tests.golden.by_hand import times, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_models import TOKENS, WIDTH, Matrix
from tests.unit.worksheet.random_problems import numbers


def lstm_by_hand(x: Matrix, gates: dict[str, Any], h: list[float], c: list[float]) -> list[float]:
    for row in x:
        z = {}
        for name, gate in gates.items():
            from_input, from_state = (times(m, transpose([v])) for m, v in ((gate["W"], row), (gate["U"], h)))
            z[name] = [a[0] + b[0] + bias for a, b, bias in zip(from_input, from_state, gate["b"], strict=True)]
        f, i, o = ([1 / (1 + math.exp(-v)) for v in z[name]] for name in ("forget", "input", "output"))
        g = [math.tanh(v) for v in z["candidate"]]
        c = [ff * cc + ii * gg for ff, cc, ii, gg in zip(f, c, i, g, strict=True)]
        h = [oo * math.tanh(cc) for oo, cc in zip(o, c, strict=True)]
    return h


def test_recurrent_networks_read_in_order() -> None:
    x, h = numbers(TOKENS, WIDTH), numbers(2, seed=3)
    gates = {
        name: {"W": numbers(2, WIDTH, seed=n), "U": numbers(2, 2, seed=n + 9), "b": numbers(2, seed=n + 18)}
        for n, name in enumerate(("forget", "input", "candidate", "output"))
    }
    data = {"kind": "recurrent", "X": x, "lstm": gates, "h0": h, "c0": [0.5, -0.25]}
    expected = lstm_by_hand(x, gates, h, [0.5, -0.25])
    assert_close(solve(data).answer, [expected])
    assert_close(solve(data | {"layout": "columns", "X": transpose(x)}).answer, transpose([expected]))
    state = h
    cell = gates["input"]
    for row in x:
        state = [
            math.tanh(
                sum(a * b for a, b in zip(w, row, strict=True))
                + sum(a * b for a, b in zip(u, state, strict=True))
                + bias
            )
            for w, u, bias in zip(cell["W"], cell["U"], cell["b"], strict=True)
        ]
    assert_close(solve({"kind": "recurrent", "X": x, "cell": cell, "h0": h}).answer, [state])


def test_a_cell_without_weights_forgets_its_state() -> None:
    fields = {"X": [[3], [5]], "cell": {"W": [[0]], "U": [[0]]}, "h0": [7]}
    sheet = solve(RecurrentProblem.model_validate(fields))
    assert sheet.value("h₁").tolist() == [[0.0]]
    assert sheet.answer.tolist() == [[0.0]]
