"""A GRU against plain Python and against numbers worked by hand: both places of the reset gate, both update rules."""

import math
from itertools import product
from typing import Any

import pytest

from clearhead import solve
from clearhead.errors import ProblemError
from clearhead.worksheet.recurrent_cells import GruGates, LstmGates
from tests.conftest import ROOT
from tests.golden.by_hand import times, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_models import TOKENS, WIDTH, Matrix
from tests.unit.worksheet.random_problems import numbers

Row = list[float]
STATE = 2
GATES = tuple(GruGates.letters)
RULES = list(product(("before", "after"), ("keep", "replace")))
EXAMPLE = str(ROOT / "examples" / "gru.yaml")


def on_the_left(matrix: Matrix, vector: Row, bias: Row) -> Row:
    return [row[0] + number for row, number in zip(times(matrix, transpose([vector])), bias, strict=True)]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def gru_by_hand(x: Matrix, gates: dict[str, Any], h: Row, reset: str, update: str) -> Row:
    for token in x:
        from_input = {name: on_the_left(gate["W"], token, gate["b"]) for name, gate in gates.items()}
        from_state = {name: on_the_left(gate["U"], h, gate["c"]) for name, gate in gates.items()}
        r, z = (
            [sigmoid(a + b) for a, b in zip(from_input[name], from_state[name], strict=True)]
            for name in ("reset", "update")
        )
        if reset == "before":
            part = on_the_left(
                gates["candidate"]["U"], [a * b for a, b in zip(r, h, strict=True)], gates["candidate"]["c"]
            )
        else:
            part = [a * b for a, b in zip(r, from_state["candidate"], strict=True)]
        n = [math.tanh(a + b) for a, b in zip(from_input["candidate"], part, strict=True)]
        share = z if update == "keep" else [1 - number for number in z]
        h = [s * old + (1 - s) * new for s, old, new in zip(share, h, n, strict=True)]
    return h


def random_gates() -> dict[str, Any]:
    return {
        name: {
            "W": numbers(STATE, WIDTH, seed=n),
            "U": numbers(STATE, STATE, seed=n + 9),
            "b": numbers(STATE, seed=n + 18),
            "c": numbers(STATE, seed=n + 27),
        }
        for n, name in enumerate(GATES)
    }


@pytest.mark.parametrize(("reset", "update"), RULES)
def test_a_gru_reads_in_order(reset: str, update: str) -> None:
    x, h, gates = numbers(TOKENS, WIDTH), numbers(STATE, seed=3), random_gates()
    data = {"kind": "recurrent", "X": x, "gru": gates, "h0": h, "reset": reset, "update": update}
    expected = gru_by_hand(x, gates, h, reset, update)
    others = [gru_by_hand(x, gates, h, *rules) for rules in RULES]
    assert sum(math.dist(expected, other) < 1e-3 for other in others) == 1, "the four rules must differ here"
    assert_close(solve(data).answer, [expected])
    assert_close(solve(data | {"layout": "columns", "X": transpose(x)}).answer, transpose([expected]))


def test_the_default_rules_are_those_of_pytorch() -> None:
    data = {"kind": "recurrent", "X": numbers(TOKENS, WIDTH), "gru": random_gates(), "h0": numbers(STATE, seed=3)}
    assert_close(solve(data).answer, solve(data | {"reset": "after", "update": "keep"}).answer)


