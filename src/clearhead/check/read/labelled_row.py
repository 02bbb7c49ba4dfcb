"""Read rows of numbers with a label, `sun: 0.31 0.45 0.24` or `row 2: (1, 0)`, and the caption above them."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from clearhead.check.read.cell_name import read_name, read_selection
from clearhead.check.read.latex import clean_cell, is_number, split_numbers
from clearhead.check.read.number import is_blank
from clearhead.check.read.prose_number import looks_like_calculation
from clearhead.check.read.symbol import Part, Symbol, plain, read_symbol

_LABEL = re.compile(
    r"\s{0,8}(?:[-*•+]\s{1,4})?(?:(?:for|of)\s)?(?:(?:row|token|word|query|position|line)\s?#?(?P<counted>\d{1,2}|\w{1,20})|"
    r"(?P<number>\d{1,2})(?=\s?[.):]\s)|[*_`\"']{0,3}(?P<word>[^\W\d_][\w'’-]{0,20}|<\w{1,10}>)[*_`\"']{0,3})"
    r"\s?(?P<sign>[:=|→⇒.)]|->|=>|\s)\s{0,9}(?P<rest>[-−+–.\d(\[{$√½∞_?].{0,2000})"
)
_NAMED = re.compile(
    r"(?P<name>[^:=≈]{1,60}?)(?:\s?:|\s(?:is|are|becomes?|equals?))\s{1,9}(?P<rest>[-−+–.\d(\[][^=≈]{0,2000})",
    re.IGNORECASE,
)
_MATRIX = re.compile(r"\[\s?\[[-−+–.,;\d\s\[\]%eE∞/]{1,1900}\]\s?\]")  # [[1, 2], [3, 4]]
_CATEGORIES: tuple[tuple[str, Part, str], ...] = (
    (r"weighted sums?|multipl\w+ (?:by|with) V|times V|context|outputs?\b", "output", "output"),
    (r"soft-?max|weights?\b|normali[sz]\w*", "weights", "weights"),
    (r"mask\w*", "scaled", "masked scores"),
    (r"divid\w* by|scal(?:e|ed|ing)\b|/ ?√", "scaled", "scaled scores"),
    (r"dot products?|scores?|Q ?K(?:ᵀ|\^?T)", "scores", "scores"),
)
_NO_LABEL = frozenset(
    [
        "marks",
        "points",
        "page",
        "date",
        "name",
        "student",
        "grade",
        "total",
        "question",
        "exercise",
        "class",
        "group",
        "time",
        "note",
    ]
)
_OF_ANOTHER = re.compile(r"(?i)\b(?:of|on|to|over|from)\b.*$")


@dataclass(frozen=True)
class LabelledRow:
    """The numbers of a line, and the label before them: a token, or the number of the row."""

    label: str
    cells: tuple[str, ...]


def labelled_row(line: str, tokens: Collection[str], *, can_be_one: bool = False) -> LabelledRow | None:
    """Return the row of a line, or None if the line is anything else.

    Without known tokens, any word that is not the name of a line can be a label. With `can_be_one`, a token can have
    one number.
    """
    match = _LABEL.fullmatch(line.rstrip(" .;,\\"))
    if match is None:
        return None
    word, sign = match["word"] or "", match["sign"]
    is_token = word.strip("<>").casefold() in tokens
    if word and not is_token:
        numbered = re.fullmatch(r"[qkxvQKXV]_?(\d{1,2})", word)
        if tokens and not (numbered and sign in (":", "|")):
            return None
        if sign not in (":", "|", "→", "->") or (not numbered and _names_line(word)) or word.lower() in _NO_LABEL:
            return None
    if match["counted"] and not (match["counted"].isdecimal() or match["counted"].casefold() in tokens):
        return None
    cells = _cells(match["rest"])
    if len(cells) < (1 if can_be_one and is_token and sign in (":", "|", "→") else 2):
        return None
    return LabelledRow(match["counted"] or match["number"] or word, cells)


def _names_line(word: str) -> bool:
    symbol = read_symbol(word)
    return symbol is not None and symbol.is_line


def _cells(text: str) -> tuple[str, ...]:
    """Return the numbers of a row, with or without brackets; empty if there is other text."""
    text = text.strip().strip("$").strip(" |")
    inner = re.fullmatch(r"[(\[{]\s?([^()\[\]{}]{1,1900})\s?[)\]}]", text)
    text = inner[1] if inner else text
    separator = ";" if ";" in text else "|" if "|" in text else "," if "," in text else ""
    cells = [clean_cell(cell) for cell in text.split(separator)] if separator else split_numbers(text) or text.split()
    is_row = all(is_number(cell) or is_blank(cell) for cell in cells) and any(is_number(cell) for cell in cells)
    return tuple(cells) if is_row else ()


def named_row(line: str, tokens: Collection[str]) -> str:
    """Return `scores for sun: 2, 0, 2` or `The weights of moon are 0.1 0.9.` as an equation, else an empty text."""
    match = _NAMED.fullmatch(line.rstrip(" .;,"))
    if match is None or not (_cells(match["rest"]) or _MATRIX.fullmatch(match["rest"])):
        return ""
    symbol = read_name(match["name"], tokens)
    return f"{match['name']} = {match['rest']}" if symbol is not None and symbol.is_line else ""


def labelled_rows(lines: Sequence[str], at: int, tokens: Collection[str]) -> list[LabelledRow]:
    """Return the rows of the lines from `at` on, until a line without a label or numbers."""
    rows: list[LabelledRow] = []
    while at < len(lines) and len(rows) < 2000:
        row = labelled_row(lines[at], tokens, can_be_one=True)
        if row is None or (rows and (len(row.cells) == 1) != (len(rows[0].cells) == 1)):
            break
        rows.append(row)
        at += 1
    return [] if len(rows) == 1 and len(rows[0].cells) == 1 else rows


def captioned(text: str, tokens: Collection[str]) -> Symbol | None:
    """Return the line that a caption names or describes: `2. Weights`, `Step 3: softmax`, `divide by √2`."""
    if len(text) > 80 or looks_like_calculation(text):
        return None
    title = text.rstrip(" =:*.")
    symbol = read_selection(title, tokens)
    if symbol is not None:
        return symbol
    shown = plain(title)
    described = _described(_OF_ANOTHER.sub("", shown)) if _OF_ANOTHER.search(shown) else None
    symbol = read_symbol(title)
    is_known = symbol is not None and symbol.part is not None
    if described is None and re.search(r"(?i)\bmask", shown):
        described = _described(shown)
    described = described or (symbol if is_known else _described(shown))
    return described or (symbol if symbol is not None and symbol.is_line else None)


def _described(phrase: str) -> Symbol | None:
    """Return the only line whose words a phrase contains."""
    if len(phrase.split()) > 10 or re.search(r"(?i)\b(?:following|these|those|given)\b", phrase):
        return None
    parts = [(part, name) for pattern, part, name in _CATEGORIES if re.search(rf"(?i)\b(?:{pattern})", phrase)]
    if len(parts) > 1 and parts[0][0] == "scaled":  # scores that are scaled, or masked
        parts = parts[:1]
    return Symbol(parts[0][1], parts[0][0]) if len(parts) == 1 else None
