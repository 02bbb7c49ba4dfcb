"""Write the number of a symbol as a subscript: head 4 of A is A₄."""

SUBSCRIPT_DIGITS = "₀₁₂₃₄₅₆₇₈₉"
_SUBSCRIPTS = str.maketrans("0123456789", SUBSCRIPT_DIGITS)


def subscript(number: int) -> str:
    """Return a number in subscript digits."""
    return str(number).translate(_SUBSCRIPTS)
