"""The sum behind a cell: written with the brackets it needs, and computed again from its digits."""

from typing import Any

import pytest

from clearhead.worksheet.expression import (
    EULER,
    Call,
    Difference,
    Negative,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    evaluate,
    long_sum,
    write,
)


@pytest.mark.parametrize(
    ("expression", "text", "value"),
    [
        (Quotient(Number("11.7"), Call("√", Number("4"))), "11.7 / √4", 5.85),
        (Quotient(Power(EULER, Number("-2")), Sum((Power(EULER, Number("-2")), Power(EULER, Number("1"))))), "e^(-2) / (e^(-2) + e^1)", 0.04742587317756678),
        (Power(Difference(Number("7"), Number("5")), Number("2")), "(7 - 5)²", 4),
        (Call("tanh", Number("0.5")), "tanh(0.5)", 0.46211715726000973),
        (Quotient(Number("1"), Product((Number("2"), Number("4")))), "1 / (2×4)", 0.125),
        (Difference(Number("3"), Sum((Number("1"), Number("1")))), "3 - (1 + 1)", 1),
        (Negative(Power(Number("3"), Number("2"))), "-3²", -9),
        (Product((Number("-1"), Number("2"))), "(-1)×2", -2),
        (Power(EULER, Number("1.00×10⁻⁵")), "e^(1.00×10⁻⁵)", 1.00001000005),
        (Sum((Negative(Number("2")), Number("1"))), "(-2) + 1", -1),
    ],
)  # fmt: skip
def test_an_expression_is_written_with_the_brackets_it_needs(expression: Any, text: str, value: float) -> None:
    assert write(expression) == text
    again = evaluate(expression)
    assert again is not None
    assert float(again) == pytest.approx(value, rel=1e-15)


def test_huge_exponents_do_not_overflow() -> None:
    big, small = Power(EULER, Number("5516.9")), Power(EULER, Number("-5516.9"))
    again = evaluate(Quotient(big, Sum((big, small))))
    assert again is not None
    assert float(again) == 1.0


def test_a_long_sum_is_shortened_and_not_computed_again() -> None:
    total = long_sum(range(100), lambda n: Number(str(n)), 12)
    assert write(total) == "0 + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + … (89 more) … + 99"
    assert evaluate(total) is None
    assert evaluate(Quotient(Number("0"), Number("0"))) is None
