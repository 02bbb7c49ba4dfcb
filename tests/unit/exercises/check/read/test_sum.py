"""Sums in one cell: precedence, implicit products, bounds, and the reason why a text has no value."""

import math

import pytest

from clearhead.exercises.check.read.sum import MAX_DEPTH, read_sum


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2+3*4", 14.0),
        ("-2^2", -4.0),
        ("2^3^2", 512.0),
        ("2√3", 2 * math.sqrt(3)),
        ("1½", 1.5),
        ("\\frac{3}{4}", 0.75),
        ("e^2/(e^2+1)", math.exp(2) / (math.exp(2) + 1)),
        ("6/3*2", 4.0),
    ],
)
def test_a_sum_is_worked_by_the_usual_precedence(text, value):
    assert read_sum(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["2(3)", "1/2π", "2e", "sin 3", "2+", "import os", "(2]"])
def test_ambiguous_or_meaningless_sums_are_rejected(text):
    with pytest.raises(ValueError, match="^$"):
        read_sum(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("log(2)", "log is ambiguous: write ln"),
        ("√(-1)", "there is no root of a negative number"),
        ("(-8)^(1/3)", "it is a fractional power of a negative number"),
        ("(" * (MAX_DEPTH + 2) + "1" + ")" * (MAX_DEPTH + 2), f"nested more than {MAX_DEPTH} deep"),
    ],
)
def test_a_sum_without_a_value_says_why(text, reason):
    with pytest.raises(ValueError, match=reason):
        read_sum(text)


def test_division_by_zero_and_overflow_are_separate_errors():
    with pytest.raises(ZeroDivisionError):
        read_sum("1/0")
    with pytest.raises(OverflowError):
        read_sum("10^400")
