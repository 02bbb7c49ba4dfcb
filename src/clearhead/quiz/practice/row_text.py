"""Numbers as they are typed in one row of a matrix, and texts with the decimal sign that is wanted."""

import re

from clearhead.check.read.number import read_cell, visible

_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_COMMA = re.compile(r"(?<=\d),(?=\d)|^([-+−]?),(?=\d)")
MAX_TYPED = 2_000  # characters of a row


def shown(text: str, *, has_decimal_comma: bool) -> str:
    """Return text with the decimal sign that is wanted."""
    return _POINT.sub(",", text) if has_decimal_comma else text


def split_row(typed: str, count: int, *, has_decimal_comma: bool) -> list[str]:
    """Return the numbers of a row as texts with decimal points, or raise ValueError with the reason.

    Numbers are separated by spaces or semicolons, and by commas if these are not decimal signs.
    """
    if len(typed) > MAX_TYPED:
        raise ValueError(f"a row can have at most {MAX_TYPED:,} characters")
    separators = r"[;\s]+" if has_decimal_comma else r"[;,\s]+"
    cells = [cell for cell in re.split(separators, typed.strip().strip("[]()|")) if cell]
    if has_decimal_comma:
        cells = [_COMMA.sub(r"\1.", cell) for cell in cells]
    if len(cells) != count:
        are = "number is" if count == 1 else "numbers are"
        comma = ""
        if len(cells) == 2 * count and "," in typed and not has_decimal_comma:
            comma = " A comma separates two numbers: write decimals with a point, or start again with decimal commas."
        raise ValueError(f"{count} {are} needed, and you wrote {len(cells)}.{comma}")
    for cell in cells:
        number = read_cell(cell)
        if number.problem:
            raise ValueError(f"'{visible(cell)}' cannot be used: {number.problem}.")
        if number.value in (float("inf"), float("-inf")):
            raise ValueError(f"'{visible(cell)}' cannot be used: every number here is finite.")
    return cells
