"""Numbers of symbols as subscripts."""

from clearhead.steps.symbols import SUBSCRIPT_DIGITS, subscript


def test_a_number_is_written_in_subscript_digits() -> None:
    assert subscript(4) == "₄"
    assert subscript(1234567890) == SUBSCRIPT_DIGITS[1:] + SUBSCRIPT_DIGITS[0]
