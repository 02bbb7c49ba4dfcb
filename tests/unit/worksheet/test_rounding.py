"""Rounding as people do it, and the digits that are shown."""

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead import Rounding
from clearhead.errors import ProblemError
from clearhead.worksheet.rounding import Digits, read_shown, round_decimals, round_significant, with_changes

MODES = {"half-up": ROUND_HALF_UP, "half-even": ROUND_HALF_EVEN}


def one(value: float) -> np.ndarray:
    return np.array([[value]])


@pytest.mark.parametrize(
    ("value", "decimals", "up", "even"),
    [
        (0.125, 2, 0.13, 0.12),
        (-0.125, 2, -0.13, -0.12),
        (2.675, 2, 2.68, 2.68),  # stored as 2.67499999…
        (1.005, 2, 1.01, 1.0),  # stored as 1.00499999…
        (-0.15, 1, -0.2, -0.2),
        (0.25, 1, 0.3, 0.2),
        (-0.001, 2, 0.0, 0.0),
        (1e20, 3, 1e20, 1e20),
        (float("-inf"), 2, float("-inf"), float("-inf")),
    ],
)
def test_halves_go_where_the_policy_sends_them(value: float, decimals: int, up: float, even: float) -> None:
    assert float(round_decimals(one(value), decimals, "half-up")[0, 0]) == up
    assert float(round_decimals(one(value), decimals, "half-even")[0, 0]) == even


def test_minus_zero_is_zero() -> None:
    assert not np.signbit(round_decimals(one(-0.001), 2))[0, 0]
    assert Digits(one(-0.0), Rounding()).text(0, 0) == "0"


@given(
    st.decimals(min_value=-10_000, max_value=10_000, places=5),
    st.integers(0, 4),
    st.sampled_from(["half-up", "half-even"]),
)
def test_short_decimals_round_exactly_as_on_paper(number: Decimal, decimals: int, ties: str) -> None:
    expected = number.quantize(Decimal(1).scaleb(-decimals), MODES[ties])
    assert float(round_decimals(one(float(number)), decimals, ties)[0, 0]) == float(expected)


@given(
    st.decimals(min_value=-10_000, max_value=10_000, places=6),
    st.integers(1, 6),
    st.sampled_from(["half-up", "half-even"]),
)
def test_significant_figures_round_exactly_as_on_paper(number: Decimal, figures: int, ties: str) -> None:
    expected = Context(prec=figures, rounding=MODES[ties]).plus(number)
    assert float(round_significant(one(float(number)), figures, ties)[0, 0]) == float(expected)


@pytest.mark.parametrize(
    ("value", "figures", "expected"),
    [
        (1.274e-198, 3, 1.27e-198),
        (9.996, 3, 10.0),
        (1000.0, 2, 1000.0),
        (999.5, 3, 1000.0),
        (0.0, 3, 0.0),
        (123456789.0, 2, 120000000.0),
        (1e-300, 2, 1e-300),
    ],
)
def test_significant_figures_hold_for_tiny_and_huge_numbers(value: float, figures: int, expected: float) -> None:
    assert float(round_significant(one(value), figures)[0, 0]) == expected


@pytest.mark.parametrize(
    ("value", "policy", "text"),
    [
        (0.4683, Rounding(decimals=3), "0.468"),
        (7.9e-32, Rounding(decimals=2), "7.9×10⁻³²"),
        (-4.2e-7, Rounding(decimals=4), "-4.20×10⁻⁷"),
        (11.7, Rounding(significant=3), "11.7"),
        (0.000012345, Rounding(significant=3), "1.23×10⁻⁵"),
        (12345.6, Rounding(significant=2), "12000"),
        (2.5e12, Rounding(decimals=4), "2.50×10¹²"),
        (2.5e12, Rounding(lines="rounded", decimals=1), "2500000000000"),
        (3.0, Rounding(decimals=4), "3"),
        (float("-inf"), Rounding(), "-∞"),
    ],
)
def test_a_number_is_shown_with_the_digits_of_the_policy(value: float, policy: Rounding, text: str) -> None:
    assert Digits(one(value), policy).text(0, 0) == text


def test_a_matrix_is_shown_with_as_many_decimals_as_its_cells_need() -> None:
    digits = Digits(np.array([[1.5, 2.25], [3.0, 1 / 3]]), Rounding(decimals=4))
    assert [digits.text(i, j) for i in (0, 1) for j in (0, 1)] == ["1.5000", "2.2500", "3.0000", "0.3333"]
    assert Digits(np.array([[1.5, 2.25]]), Rounding(decimals=4)).text(0, 0) == "1.50"


def test_a_given_matrix_keeps_its_own_digits() -> None:
    assert Digits(one(0.12345), Rounding(decimals=2), is_given=True).text(0, 0) == "0.12345"
    assert Digits(one(1 / 3), Rounding(decimals=2), is_given=True).text(0, 0) == "0.33"


@given(st.floats(-1e30, 1e30), st.integers(0, 6))
def test_what_is_shown_reads_back_as_the_rounded_number(value: float, decimals: int) -> None:
    policy = Rounding(lines="rounded", decimals=decimals)
    line = policy.line(one(value), lambda row, column: None)
    assert float(read_shown(Digits(line, policy).text(0, 0))) == float(line[0, 0])


@given(st.floats(1e-30, 1e6), st.integers(1, 6))
def test_significant_lines_read_back_too(value: float, figures: int) -> None:
    policy = Rounding(lines="rounded", significant=figures)
    line = policy.line(one(value), lambda row, column: None)
    assert float(read_shown(Digits(line, policy).text(0, 0))) == float(line[0, 0])


def test_the_largest_numbers_are_shown_without_a_warning() -> None:
    assert Digits(np.array([[1e308, 0.5]]), Rounding()).text(0, 0) == "1.000×10³⁰⁸"


def test_changes_replace_the_way_digits_are_counted() -> None:
    policy = Rounding(lines="rounded", decimals=3, ties="half-even")
    changed = with_changes(policy, significant=2)
    assert changed == Rounding(lines="rounded", significant=2, ties="half-even")
    assert with_changes(policy) == policy


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"decimals": 99}, "decimals = 99 is not possible. Give an integer from 0 to 15."),
        ({"significant": 0}, "significant = 0 is not possible. Give an integer from 1 to 15."),
        ({"decimals": 2, "significant": 2}, "rounding: give decimals or significant, not both."),
    ],
)
def test_impossible_digits_are_refused(changes: dict[str, int], sentence: str) -> None:
    with pytest.raises(ProblemError) as wrong:
        with_changes(Rounding(), **changes)  # type: ignore[arg-type]
    assert str(wrong.value) == sentence


def test_the_policy_is_described_in_a_sentence() -> None:
    assert Rounding().describe() == "Computed in full precision, shown to at most 4 decimals (half-up)."
    assert (
        "Every step is rounded to 1 significant figure (half-even)"
        in Rounding(lines="rounded", significant=1, ties="half-even").describe()
    )
