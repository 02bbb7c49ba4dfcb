"""Evaluate an expression in one cell, such as e^2/(e^2+1) or √3/2, in floats with a small parser.

    sum      = product (("+" | "-") product)*
    product  = signed (("*" | "/") signed)*        a number before √, π, e^ or a function multiplies it
    signed   = ("+" | "-")* power
    power    = atom ("^" signed)?                  2^3^2 is 2^(3^2)
    atom     = number | "e" | "π" | "√" atom | function bracket | "frac" bracket bracket | bracket

Only these names exist and every number is a float, so the time is bounded by the length of the cell.
"""

import math
import re
from collections.abc import Callable, Mapping

MAX_DEPTH = 20
_TOKEN = re.compile(r"\s*(?:([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|\\?([A-Za-z]+|[π√])|(\*\*|[-+*/^(){}\[\]]))")
_VULGAR = {
    "½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5", "⅘": "4/5",
    "⅙": "1/6", "⅚": "5/6", "⅐": "1/7", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8", "⅑": "1/9", "⅒": "1/10",
}  # fmt: skip
_MIXED = re.compile(rf"(?:(?<![0-9.])([0-9]+)\s*)?([{''.join(_VULGAR)}])")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_CONSTANTS = {"e": math.e, "π": math.pi, "pi": math.pi}
_FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "ln": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "tanh": math.tanh,
}
_FRACTIONS = ("frac", "tfrac", "dfrac")


def read_sum(text: str) -> float:
    """Return the value; raise ValueError with the reason if the text is not such an expression or has no value."""
    parser = _Parser(_tokens(_MIXED.sub(_bracketed, text)))
    value = parser.sum(0)
    if not parser.is_done:
        raise ValueError
    if math.isinf(value):
        raise OverflowError
    return value


def _bracketed(match: re.Match[str]) -> str:
    integer, part = match[1], _VULGAR[match[2]]
    return f"({integer}+{part})" if integer else f"({part})"


def _tokens(text: str) -> list[str | float]:
    tokens: list[str | float] = []
    start, end = 0, len(text.rstrip())
    while start < end:
        match = _TOKEN.match(text, start)
        if match is None:
            raise ValueError
        digits, exponent, name, sign = match.groups()
        if digits:
            tokens.append(float(digits + (exponent or "")))
        else:
            tokens.append("sqrt" if name == "√" else "^" if sign == "**" else name or sign)
        start = match.end()
    return tokens


class _Parser:
    """Read the tokens once, from left to right."""

    def __init__(self, tokens: list[str | float]) -> None:
        self._tokens = tokens
        self._next = 0

    @property
    def is_done(self) -> bool:
        """Whether every token was used."""
        return self._next == len(self._tokens)

    def _peek(self, ahead: int = 0) -> str | float | None:
        place = self._next + ahead
        return self._tokens[place] if place < len(self._tokens) else None

    def _take(self) -> str | float:
        token = self._peek()
        if token is None:
            raise ValueError
        self._next += 1
        return token

    def sum(self, depth: int) -> float:
        """Read a + b - c …"""
        if depth > MAX_DEPTH:
            raise ValueError(f"its brackets are nested more than {MAX_DEPTH} deep")
        value = self._product(depth)
        while self._peek() in ("+", "-"):
            value = value + self._product(depth) if self._take() == "+" else value - self._product(depth)
        return value

    def _product(self, depth: int) -> float:
        value = self._signed(depth)
        was_divided = False
        while True:
            if self._peek() in ("*", "/"):
                was_divided = self._take() == "/"
                right = self._signed(depth)
                value = value / right if was_divided else value * right
            elif not was_divided and self._multiplies_silently():  # 1/2π is ambiguous
                value *= self._power(depth)
            else:
                return value

    def _multiplies_silently(self) -> bool:
        """Return whether a product such as 2√3, 2π, 2e^3 or 2 sin(1) is next; 2e and 2(3) are ambiguous."""
        token = self._peek()
        if not isinstance(self._tokens[self._next - 1], float):
            return False
        return token in ("π", "pi") or token in _FUNCTIONS or (token == "e" and self._peek(1) == "^")

    def _signed(self, depth: int) -> float:
        sign = 1.0
        while self._peek() in ("+", "-"):
            sign = -sign if self._take() == "-" else sign
        return sign * self._power(depth)

    def _power(self, depth: int) -> float:
        base = self._atom(depth)
        if self._peek() != "^":
            return base
        if depth >= MAX_DEPTH:
            raise ValueError(f"its powers are nested more than {MAX_DEPTH} deep")
        self._take()
        exponent = self._signed(depth + 1)
        try:
            return math.exp(exponent) if base == math.e else math.pow(base, exponent)
        except ValueError:
            if base == 0.0:
                raise ZeroDivisionError from None
            raise ValueError("it is a fractional power of a negative number") from None

    def _atom(self, depth: int) -> float:
        token = self._take()
        if isinstance(token, float):
            if math.isinf(token):
                raise OverflowError
            return token
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        if token in _CLOSING:
            return self._closed(token, depth)
        if token in _FRACTIONS:
            over = self._bracket(depth)
            return over / self._bracket(depth)
        if token == "log":
            raise ValueError("log is ambiguous: write ln")
        if token not in _FUNCTIONS:
            raise ValueError
        takes_bare = token == "sqrt" and self._peek() not in _CLOSING  # √3, but not sin 3
        argument = self._root_of(depth) if takes_bare else self._bracket(depth)
        return _applied(token, argument)

    def _root_of(self, depth: int) -> float:
        if not isinstance(self._peek(), float) and self._peek() not in _CONSTANTS:
            raise ValueError
        return self._atom(depth)

    def _bracket(self, depth: int) -> float:
        opening = self._take()
        if not isinstance(opening, str) or opening not in _CLOSING:
            raise ValueError
        return self._closed(opening, depth)

    def _closed(self, opening: str, depth: int) -> float:
        value = self.sum(depth + 1)
        if self._take() != _CLOSING[opening]:
            raise ValueError
        return value


def _applied(name: str, argument: float) -> float:
    try:
        return _FUNCTIONS[name](argument)
    except ValueError:
        what = "root of a negative number" if name == "sqrt" else f"{name} of such a number"
        raise ValueError(f"it has no value: there is no {what}") from None
