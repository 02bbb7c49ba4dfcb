"""Which words with numbers are a part of the calculation: those are never lost in silence."""

import pytest

from clearhead.check.read.prose_number import holds, is_setting, looks_like_calculation


@pytest.mark.parametrize(
    "text",
    [
        "sun: 0.31 0.45 0.24",
        "The answer is 0.42 0.16 0.42.",
        "So the weight is 0.42.",
        "weight: 0.42",
        "1.27",
        "sun 0.4",
        "2/2 = 1",
        "score of sun and moon = 0.07",
        "the scores are 1, 0, 1",
        "the mean of x is 2.5",
    ],
)
def test_rows_sums_and_results_are_calculations(text):
    assert looks_like_calculation(text)


@pytest.mark.parametrize(
    "text",
    [
        "I used 2 heads.",
        "Date: 12.03.2026",
        "12 March 2026, 14:30",
        "2026-03-12",
        "Question 3",
        "page 2",
        "3",
        "Exercise 4.2",
        "Marks: 4/5",
        "(3 marks)",
        "Matriculation number: 123456",
        "I used 1 head with d_k = 4 and divided by 2.",
        "d_model = 512, h = 8",
        "divide by √2 = 1.41",
        "use e = 2.718",
        "rounded to 2 decimals",
        "I rounded the weights to 0.01",
        "each row sums to 1.00",
        "Tokens 1, 2 and 3 attend.",
        "Step 2: divide by 2",
        "no numbers at all",
    ],
)
def test_dates_places_marks_and_settings_are_prose(text):
    assert not looks_like_calculation(text)


def test_settings_are_sizes_and_constants():
    assert is_setting("d_k", "4")
    assert is_setting("√4", "2")
    assert is_setting("the number of heads h", "2")
    assert is_setting("e", "2.718")
    assert not is_setting("e", "0.5"), "a score"
    assert not is_setting("q1·k2", "4")


def test_a_side_calculation_is_compared_to_its_shown_digits():
    assert holds(["2/2", "1"]) is True
    assert holds(["2.718/6.437", "0.42"]) is True, "0.4222"
    assert holds(["1*0 + 0*2", "3"]) is False
    assert holds(["2*3", "6", "7"]) is False, "6 = 7 is wrong"
    assert holds(["the sum", "7"]) is None
    assert holds(["7"]) is None