def test_the_first_step_of_the_example_is_the_one_worked_by_hand() -> None:
    """x = (1, 0), h = (0.5, -0.5).

    r: W x = (0.5, 0.8), U h = (0.1·0.5 - 0.2·0.5, -0.3·0.5) = (-0.05, -0.15), sum (0.45, 0.65), σ (0.6106, 0.6570)
    z: W x + b = (0.7, 0), U h = (0.15, 0.05 - 0.1) = (0.15, -0.05), sum (0.85, -0.05), σ (0.7006, 0.4875)
    n: W x + b = (1.1, 0.5), U h + c = (0.1 + 0.1, 0.2 - 0.05 + 0.2) = (0.2, 0.35), r ⊙ it (0.1221, 0.2300),
       sum (1.2221, 0.7300), tanh (0.8403, 0.6230)
    h: 0.7006·0.5 + 0.2994·0.8403 = 0.3503 + 0.2516 = 0.6019; -0.4875·0.5 + 0.5125·0.6230 = -0.2438 + 0.3193 = 0.0756
    """
    sheet = solve(EXAMPLE)
    lines = {
        "a_r": [0.45, 0.65], "r₁": [0.6106, 0.6570], "a_z": [0.85, -0.05], "z₁": [0.7006, 0.4875],
        "(U_n h + c_n)": [0.2, 0.35], "r ⊙ (U_n h + c_n)": [0.1221, 0.2300], "a_n": [1.2221, 0.7300],
        "n₁": [0.8403, 0.6230], "(1 - z₁)": [0.2994, 0.5125], "kept₁": [0.3503, -0.2438], "new₁": [0.2516, 0.3193],
        "h₁": [0.6019, 0.0756],
    }  # fmt: skip
    for symbol, row in lines.items():
        first = next(record.value for record in sheet.trace if record.symbol == symbol)
        assert [round(number, 4) for number in first[0].tolist()] == pytest.approx(row, abs=1.01e-4), symbol


def lines_of(**rules: str) -> list[str]:
    gates = {name: {"W": [[1]], "U": [[1]]} for name in GATES}
    sheet = solve({"kind": "recurrent", "X": [[1]], "gru": gates, "h0": [0.5], **rules})
    text = sheet.to_markdown().replace("<sub>n</sub>", "_n")
    return [*text.splitlines(), *(record.where for record in sheet.trace)]


def test_the_sheet_says_which_rules_it_uses() -> None:
    text = "\n".join(lines_of(reset="after", update="keep"))
    assert "z is the weight of the old state, h = (1 - z) ⊙ n + z ⊙ h. Some textbooks exchange z and 1 - z." in text
    assert "applied after the product with U, n = tanh(W x + r ⊙ U h). Some textbooks apply it before" in text
    assert "kept₁ = z₁ ⊙ h₀" in text
    assert "new₁ = (1 - z₁) ⊙ n₁" in text
    assert "r ⊙ U_n h = r₁ ⊙ U_n h" in text
    other = "\n".join(lines_of(reset="before", update="replace"))
    assert "z is the weight of the candidate, h = (1 - z) ⊙ h + z ⊙ n." in other
    assert "applied before the product with U, n = tanh(W x + U (r ⊙ h)). Some textbooks apply it after" in other
    assert "kept₁ = (1 - z₁) ⊙ h₀" in other
    assert "new₁ = z₁ ⊙ n₁" in other
    assert "U_n (r ⊙ h) = U_n times each row of (r ⊙ h)" in other


def test_every_gate_has_a_place_of_its_own() -> None:
    places = lines_of()
    for gate in ("reset_gate", "update_gate", "candidate_gate"):
        assert f"time.0.{gate}.from_input" in places
        assert f"time.0.{gate}.from_state" in places


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"reset": {"W": [[1, 2]], "U": [[1]]}}, "reset: W is 1 × 2, but the state has 1 numbers and an input 1."),
        ({"candidate": {"W": [[1]], "U": [[1]], "c": [1, 2]}}, "candidate: c has 2 numbers, but the state has 1 num"),
        ({"update": {"W": [[1]]}}, "recurrent needs gru, update, U: weights of the previous state, a square matrix."),
        ({"forget": {"W": [[1]], "U": [[1]]}}, "is not a key of gru of recurrent. Its keys: reset, update, candidate."),
    ],
)
def test_gates_that_do_not_fit_are_reported(change: dict[str, Any], sentence: str) -> None:
    gates = {name: {"W": [[1]], "U": [[1]]} for name in GATES} | change
    with pytest.raises(ProblemError) as wrong:
        solve({"kind": "recurrent", "X": [[1]], "gru": gates, "h0": [0]})
    assert sentence in str(wrong.value)


def test_the_letters_of_the_gates_are_those_of_the_textbooks() -> None:
    assert GruGates.letters == {"reset": "r", "update": "z", "candidate": "n"}
    assert "".join(LstmGates.letters.values()) == "figo"
