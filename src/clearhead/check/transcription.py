"""Transcription errors: the right number, copied incorrectly."""

import math
import re


def pen_slip(text: str, right: float) -> str:
    """Return how the written digits differ from the right number: sign, decimal slip, digit swap …; "" if unknown."""
    clean = text.strip().replace("−", "-").replace("–", "-").lstrip("+")
    if not re.fullmatch(r"-?(\d+\.?\d*|\.\d+)", clean) or not math.isfinite(right):
        return ""
    decimals = len(clean.partition(".")[2])
    value, unit = float(clean), 10.0**-decimals
    if abs(value + right) <= unit / 2 * (1 + 1e-9) and abs(value) > unit / 2:
        return "sign"
    digits = _significant(f"{abs(value):.{decimals}f}")
    for shift in (1, -1, 2, -2, 3, -3):
        moved = abs(right) * 10.0**shift
        if (
            digits
            and abs(abs(value) - moved) <= unit / 2 * (1 + 1e-9)
            and value * right > 0
            and (len(digits) >= 2 or decimals >= 2)
        ):
            return "decimal slip"
    shown = f"{abs(right):.{decimals}f}"
    mine = f"{abs(value):.{decimals}f}"
    if len(shown) != len(mine) or (value < 0) != (right < 0 and float(shown) != 0):
        return ""
    different = [place for place in range(len(mine)) if mine[place] != shown[place]]
    if len(different) == 2:
        first, second = different
        between = mine[first + 1 : second].replace(".", "")
        if not between and mine[first] == shown[second] and mine[second] == shown[first]:
            return "digit swap"
    if len(different) == 1 and len(digits) >= 2 and abs(value - float(shown)) >= 2 * unit * (1 - 1e-9):
        return "one digit changed"
    return ""


def _significant(text: str) -> str:
    return text.replace(".", "").lstrip("0").rstrip("0")
