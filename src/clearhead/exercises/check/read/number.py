"""Read one written cell: its raw text, its value, and the unit of its last digit.

No code is executed: a small parser reads digits, fractions, roots and powers, within limits.
"""

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from clearhead.errors import printable
from clearhead.exercises.check.read.sum import read_sum

MAX_LENGTH = 200  # characters of a cell
_MAX_EXPONENT = 400  # a little beyond the range of floats, 1e-324 to 1e308
_LEAST = 5e-324  # the unit of a number that underflows to 0: small, but not exact

TOO_LARGE = "it is too large (beyond 1e308)"
_NO_NUMBER = "it is not a number"
_DASHES = "-−–—‐‑‒―﹣－"
_DOTS = "·⋅∙•"
_NAN = math.nan
_UNITS = tuple(float(f"1e-{decimals}") for decimals in range(MAX_LENGTH + 1))

_PLAIN = re.compile(r"[-+]?(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))").fullmatch
_SCIENTIFIC = re.compile(
    r"([-+]?)([0-9]*)(?:\.([0-9]*))?\s*(?:[eE]([-+]?[0-9]+)"
    r"|(?:\*|[xX])\s*10\s*\^\s*(?:\{\s*([-+]?[0-9]+)\s*\}|\(\s*([-+]?[0-9]+)\s*\)|([-+]?[0-9]+)))"
).fullmatch
_INFINITE = re.compile(r"([-+]?)[\\.]?(?:∞|inf|infty|infinity)", re.IGNORECASE).fullmatch
_BLANK = re.compile(rf"(?:\?+|_+|…+|\.{{2,}}|□+|[{_DASHES}]+)?").fullmatch
_COMMA = re.compile(r"(?<=[0-9]),(?=[0-9])|^([-+]?),(?=[0-9])")
_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3})+").fullmatch
_POINT_LIKE = re.compile(rf"([0-9])[{_DOTS}]([0-9]+)(?=\s*(?:$|%|[×xX*]))")
_RAISED = re.compile(r"([⁻⁺]?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_RAISED_DIGITS = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789")
_SIGNS = str.maketrans(
    dict.fromkeys(_DASHES, "-")
    | dict.fromkeys("×✕✖∗＊" + _DOTS, "*")
    | dict.fromkeys("÷⁄∕", "/")
    | dict.fromkeys("\u00a0\u2007\u2009\u200a\u202f\u2002\u2003", " ")
    | {"＋": "+", "．": ".", "，": ",", "％": "%", "（": "(", "）": ")"}
    | {chr(0xFF10 + digit): str(digit) for digit in range(10)}
)
_LATEX = re.compile(r"\\(left|right|times|cdot|div|approx|sim|ldots|dots|[,;:! %])")
_LATEX_MEANS = {"times": "*", "cdot": "*", "div": "/", "approx": "≈", "sim": "~", "ldots": "…", "dots": "…", "%": "%"}
_UNSEEN = dict.fromkeys(
    map(ord, "\u200b\u200e\u200f\u2060\ufeff")
)  # invisible characters in text copied from a web page
_TIMES = re.compile(r"(?<=[0-9)])\s+[xX]\s+(?=[-+(.0-9])")  # 2 x 0.5
_ABOUT = re.compile(r"[≈=~≃≅∼]\s*")
_LOOSE_SIGN = re.compile(r"([-+])\s+")
_BRACKETED = re.compile(r"(?:\((?=.*\)$)|\[(?=.*\]$)|\{(?=.*\}$))\s*([-+]?[0-9.,]+)\s*[)\]}]").fullmatch
_TAIL = re.compile(r"(?<=[0-9])(?:…|\.\.\.)$")  # 0.333…, cut after the written digits


@dataclass(frozen=True)
class WrittenNumber:
    """A number as it was written.

    `unit` is 10^-decimals (of the mantissa, in scientific notation), 0 for an exact expression such as 2/3 or √3.
    `is_whole` marks an integer; its unit depends on the numbers around it. `figures` is the number of significant
    digits as written (None where that has no meaning). `problem` is the reason if it cannot be read (value is nan).
    """

    text: str
    value: float
    unit: float = 0.0
    is_whole: bool = False
    figures: int | None = None
    problem: str = ""


def visible(text: str) -> str:
    """Return a text without invisible characters, with control characters escaped, and shortened.

    A shortened cell is still too long to be read as a number, so shortening cannot change a value.
    """
    if len(text) > MAX_LENGTH:
        text = text[:MAX_LENGTH] + "…"
    return text if text.isprintable() else printable(text.translate(_UNSEEN))


def is_blank(text: str) -> bool:
    """Return whether a cell is blank: empty, or a placeholder such as ?, ____, … or a single dash."""
    return _BLANK(text.strip()) is not None


@lru_cache(maxsize=2**14)  # a working is compared under many conventions
def read_cell(text: str, *, has_decimal_comma: bool = False, dot_is_point: bool = False) -> WrittenNumber:
    """Return the number in a cell; if there is none, `problem` is the reason.

    2·1 is a product unless `dot_is_point`; 0,5 is refused unless `has_decimal_comma`.
    """
    if len(text) > MAX_LENGTH:
        return WrittenNumber(text, _NAN, problem=f"it is longer than {MAX_LENGTH} characters")
    return _read_plain(text, text) or _read_other(text, has_decimal_comma, dot_is_point)


