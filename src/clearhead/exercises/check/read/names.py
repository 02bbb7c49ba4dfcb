"""Read the name of a statement: the line it belongs to, and the row or cell that it selects.

`A[2, 3]`, `α_{21}`, `q1·k2`, `z_sun`, `row 2 of A` and `weights for sun` are read here; what the rest of the name means
is the business of the symbols of the sheet.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from clearhead.check.line_words import SUBSCRIPTS

PRODUCT = "QKᵀ"  # the name of the cells q·k
_MAX_NAME = 80  # characters
_LEADING = re.compile(r"(?i)^(?:[\s∴→⇒•*>✓–-]|\d{1,2}[.)](?=\s)|(?:so|then|now|thus|hence|and|therefore|the|our)\s)+")
_WRAPPED = re.compile(r"(?i)(?:scores?|sim|similarity|dot(?: product)?|inner product)?\s?(?:of\s)?[(<⟨](.+)[)>⟩]")
_TIMES = re.compile(r"(?i)\s*(?:[·⋅∙•×*@,;|]|\.(?!\d)|\bdot\b|\band\b|→|->)\s*|(?<=ᵀ)(?=\w)|\s+")
_TURNED = re.compile(r"(?:ᵀ|\^\{?T\}?|\^⊤|')$")
_OVER = re.compile(r"\s*/\s*\(?\s*(?:√|sqrt)?\s*\(?[\w.]{1,8}\)?\)?$")
_SCORES = re.compile(r"(?i)(?:raw |attention )?scores?|S|E|Q\s?K(?:ᵀ|\^?T)|dot products?")
_ALPHA = re.compile(r"(?<![A-Za-z\\])alpha(?![A-Za-z])")
_RUNNING = re.compile(r"_\{?[ijt]{1,2}\}?$|\^\{?t\}?(?=[;\]])|_t(?=[;\]])")  # the i of α_i says nothing
_TRAILING = re.compile(r"(?i)\s+(?:is|are|was|were|becomes?|gives?|equals?)$")
_INDEX = r"[\w'’<>-]{1,30}"
_VECTOR = re.compile(
    rf"(?P<letter>[^\W\d_])(?:[_^]?(?:\{{({_INDEX})\}}|\(({_INDEX})\)|\[({_INDEX})\]|(\d{{1,3}}))|_({_INDEX}))"
)
_SQUARE = re.compile(rf"(.+?)\s*\[\s*({_INDEX}|pos {_INDEX})\s*(?:(?:,|\]\s*\[|→|->)\s*({_INDEX}|:)\s*)?\]")
_ROUND = re.compile(
    rf"([^\W\d][\w'′ ]{{0,30}}?)[_^]?\s?[({{]\s*[qQ]?({_INDEX})\s*(?:,|→|->|\sto\s|;)\s*[kK]?({_INDEX})\s*[)}}]"
)
_DIGITS = re.compile(r"([^\W\d][\w'′]{0,12}?|scores? |weights? )[_^]?\{?([1-9])(?:[_,]\s?)?([1-9])\}?(['′]*)")
# PE(pos, i) counts from 0.
_POSITION = re.compile(r"PE?\s*\(\s*(?:pos\s*=?\s*)?(\d+)(?:\s*,\s*(?:(?:i|dim)\s*=?\s*)?(\d+))?\s*\)")
_PAIR = re.compile(rf"([^\W\d_]['′]?)_({_INDEX}?)[,_→]({_INDEX})")
_ROW_OF = re.compile(
    rf"(?i)(?:row|column|token|word|query|position)\s?(?:no\.?\s?|#)?({_INDEX})\s?(?:of|in|for|,|:)\s?(?:the\s)?(\S.*)"
)
_PART = re.compile(r"(?i)(?:head|layer|step|block)\s*$")
_ROW_WORDS = r"(?:(?:for|of|at|to|from|in)\s)?(?:the\s)?(row |token |word |query |position )?"
_OF_ROW = re.compile(rf"(?i)(\S.*?)\s?[,(]?\s?{_ROW_WORDS}[\"“'‘]?({_INDEX})[\"”'’]?\)?")


@dataclass(frozen=True)
class Name:
    """A name, and the row and the column that it selects; a column alone does not occur."""

    base: str
    row: str = ""
    column: str = ""

    def __str__(self) -> str:
        index = ", ".join(part for part in (self.row, self.column) if part)
        return f"{self.base}[{index}]" if index else self.base


def read_name(text: str, labels: Collection[str]) -> Name:
    """Return the parts of a name; `labels` are the names of the rows and columns of the sheet, in small letters."""
    name = _LEADING.sub("", text.strip()).rstrip(" :=.").translate(SUBSCRIPTS)
    name = _RUNNING.sub("", _ALPHA.sub("α", _TRAILING.sub("", name)))
    if not name or len(name) > _MAX_NAME:
        return Name(name)
    position = _POSITION.fullmatch(name)
    if position:
        return Name("P", f"pos {position[1]}", f"dim {position[2]}" if position[2] else "")
    return _product(name, labels) or _cell(name, labels) or _row(name, labels) or Name(name)


def is_index(text: str, labels: Collection[str]) -> bool:
    """Return whether a text selects a row or column: a number, or a label."""
    return text.isdecimal() or text.strip("<>").casefold() in labels


def _product(name: str, labels: Collection[str]) -> Name | None:
    """Read q1·k2, dot(q1, k2), sun·moon, q·k2 and s·h1, also divided by a number."""
    over = _OVER.search(name)
    name = name[: over.start()] if over else name
    if over and _SCORES.fullmatch(name):
        return Name("scaled scores")
    wrapped = _WRAPPED.fullmatch(name)
    factors = [_TURNED.sub("", factor) for factor in _TIMES.split((wrapped[1] if wrapped else name).strip()) if factor]
    if len(factors) != 2:
        return None
    base = "scaled scores" if over else PRODUCT
    if all(factor.casefold() in labels for factor in factors):
        return Name(base, *factors) if wrapped or not over else None
    first, second = (_vector(factor, labels) for factor in factors)
    letters = (factors[0][0].casefold(), factors[1][0].casefold())
    if letters == ("q", "k") and first and second:
        return Name(base, first, second)
    if letters == ("k", "q") and first and second:
        return Name(base, second, first)
    if letters == ("q", "k") and len(factors[0]) == 1 and second:  # the only query needs no number
        return Name("scaled scores" if over else "scores", second)
    is_state = re.fullmatch(r"s(?:_?\(?t\)?)?", factors[0]) is not None
    if is_state and letters[1] == "h" and second:
        return Name("e", second)
    return Name("e", first) if letters[0] == "h" and re.fullmatch(r"s(?:_?t)?", factors[1]) and first else None


def _vector(text: str, labels: Collection[str]) -> str:
    """Return the index of q1, q_sun, q(1), or of QL with the initial of a label; an empty text if there is none."""
    match = _VECTOR.fullmatch(text)
    if match is not None:
        index = next(group for group in match.groups()[1:] if group)
        return index if is_index(index, labels) else ""
    initials = [label for label in labels if len(text) == 2 and label[:1] == text[1].casefold()]
    return initials[0] if len(initials) == 1 and text[1].isupper() else ""


def _cell(name: str, labels: Collection[str]) -> Name | None:
    """Read A[2, 3], α_{21}, score(1, 2), w(sun→moon) and e_1,2."""
    square = _SQUARE.fullmatch(name)
    if square:
        column = "" if square[3] in (None, ":") else square[3]
        return Name(square[1].strip(), square[2], column)
    for pattern in (_ROUND, _PAIR):
        match = pattern.fullmatch(name)
        if match and all(is_index(index, labels) for index in match.groups()[1:]):
            return Name(match[1].strip(), match[2], match[3])
    digits = _DIGITS.fullmatch(name)
    return Name(digits[1].strip() + digits[4], digits[2], digits[3]) if digits else None


def _row(name: str, labels: Collection[str]) -> Name | None:
    """Read z_sun, e_{h1}, `row 2 of the weights`, `weights for sun` and `mean of row 2`."""
    vector = _VECTOR.fullmatch(name)
    if vector:
        index = next(group for group in vector.groups()[1:] if group)
        if index.strip("<>").casefold() in labels:
            return Name(vector["letter"], index)
        return None  # a digit may be that of a symbol, such as h1
    match = _ROW_OF.fullmatch(name)
    if match and is_index(match[1], labels):
        return Name(match[2], match[1])
    match = _OF_ROW.fullmatch(name)
    if match is None:
        return None
    if _PART.search(match[1]):
        return None  # V head 1 is a line, not a row
    if match[1].count("(") != match[1].count(")") or match[1][-1] in "./(" or match[1][-1].isdigit():
        return None  # the index is a part of a number or of a function
    is_row = match[3].casefold() in labels or (match[3].isdecimal() and (match[2] or len(match[1]) > 2))
    return Name(match[1].strip(), match[3]) if is_row else None
