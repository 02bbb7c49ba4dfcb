"""Write numbers with a decimal comma."""

import re

_POINT = re.compile(r"(?<=\d)\.(?=\d)")


def with_decimal_sign(text: str, decimal: str, comma: str = ",") -> str:
    """Return a text whose numbers have the wanted decimal sign; `comma` is how the comma is written."""
    return _POINT.sub(comma, text) if decimal == "comma" else text