def _read_plain(text: str, tidy: str) -> WrittenNumber | None:
    """Read digits with an optional sign and decimal point, the usual case."""
    match = _PLAIN(tidy)
    if match is None:
        return None
    integer, decimals, bare = match.groups()
    if not decimals and not bare:
        return WrittenNumber(text, float(tidy), 1.0, True, len(integer.lstrip("0")) or 1)
    beyond = decimals or bare
    figures = len(((integer or "") + beyond).lstrip("0")) or 1
    return WrittenNumber(text, float(tidy), _UNITS[len(beyond)], False, figures)


def _read_other(text: str, has_decimal_comma: bool, dot_is_point: bool) -> WrittenNumber:
    """Read every other notation."""
    if is_blank(text):
        return WrittenNumber(text, _NAN, problem="nothing is written")
    tidy = _tidied(text, dot_is_point)
    if "," in tidy:
        wrong = _comma_problem(tidy, has_decimal_comma)
        if wrong:
            return WrittenNumber(text, _NAN, problem=wrong)
        tidy = _COMMA.sub(r"\1.", tidy)
    infinite = _INFINITE(tidy)
    if infinite:
        return WrittenNumber(text, -math.inf if infinite[1] == "-" else math.inf)
    if tidy.endswith("%"):
        return _read_percent(text, tidy[:-1].rstrip())
    return _read_plain(text, tidy) or _read_scientific(text, tidy) or _read_expression(text, tidy)


def _tidied(text: str, dot_is_point: bool) -> str:
    """Normalise a cell: ASCII signs, ^{…} for superscript digits, no LaTeX spacing, no leading ≈."""
    tidy = text.translate(_UNSEEN).strip()
    if len(tidy) > 2 and tidy[0] == tidy[-1] == "$":
        tidy = tidy.strip("$").strip()
    if dot_is_point:
        tidy = _POINT_LIKE.sub(r"\1.\2", tidy, count=1)
    if "\\" in tidy:
        tidy = _LATEX.sub(lambda match: _LATEX_MEANS.get(match[1], " "), tidy)
    tidy = _TIMES.sub("*", tidy.replace("{,}", ","))
    tidy = _RAISED.sub(lambda match: f"^{{{match[0].translate(_RAISED_DIGITS)}}}", tidy.translate(_SIGNS).strip())
    about = _ABOUT.match(tidy)
    if about:
        tidy = tidy[about.end() :]
    tidy = _TAIL.sub("", tidy)
    bracketed = _BRACKETED(tidy)  # (-0.5) is a number with a unit, not an expression
    if bracketed:
        return bracketed[1]
    sign = _LOOSE_SIGN.match(tidy)
    return sign[1] + tidy[sign.end() :] if sign else tidy


def _comma_problem(tidy: str, has_decimal_comma: bool) -> str:
    if has_decimal_comma:
        return "it has a point and a comma: write only the comma, as in 1234,5" if "." in tidy else ""
    point = tidy.replace(",", ".")
    if len(tidy) > 20 or not _PLAIN(point):
        return "it has a comma: write a point, or set decimal: comma"
    none = f" or {tidy.replace(',', '')}" if _THOUSANDS(tidy) else ""
    return f"it has a comma: write {point}{none}, or set decimal: comma"


def _read_percent(text: str, tidy: str) -> WrittenNumber:
    number = _read_plain(text, tidy)
    if number is None:
        return WrittenNumber(text, _NAN, problem=_NO_NUMBER)
    # Dividing the digits, rather than multiplying by 0.01, gives 26 % the same float as 0.26.
    return WrittenNumber(text, number.value / 100.0, number.unit / 100.0, False, number.figures)


def _read_scientific(text: str, tidy: str) -> WrittenNumber | None:
    match = _SCIENTIFIC(tidy)
    if match is None:
        return None
    sign, integer, decimals, *exponents = match.groups()
    digits = integer + (decimals or "")
    if not digits:
        return None
    exponent = next(power_text for power_text in exponents if power_text is not None)
    power = int(exponent)
    if abs(power) > _MAX_EXPONENT:
        wrong = TOO_LARGE if power > 0 else f"it is too small (its exponent is below -{_MAX_EXPONENT})"
        return WrittenNumber(text, _NAN, problem=wrong)
    value = float(f"{sign}{integer or '0'}.{decimals or '0'}e{power}")
    if math.isinf(value):
        return WrittenNumber(text, _NAN, problem=TOO_LARGE)
    unit = max(float(f"1e{power - len(decimals or '')}"), _LEAST)
    return WrittenNumber(text, value, unit, False, len(digits.lstrip("0")) or 1)


def _read_expression(text: str, tidy: str) -> WrittenNumber:
    try:
        value = read_sum(tidy)
    except ZeroDivisionError:
        return WrittenNumber(text, _NAN, problem="it divides by zero")
    except OverflowError:
        return WrittenNumber(text, _NAN, problem=TOO_LARGE)
    except ValueError as wrong:
        return WrittenNumber(text, _NAN, problem=str(wrong) or _NO_NUMBER)
    return WrittenNumber(text, value)
