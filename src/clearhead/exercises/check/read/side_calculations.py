"""Numbers that are no line of an exercise: calculations of numbers alone, and settings such as d_k = 4 or √2 = 1.41."""

import re

from clearhead.check.working import Note
from clearhead.exercises.check.read.number import read_cell

_SETTING = re.compile(
    r"(?i)(?:d(?:_?(?:k|v|q|model|ff|h|head|in|out))?|n|m|t|l|b|h|i|j|(?:n_?|num_?)?heads?|tokens?|dim(?:ension)?s?|"
    r"ε|eps|epsilon|scale|base|lr|temperature|seed|length|size|π|pi|pos|(?:√|sqrt)\s?\(?[\w.]{1,8}\)?)"
)
_COUNT = re.compile(r"(?i)[nmtlbhij]|heads?|tokens?|length|size")
_EULER = ("e", "e^1", "exp(1)")


def is_setting(name: str, text: str) -> bool:
    """Return whether `name = text` only states a size or a constant, such as d_k = 4, √4 = 2 or e = 2.718."""
    name = name.strip(" .,;:(){}$*")
    if name in _EULER:
        return text.startswith("2.7")
    if _COUNT.fullmatch(name) and not text.lstrip("+").isdecimal():
        return False  # h = 0.46 is a state: only integers count heads and tokens
    return _SETTING.fullmatch(name) is not None and not read_cell(text).problem


def is_calculation(name: str) -> bool:
    """Return whether a name is a calculation of numbers alone, such as 8.17/9.66 or e^2 + 1."""
    return any(letter.isdigit() for letter in name) and not read_cell(name).problem


def holds(calculation: str, result: str) -> bool:
    """Return whether a calculation gives the result to its last digit, rounded or cut."""
    own, stated = read_cell(calculation), read_cell(result)
    if own.problem or stated.problem:
        return False
    unit = max(own.unit, stated.unit)
    is_rounded = abs(own.value - stated.value) <= unit / 2 + 1e-9 * max(1.0, abs(own.value))
    is_cut = 0.0 <= abs(own.value) - abs(stated.value) < unit and own.value * stated.value >= 0.0
    return is_rounded or (is_cut and not stated.is_whole)


def side_calculation(calculation: str, result: str, line: int) -> Note:
    """Return the note on a calculation that is no line of the exercise; it is only checked."""
    is_right = holds(calculation, result)
    end = "right, and it has no marks" if is_right else "not right, and it was not marked"
    sentence = f"this side calculation is {end}: {calculation} = {result}"
    return Note("read" if is_right else "unplaced", sentence, f"line {line}", line=line)
