"""Rows of numbers as students type them."""

import pytest

from clearhead.quiz.practice.row_text import shown, split_row


@pytest.mark.parametrize(
    ("typed", "cells"),
    [
        ("1 2 3", ["1", "2", "3"]),
        ("1, 2, 3", ["1", "2", "3"]),
        ("[0.5; -0.25; .125]", ["0.5", "-0.25", ".125"]),
        ("  1/3\t2e-3   −4 ", ["1/3", "2e-3", "−4"]),
    ],
)
def test_spaces_semicolons_and_commas_separate_numbers(typed: str, cells: list[str]) -> None:
    assert split_row(typed, 3, has_decimal_comma=False) == cells


def test_with_decimal_commas_only_spaces_and_semicolons_separate() -> None:
    assert split_row("0,5; -1,25 ,5 3", 4, has_decimal_comma=True) == ["0.5", "-1.25", ".5", "3"]


@pytest.mark.parametrize(
    ("typed", "count", "reason"),
    [
        ("1", 2, "2 numbers are needed, and you wrote 1."),
        ("1 2", 1, "1 number is needed, and you wrote 2."),
        ("", 2, "2 numbers are needed, and you wrote 0."),
        (
            "0,5 0,25",
            2,
            "2 numbers are needed, and you wrote 4. A comma separates two numbers: write decimals with a point, or start "
            "again with decimal commas.",
        ),
        ("1 two", 2, "'two' cannot be used: it is not a number."),
        ("1 -inf", 2, "'-inf' cannot be used: every number here is finite."),
        ("9" * 2_001, 1, "a row can have at most 2,000 characters"),
    ],
)
def test_a_row_that_cannot_be_used_has_a_reason(typed: str, count: int, reason: str) -> None:
    with pytest.raises(ValueError, match="^.*$") as wrong:
        split_row(typed, count, has_decimal_comma=False)
    assert str(wrong.value) == reason


def test_numbers_are_shown_with_the_decimal_sign_that_is_wanted() -> None:
    assert shown("0.5 and encoder.0.", has_decimal_comma=True) == "0,5 and encoder.0."
    assert shown("0.5", has_decimal_comma=False) == "0.5"
