"""The digits that are shown are consistent: totals follow from the parts beside them."""

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhead import Rounding, Worksheet, solve
from clearhead.worksheet.expression import (
    Number,
    Product,
    Sum,
    evaluate,
    write,
)
from clearhead.worksheet.rounding import read_shown
from clearhead.worksheet.view import SheetView
from tests.conftest import SHIPPED

BY_HAND = [
    Rounding(lines="rounded", decimals=2),
    Rounding(lines="rounded", decimals=1, ties="half-even"),
    Rounding(lines="rounded", significant=3),
]


def lines_of(sheet: Worksheet) -> list[tuple[str, str, str]]:
    """Return total, sign and sum of every cell that is worked out on the sheet."""
    lines = []
    for step in SheetView(sheet).steps:
        rows, columns = step.matrix.shown()
        for i in rows:
            for j in columns:
                line = step.cell_line(i, j)
                if line is not None:
                    total, sign, expression = line.split(" ", 2)
                    lines.append((total, sign, expression))
    return lines


@pytest.mark.parametrize("policy", BY_HAND, ids=["two decimals", "one decimal", "three figures"])
@pytest.mark.parametrize("name", SHIPPED)
def test_a_line_rounded_by_hand_follows_exactly_from_the_digits_shown(name: str, policy: Rounding) -> None:
    for total, sign, expression in lines_of(solve(name, policy)):
        assert sign == "=" or "…" in expression, f"{total} {sign} {expression}"


@pytest.mark.parametrize("name", SHIPPED)
def test_exact_totals_differ_from_their_shown_parts_only_with_an_approximate_sign(
    name: str, all_sheets: dict[str, Worksheet]
) -> None:
    sheet = all_sheets[name]
    signs = {"=": 0, "≈": 0}
    for step in SheetView(sheet).steps:
        rows, columns = step.matrix.shown()
        for i in rows:
            for j in columns:
                expression = step.cell_expression(i, j)
                if expression is None:
                    continue
                shown, again = step.matrix.digits.text(i, j), evaluate(expression)
                line = step.cell_line(i, j)
                assert line is not None
                if " = " in line:
                    assert again is not None
                    assert step.matrix.digits.number(float(again)) == shown
                    decimals = sheet.rounding.shown_decimals
                    assert abs(float(again) - float(step.matrix.value[i, j])) <= 1.001 * 10.0**-decimals
                    signs["="] += 1
                else:
                    signs["≈"] += 1
                    # The parts are each off by half a unit at most: the total cannot be far.
                    if again is not None and not step.matrix.symbol.startswith("N"):
                        assert float(again) == pytest.approx(float(read_shown(shown)), rel=0.02, abs=0.02)
    assert signs["="] > signs["≈"]


@st.composite
def hand_problems(draw: st.DrawFn) -> dict[str, Any]:
    """Small problems with one-decimal numbers, as in an exercise book, where halves are common."""
    tokens, width = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    tenths = st.integers(-30, 30).map(lambda n: n / 10)

    def matrix(rows: int, columns: int) -> list[list[float]]:
        return [[draw(tenths) for _ in range(columns)] for _ in range(rows)]

    weights = {name: matrix(width, 2) for name in ("W_Q", "W_K", "W_V")}
    return {"kind": "self-attention", "X": matrix(tokens, width), "scale": "none", **weights}


@given(hand_problems(), st.integers(0, 3), st.sampled_from(["half-up", "half-even"]))
@settings(max_examples=60, deadline=None)
def test_any_exercise_rounded_by_hand_adds_up(problem: dict[str, Any], decimals: int, ties: Any) -> None:
    policy = Rounding(lines="rounded", decimals=decimals, ties=ties)
    sheet = solve(problem, policy)
    unit = Decimal(1).scaleb(-decimals)
    mode = {"half-up": "ROUND_HALF_UP", "half-even": "ROUND_HALF_EVEN"}[ties]
    for step in SheetView(sheet).steps:
        for i, j in np.ndindex(step.matrix.value.shape):
            expression = step.cell_expression(i, j)
            assert expression is not None
            again = evaluate(expression)
            assert again is not None
            assert again.quantize(unit, mode) == read_shown(step.matrix.digits.text(i, j))


