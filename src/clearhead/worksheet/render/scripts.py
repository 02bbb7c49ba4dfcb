"""Subscripts and exponents of symbols and sums: `W_Q` as W<sub>Q</sub>, `e^11.95` as e<sup>11.95</sup>.

The HTML keeps the signs `_`, `^` and the brackets of an exponent as invisible text, so that copying, searching and
screen readers get the plain text: removing the tags from `html_maths(text)` gives `text` back.
"""

import re
from collections.abc import Callable

from clearhead.worksheet.rounding import BLANK

_SUBSCRIPT = re.compile(r"(?<=[^\W_])_((?:\d+|[^\W\d_]+)[₀-₉]*)")
_EXPONENT = re.compile(rf"[^\W_]+(?:\.\d+)?|{BLANK}")
_OPENERS = {"(": 1, ")": -1}


def html_maths(text: str) -> str:
    """Return a symbol, an equation or a sum as HTML; `text` is already escaped."""
    return _with_scripts(
        text,
        subscript=lambda below: f"<i class=x>_</i><sub>{below}</sub>",
        exponent=lambda above, opening, closing: (
            f"<i class=x>^{opening}</i><sup>{above}</sup>{f'<i class=x>{closing}</i>' if closing else ''}"
        ),
    )


def markdown_maths(text: str, escape: Callable[[str], str]) -> str:
    """Return a symbol, an equation or a sum as Markdown; `escape` makes the text between the tags safe."""
    marked = _with_scripts(
        text,
        subscript=lambda below: f"\x01{below}\x02",
        exponent=lambda above, opening, closing: f"\x03{above}\x04",
    )
    tags = {"\x01": "<sub>", "\x02": "</sub>", "\x03": "<sup>", "\x04": "</sup>"}
    return "".join(tags.get(part) or escape(part) for part in re.split("([\x01-\x04])", marked))


def _with_scripts(text: str, subscript: Callable[[str], str], exponent: Callable[[str, str, str], str]) -> str:
    before, sign, after = text.partition("^")
    lowered = _SUBSCRIPT.sub(lambda match: subscript(match[1]), before)
    if not sign:
        return lowered
    end = _closing_bracket(after)
    if end:
        inside = _with_scripts(after[1:end], subscript, exponent)
        raised, rest = exponent(inside, "(", ")"), after[end + 1 :]
    elif plain := _EXPONENT.match(after):
        raised, rest = exponent(plain[0], "", ""), after[plain.end() :]
    else:
        raised, rest = "^", after
    return lowered + raised + _with_scripts(rest, subscript, exponent)


def _closing_bracket(text: str) -> int:
    """Return where the bracket that opens `text` is closed; 0 where none opens it, or nothing closes it."""
    depth = 0
    for at, letter in enumerate(text):
        depth += _OPENERS.get(letter, 0)
        if depth == 0:
            return at
    return 0
