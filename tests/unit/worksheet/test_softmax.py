"""The lines of a softmax and of a norm that `show` adds: the same answer, with the lines between."""

import math
from typing import Any

import numpy as np
import pytest

from clearhead import solve
from clearhead.errors import ProblemError
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.softmax import work_softmax

ATTENTION: dict[str, Any] = {
    "kind": "self-attention",
    "Q": [[1, 2], [0, 1]],
    "K": [[1, 0], [1, 1]],
    "V": [[2, 0], [0, 4]],
}
NORM: dict[str, Any] = {"kind": "add-and-norm", "X": [[1, 2, 6], [2, 2, 5]], "epsilon": 0.25}
E = math.e


def lines(problem: dict[str, Any]) -> list[str]:
    return [record.symbol for record in solve(problem).trace]


def test_a_softmax_is_one_line_unless_more_are_shown() -> None:
    pen = Pen("rows", Rounding())
    weights = work_softmax(pen, np.array([[0.0, math.log(3.0)]]))
    assert weights == pytest.approx(np.array([[0.25, 0.75]]))
    assert [record.symbol for record in pen.finish()] == ["A"]


@pytest.mark.parametrize(
    ("show", "exponentials", "sums"),
    [
        # scores / √2 of row 1 are 1/√2 and 3/√2
        ("exponentials", [E ** (1 / 2**0.5), E ** (3 / 2**0.5)], E ** (1 / 2**0.5) + E ** (3 / 2**0.5)),
        ("shifted-exponentials", [E ** (-2 / 2**0.5), 1.0], 1.0 + E ** (-2 / 2**0.5)),
    ],
)
def test_the_exponentials_their_sum_and_the_weights_from_both(
    show: str, exponentials: list[float], sums: float
) -> None:
    sheet, plain = solve({**ATTENTION, "show": show}), solve(ATTENTION)
    assert sheet.value("exp")[0] == pytest.approx(exponentials)
    assert sheet.value("Σ")[0, 0] == pytest.approx(sums)
    assert sheet.value("Z") == pytest.approx(plain.value("Z"))
    softmax = next(record for record in sheet.trace if record.step.name == "softmax")
    assert softmax.value[0] == pytest.approx(np.array(exponentials) / sums)


def test_shifted_exponentials_also_show_the_shifted_scores() -> None:
    sheet = solve({**ATTENTION, "scale": "none", "mask": "causal", "show": "shifted-exponentials"})
    assert [record.symbol for record in sheet.trace] == ["S", "S″", "D", "exp", "Σ", "A", "Z"]
    assert sheet.value("D").tolist() == [[0.0, -math.inf], [-1.0, 0.0]], "a masked key stays at -∞"
    assert sheet.value("exp")[0].tolist() == [1.0, 0.0]


def test_a_row_that_sees_nothing_has_the_sum_0_and_weights_0() -> None:
    sheet = solve({**ATTENTION, "mask": [[0, 0], [1, 1]], "show": "exponentials"})
    assert sheet.value("Σ")[0, 0] == 0.0
    assert sheet.value("A")[0].tolist() == [0.0, 0.0]


def test_the_base_is_that_of_the_problem() -> None:
    sheet = solve({**ATTENTION, "scale": "none", "base": 2, "show": "exponentials"})
    assert sheet.value("exp").tolist() == [[2.0, 8.0], [1.0, 2.0]]
    assert sheet.value("A")[0] == pytest.approx([0.2, 0.8])


def test_tokens_as_columns_have_their_sums_in_a_row() -> None:
    sheet = solve({**ATTENTION, "layout": "columns", "show": "exponentials"})
    assert sheet.value("Σ").shape == (1, 2)


def test_the_standard_deviation_is_the_divisor_of_the_norm() -> None:
    sheet = solve({**NORM, "show": "deviation"})
    assert [record.symbol for record in sheet.trace] == ["μ", "σ²", "σ", "N"]
    assert sheet.value("σ")[1, 0] == pytest.approx(1.5), "√(2 + 0.25)"
    assert sheet.value("N")[1] == pytest.approx([-2 / 3, -2 / 3, 4 / 3])
    assert sheet.value("N") == pytest.approx(solve(NORM).value("N"))


def test_epsilon_outside_the_root_is_part_of_the_deviation() -> None:
    problem = {**NORM, "epsilon_place": "outside", "gain": [1, 2, 3], "shift": [0, 1, 0]}
    assert solve({**problem, "show": "deviation"}).value("N") == pytest.approx(solve(problem).value("N"))
    assert solve({**problem, "show": "deviation"}).value("σ")[1, 0] == pytest.approx(2**0.5 + 0.25)


def test_an_rms_norm_shows_its_root_mean_square() -> None:
    sheet = solve({"kind": "add-and-norm", "norm": "rms", "epsilon": 0, "X": [[1, 2, 2]], "show": ["deviation"]})
    assert sheet.value("RMS")[0, 0] == pytest.approx(3**0.5), "√((1 + 4 + 4) / 3)"
    assert sheet.value("N")[0] == pytest.approx([1 / 3**0.5, 2 / 3**0.5, 2 / 3**0.5])


def test_a_list_shows_several_and_parts_show_their_own() -> None:
    block = {"parts": [{**ATTENTION, "show": "exponentials"}, NORM], "show": "deviation"}
    assert lines(block) == ["S", "S′", "exp", "Σ", "A", "Z", "μ", "σ²", "σ", "N"]
    heads = {**ATTENTION, "kind": "multi-head-attention", "num_heads": 2, "show": ["exponentials"]}
    assert {"exp₁", "Σ₁", "exp₂", "Σ₂"} <= set(lines(heads))


def test_a_line_that_the_exercise_does_not_have_is_reported_on_the_sheet() -> None:
    assert solve({**ATTENTION, "show": "deviation"}).warnings == (
        "show: deviation adds no line, because this exercise has no norm.",
    )
    divided = {**ATTENTION, "normaliser": "division", "show": "exponentials"}
    assert "has no softmax" in solve(divided).warnings[0]


@pytest.mark.parametrize(
    ("show", "message"),
    [
        ("exponential", "show: 'exponential' is not a line that can be shown. Did you mean 'exponentials'?"),
        (["exponentials", "shifted-exponentials"], "both exponentials and shifted-exponentials are given"),
        ({"a": 1}, "show: expected a name or a list of names"),
        ([[1]], "show: [1] is not a line that can be shown"),
    ],
)
def test_wrong_names_are_explained(show: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message.replace("[", r"\[").replace("?", r"\?")):
        solve({**ATTENTION, "show": show})


def test_exponentials_that_are_too_large_are_reported() -> None:
    with pytest.raises(ProblemError, match="exponentiate gives numbers that are too large"):
        solve({**ATTENTION, "Q": [[900, 0], [0, 1]], "scale": "none", "show": "exponentials"})
    assert solve({**ATTENTION, "Q": [[900, 0], [0, 1]], "show": "shifted-exponentials"}).value("A").shape == (2, 2)