def test_a_sum_is_written_as_on_paper() -> None:
    numbers = [Number(text) for text in ("1.87", "1.1", "1.09", "-2.8")]
    expression = Sum((Product((numbers[0], numbers[1])), Product((numbers[2], numbers[3]))))
    assert write(expression) == "1.87×1.1 + 1.09×(-2.8)"
    assert evaluate(expression) == Decimal("-0.995")


def test_the_example_of_the_readme_is_what_is_shown() -> None:
    assert ("-0.995", "=", "1.87×1.1 + 1.09×(-2.8)") in lines_of(solve("lets-go-encoder"))


def test_masked_weights_have_no_calculation() -> None:
    sheet = solve("numerical-masked-self-attention")
    softmax_step = next(step for step in SheetView(sheet).steps if step.step.name == "softmax")
    assert softmax_step.cell_line(0, 1) is None
    line = softmax_step.cell_line(1, 0)
    assert line is not None
    assert re.fullmatch(r"7.95×10⁻³² = e\^45.38 / \(e\^45.38 \+ e\^116.99\)", line)


def test_a_total_that_its_parts_miss_is_not_called_equal() -> None:
    """0.3333 three times is 0.9999, so 3 is not 0.3333×3 + 0.3333×3 + 0.3333×3 = 2.9997."""
    lines = lines_of(solve({"kind": "context", "X": [[3], [3], [3]]}))
    assert ("3", "≈", "0.3333×3 + 0.3333×3 + 0.3333×3") in lines


def test_a_rounded_zero_follows_from_its_parts() -> None:
    data = {"kind": "add-and-norm", "norm": "none", "X": [[0.1]], "Y": [[-0.099]]}
    assert lines_of(solve(data, BY_HAND[0])) == [("0", "=", "0.1 + (-0.099)")]


def test_a_factor_of_minus_one_is_written() -> None:
    data = {
        "kind": "self-attention",
        "scale": "none",
        "X": [[-1, 2]],
        "W_Q": [[1], [1]],
        "W_K": [[-3], [-1]],
        "W_V": [[2], [-1]],
    }
    assert [line[2] for line in lines_of(solve(data))][:2] == ["(-1)×1 + 2×1", "(-1)×(-3) + 2×(-1)"]


def test_halves_of_large_numbers_are_found_by_exact_decimals() -> None:
    """-458466.37×(-5.8) + (-8746.205)×(-7.5) + 574169.6×(-61) is exactly -32299644.1165."""
    data = {
        "kind": "self-attention",
        "X": [[-458466.37, -8746.205, 574169.6]],
        "W_Q": [[0], [0], [0]],
        "W_K": [[0], [0], [0]],
    }
    sheet = solve(data | {"W_V": [[-5.8], [-7.5], [-61]]}, Rounding(lines="rounded", decimals=3))
    assert sheet.value("V").tolist() == [[-32299644.117]]


def test_a_number_near_a_half_that_is_none_stays_below() -> None:
    sheet = solve({"kind": "add-and-norm", "norm": "none", "X": [[0.1349999999999]], "Y": [[0]]}, Rounding(decimals=2))
    assert SheetView(sheet).steps[-1].matrix.digits.text(0, 0) == "0.13"


def test_numbers_that_are_only_moved_are_not_rounded() -> None:
    policy = Rounding(lines="rounded", decimals=1)
    sheet = solve({"kind": "context", "embedding": {"a": [0.125], "b": [0.5]}, "weights": [[1, 0]]}, policy)
    assert sheet.value("X").tolist() == [[0.125], [0.5]]
    assert sheet.answer.tolist() == [[0.1]]


def test_given_numbers_of_a_rounded_sheet_are_seen_in_full() -> None:
    data = {"kind": "add-and-norm", "norm": "none", "X": [["1/3"]], "Y": [["1/3"]]}
    third = "0.3333333333333333"
    assert lines_of(solve(data, BY_HAND[0])) == [("0.67", "=", f"{third} + {third}")]
