"""The sum behind a cell, as a small tree: it can be written down, and computed again from the digits shown.

A leaf is a number with the digits that the reader sees; `evaluate` uses those digits and nothing else.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Context, Decimal, DecimalException, localcontext

from clearhead.worksheet.rounding import read_shown

MAX_TERMS = 12  # longer sums are written with an ellipsis in the middle


@dataclass(frozen=True)
class Number:
    """A number as it is shown."""

    text: str


@dataclass(frozen=True)
class Sum:
    """a + b + …"""

    terms: tuple["Expression", ...]


@dataclass(frozen=True)
class Product:
    """a × b × …"""

    factors: tuple["Expression", ...]


@dataclass(frozen=True)
class Difference:
    """a - b"""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True)
class Quotient:
    """a / b"""

    over: "Expression"
    under: "Expression"


@dataclass(frozen=True)
class Power:
    """a^b; the base e is written e."""

    base: "Expression"
    exponent: "Expression"


@dataclass(frozen=True)
class Call:
    """f(a): sin, cos, tanh, relu, √"""

    function: str
    argument: "Expression"


Expression = Number | Sum | Product | Difference | Quotient | Power | Call

EULER, PI = Number("e"), Number("π")
_PRECISION = Context(prec=40, Emax=10**12, Emin=-(10**12))
_FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "relu": lambda x: max(x, 0.0),
}


def write(expression: Expression) -> str:
    """Write the expression on one line: `1.87×1.1 + 1.09×(-2.8)`."""
    match expression:
        case Number(text):
            return text
        case Sum(terms):
            return " + ".join(_shortened([_inside(term, "+") for term in terms]))
        case Product(factors):
            return "×".join(_inside(factor, "×") for factor in factors)
        case Difference(left, right):
            return f"{_inside(left, '+')} - {_inside(right, '-')}"
        case Quotient(over, under):
            return f"{_inside(over, '/')} / {_inside(under, '/')}"
        case Power(base, exponent):
            return f"{_inside(base, '^')}^{_inside(exponent, '^')}"
        case Call(function, argument):
            plain = function == "√" and isinstance(argument, Number)
            return f"{function}{write(argument)}" if plain else f"{function}({write(argument)})"


def _inside(expression: Expression, operator: str) -> str:
    text = write(expression)
    needs = {
        "+": (),
        "-": (Sum, Difference),
        "×": (Sum, Difference, Quotient),
        "/": (Sum, Difference, Product, Quotient),
        "^": (Sum, Difference, Product, Quotient, Power),
    }[operator]
    is_negative = isinstance(expression, Number) and text.startswith("-")
    return f"({text})" if isinstance(expression, needs) or is_negative else text


def _shortened(terms: list[str]) -> list[str]:
    if len(terms) <= MAX_TERMS:
        return terms
    left_out = len(terms) - MAX_TERMS + 1
    return [*terms[: MAX_TERMS - 2], f"… ({left_out} more) …", terms[-1]]


@contextmanager
def _exactly() -> Iterator[None]:
    with localcontext(_PRECISION):
        yield


def evaluate(expression: Expression) -> Decimal | None:
    """Compute the expression from the digits shown; None where they give no number (0/0)."""
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
        case Sum(terms):
            return sum((_value(term) for term in terms), Decimal(0))
        case Product(factors):
            return math.prod((_value(factor) for factor in factors), start=Decimal(1))
        case Difference(left, right):
            return _value(left) - _value(right)
        case Quotient(over, under):
            return _value(over) / _value(under)
        case Power(Number("e"), exponent):
            return _value(exponent).exp()
        case Power(base, exponent):
            return _value(base) ** _value(exponent)
        case Call("√", argument):
            return _value(argument).sqrt()
        case Call(function, argument):
            return Decimal(_FUNCTIONS[function](float(_value(argument))))
