"""The calculation of a cell as a small tree, which can be written out and computed again from the digits shown.

A leaf is a number with the digits that the reader sees; `evaluate` uses only those digits.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Context, Decimal, DecimalException, localcontext

from clearhead.worksheet.rounding import read_shown


@dataclass(frozen=True)
class Number:
    """A number with the digits that are shown."""

    text: str


@dataclass(frozen=True)
class Sum:
    """a + b + …; `left_out` terms before the last one are not written."""

    terms: tuple["Expression", ...]
    left_out: int = 0


@dataclass(frozen=True)
class Product:
    """a × b × …"""

    factors: tuple["Expression", ...]


@dataclass(frozen=True)
class Difference:
    """a - b"""

    minuend: "Expression"
    subtrahend: "Expression"


@dataclass(frozen=True)
class Negative:
    """-a"""

    argument: "Expression"


@dataclass(frozen=True)
class Quotient:
    """a / b"""

    numerator: "Expression"
    denominator: "Expression"


@dataclass(frozen=True)
class Power:
    """a^b; the base e is written e."""

    base: "Expression"
    exponent: "Expression"


@dataclass(frozen=True)
class Call:
    """f(a): sin, cos, ln, √, tanh, relu …"""

    function: str
    argument: "Expression"


Expression = Number | Sum | Product | Difference | Negative | Quotient | Power | Call

EULER, PI = Number("e"), Number("π")
_PRECISION = Context(prec=40, Emax=10**12, Emin=-(10**12))
_FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "relu": lambda x: max(x, 0.0),
    "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)),
    "gelu": lambda x: x * 0.5 * (1.0 + math.erf(x / math.sqrt(2.0))),
    "silu": lambda x: x / (1.0 + math.exp(-x)),
}


def long_sum(indices: Sequence[int], term: Callable[[int], Expression], max_terms: int) -> Sum:
    """Return the sum of `term(i)` over the indices; a long sum shows only its first terms and the last."""
    if len(indices) <= max_terms:
        return Sum(tuple(term(i) for i in indices))
    shown = [*indices[: max_terms - 2], indices[-1]]
    return Sum(tuple(term(i) for i in shown), len(indices) - len(shown))


def write(expression: Expression) -> str:
    """Write the expression on one line: `1.87×1.1 + 1.09×(-2.8)`."""
    match expression:
        case Number(text):
            return text
        case Sum(terms, left_out):
            texts = [_inside(term, "+") for term in terms]
            return " + ".join([*texts[:-1], f"… ({left_out} more) …", texts[-1]] if left_out else texts)
        case Product(factors):
            return "×".join(_inside(factor, "×") for factor in factors)
        case Difference(minuend, subtrahend):
            return f"{_inside(minuend, '+')} - {_inside(subtrahend, '-')}"
        case Negative(argument):
            return f"-{_inside(argument, '-')}"
        case Quotient(numerator, denominator):
            return f"{_inside(numerator, '/')} / {_inside(denominator, '/')}"
        case Power(base, Number("2")):
            return f"{_inside(base, '^')}²"
        case Power(base, exponent):
            return f"{_inside(base, '^')}^{_inside(exponent, '^')}"
        case Call(function, argument):
            plain = function == "√" and isinstance(argument, Number)
            return f"{function}{write(argument)}" if plain else f"{function}({write(argument)})"


def _inside(expression: Expression, operator: str) -> str:
    text = write(expression)
    needs = {
        "+": (Negative,),
        "-": (Sum, Difference, Negative),
        "×": (Sum, Difference, Negative, Quotient),
        "/": (Sum, Difference, Negative, Product, Quotient),
        "^": (Sum, Difference, Negative, Product, Quotient, Power),
    }[operator]
    is_negative = isinstance(expression, Number) and text.startswith("-")
    is_power_of_ten = isinstance(expression, Number) and "×" in text and operator in "/^"
    return f"({text})" if isinstance(expression, needs) or is_negative or is_power_of_ten else text


@contextmanager
def _exactly() -> Iterator[None]:
    with localcontext(_PRECISION):
        yield


def evaluate(expression: Expression) -> Decimal | None:
    """Compute the expression from the digits shown; None if that is impossible (an ellipsis, 0/0)."""
    try:
        with _exactly():
            return _value(expression)
    except (DecimalException, ValueError, OverflowError):
        return None


def _value(expression: Expression) -> Decimal:
    match expression:
        case Number("e"):
            return Decimal(1).exp()
        case Number("π"):
            return Decimal(math.pi)
        case Number(text):
            return read_shown(text)
        case Sum(terms, left_out):
            if left_out:
                raise ValueError("a sum with an ellipsis cannot be computed again")
            return sum((_value(term) for term in terms), Decimal(0))
        case Product(factors):
            return math.prod((_value(factor) for factor in factors), start=Decimal(1))
        case Difference(minuend, subtrahend):
            return _value(minuend) - _value(subtrahend)
        case Negative(argument):
            return -_value(argument)
        case Quotient(numerator, denominator):
            return _value(numerator) / _value(denominator)
        case Power(Number("e"), exponent):
            return _value(exponent).exp()
        case Power(base, exponent):
            return _value(base) ** _value(exponent)
        case Call("√", argument):
            return _value(argument).sqrt()
        case Call("ln", argument):
            return _value(argument).ln()
        case Call(function, argument):
            return Decimal(_FUNCTIONS[function](float(_value(argument))))
