"""Statements: the parts of a line of text between its commas, semicolons and equals signs."""

import re

from clearhead.exercises.check.read.grid import is_hole, row_cells

_TAIL = 80  # characters
RELATION = re.compile(r"(?<![<>!])(?::=|=+|≈|≃|≅)(?!>)")
_BRACKETS = r"[\[({][^\[\](){}]*[\])}]|<[^<>=]{1,40}>"
_SEPARATORS = r"\s*;\s*|,\s+|,(?=[^\W\d])|\s+and\s+|\.\s+(?=[^\W\d_a-z])|\s{2,}"
_PARTS = re.compile(f"({_BRACKETS})|({_SEPARATORS})")
is_bare = re.compile(r"[-−+]?[0-9.]+%?").fullmatch
_NUMERIC = re.compile(r"(?<![\w_√])\.?[0-9]")
_TRAILING = re.compile(r"(?:\s*(?:[✓✗✔✘□■.,;⇒]|→[^=→]{0,40}|\\)|\s+\([^\W\d][^()0-9]*\))+$")


def without_tail(side: str) -> str:
    """Return a side without ticks, full stops and remarks at its end."""
    return side[:-_TAIL] + _TRAILING.sub("", side[-_TAIL:])


def has_number(text: str) -> bool:
    """Return whether a side has a number or a matrix."""
    return any(map(is_hole, text)) or _NUMERIC.search(text) is not None or "∞" in text


def statements(text: str) -> list[str]:
    """Return the statements of a line: `a = 1, b = 2 and c = 3` are three, `A = 1/2, 2/4 = 0.5, 0.5` is one."""
    pieces = [""]
    separators = list[str]()
    start = 0
    for match in _PARTS.finditer(text):
        if match[2] and match.start():
            pieces[-1] += text[start : match.start()]
            separators.append(match[2])
            pieces.append("")
            start = match.end()
    pieces[-1] += text[start:]
    are_all = all(RELATION.search(piece) for piece in pieces)
    parts = [pieces[0]]
    for separator, piece in zip(separators, pieces[1:], strict=True):
        name = RELATION.split(piece)[0].strip() if RELATION.search(piece) else ""
        is_named = any(map(str.isalpha, name)) or not any(map(is_hole, name))
        if name and is_named and not is_bare(name) and (are_all or not row_cells(name)):
            parts.append(piece)
        else:
            parts[-1] += separator + piece
    return parts
