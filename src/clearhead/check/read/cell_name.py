"""Read the names of single cells and rows: q1·k2, score(1, 2), e_{12}, α_{2,1}, z_sun, weights for moon, row 2 of A.

Each becomes the name of its line with a selection, `QKᵀ[1, 2]` or `weights[moon]`, as a working file writes it.
"""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from clearhead.check.read.symbol import Part, Symbol, is_line_word, plain, read_symbol
from clearhead.steps.symbols import SUBSCRIPT_DIGITS

_DIGITS = str.maketrans(SUBSCRIPT_DIGITS, "0123456789")
_PREFIX = re.compile(
    r"^(?:[\s{}∴→⇒•*#>✓,;:|-]|[–—]|\d{1,2}[.)](?=\s)|\([a-z0-9]{1,2}\)(?=\s)|"
    r"(?:so|then|now|thus|hence|and|therefore|we get|(?:the )?step\s?\d{1,2}\s?[:.)–-]|the)\b)",
    re.IGNORECASE,
)
_WORD = r"[^\W\d_]['’\w-]{1,20}"
_WORDS = re.compile(r"[A-Za-z][A-Za-z -]{2,40}").fullmatch
_INDEX = rf"(?:\d{{1,2}}|{_WORD})"


def _vector(letter: str) -> str:
    """Return the pattern of q1, q_1, q(1), q_sun or q[sun]; two groups, of which one is set."""
    word = rf"[_^][({{\[]?({_WORD})[)}}\]]?|[({{\[]({_WORD})[)}}\]]"
    return rf"{letter}(?:[_^]?[({{\[]?(\d{{1,2}})[)}}\]]?|{word})"


_TIMES = r"\s?(?:·|⋅|∙|•|×|x|\*|\.|@|,|;|\||dot)?\s?"
_TURN = r"(?:ᵀ|\^?T(?![a-z])|')?"
_OVER = r"\s?(?:/|÷)\s?(?:\(?\s?(?:√|sqrt)?\s?\(?[\w.]{1,8}\)?\)?)"
_CALLED = r"(?:(?:score|scores|sim|similarity|dot|dot product|inner product)\s?(?:of\s)?)?[(<⟨]?\s?"
_QUERY_KEY = re.compile(
    rf"(?i:{_CALLED}){_vector('[qQ]')}{_TURN}{_TIMES}(?:and\s)?{_vector('[kK]')}{_TURN}\s?[)>⟩]?(?P<over>{_OVER})?"
)
_KEY_QUERY = re.compile(
    rf"(?i:{_CALLED}){_vector('[kK]')}{_TURN}{_TIMES}{_vector('[qQ]')}{_TURN}\s?[)>⟩]?(?P<over>{_OVER})?"
)
_ONE_QUERY = re.compile(rf"(?i:{_CALLED})[qQ]{_TURN}{_TIMES}{_vector('[kK]')}{_TURN}\s?[)>⟩]?(?P<over>{_OVER})?")
_STATES = re.compile(
    rf"(?i:{_CALLED})s(?:[_^]?\(?t\)?)?{_TURN}{_TIMES}(?:W(?:_a)?{_TIMES})?h[_^]?[({{\[]?(\d{{1,2}})[)}}\]]?\s?[)>⟩]?"
)
_STATES_TURNED = re.compile(rf"(?i:{_CALLED})h[_^]?(\d{{1,2}}){_TURN}{_TIMES}s(?:[_^]?\(?t\)?)?\s?[)>⟩]?")
_PAIR = re.compile(
    rf"(?P<name>[A-Za-zα-ω]{{1,12}}(?:\s(?:scores?|weights?))?['′]{{0,2}})\s?"
    rf"(?:[_^]?\s?[({{\[]\s?[qQ]?(?P<i>{_INDEX})\s?(?:,|;|→|->|\]\s?\[|\sto\s|-)\s?[kK]?(?P<j>{_INDEX})\s?[)}}\]]|"
    rf"_(?P<k>{_INDEX})(?:,|→|->|_)\s?(?P<l>{_INDEX})|_?(?P<m>[1-9])(?P<n>[1-9]))"
)
_TOKEN_ROW = re.compile(rf"([A-Za-zα])(?:[_^][({{\[]?({_WORD})[)}}\]]?|[({{\[]({_WORD})[)}}\]])")
_TOKENS = re.compile(rf"({_WORD})\s?(?:·|⋅|∙|•|×|\*|\.|,|→|->|to)\s?({_WORD})")
_BRACKETED = re.compile(rf"([^\[\]()=]{{1,30}}?)\s?\[\s?({_INDEX})\s?(?:,\s?:\s?)?\]")
_ROW_OF = re.compile(
    rf"(?:row|token|word|query|position)\s?(?:no\.?\s?|#)?({_INDEX})\s?(?:of|in|for|,|:)\s?(?:the\s)?(\S.{{0,40}})",
    re.IGNORECASE,
)
_OF_ROW = re.compile(
    rf"(\S.{{0,40}}?)\s?[,(]?\s?(?:for|of|at|to|from|in|by)?\s?(?:the\s)?"
    rf"(?P<kind>row|token|word|query|position)?\s?(?:no\.?\s?|#)?[\"'“‘]?({_INDEX})[\"'”’]?\)?",
    re.IGNORECASE,
)
_SCORE_NAMES = ("score", "scores", "sim", "similarity", "dot", "logit", "raw score", "raw scores", "attention score")
_SCALED_NAMES = ("scaled", "scaled score", "scaled scores")
_WEIGHT_NAMES = ("weight", "weights", "attention", "attn", "alpha", "α", "a", "w", "p", "softmax", "attention weight")
_LETTER_NAMES = ("e", "E", "s", "S", "A", "P", "S'", "S′", "E'", "E′", "s'", "e'")
_NORM_LETTERS = ("N", "R", "μ", "σ", "σ²")
_RESULTS = ("Q", "K", "V", "scores", "scaled", "weights", "output")


def read_name(raw: str, tokens: Collection[str] = ()) -> Symbol | None:
    """Return the name before an equals sign or a colon: of a cell, of a row or of a complete line."""
    return read_selection(raw, tokens) or read_symbol(_with_greek(raw))


def read_selection(raw: str, tokens: Collection[str] = ()) -> Symbol | None:
    """Return the name of a cell or of a row, or None; `tokens` are the words of the exercise in lower case."""
    text = _tidied(raw)
    if not text or len(text) > 60 or "▢" in text:
        return None
    return (
        _score(text, tokens)
        or _pair(text, tokens)
        or _token_row(text, tokens)
        or _bracketed_row(text, tokens)
        or _row_in_words(text, tokens)
    )


def token_lists(problem: Mapping[str, Any] | None) -> tuple[tuple[str, ...], ...]:
    """Return the lists of tokens that a problem names, in lower case."""
    lists: list[tuple[str, ...]] = []
    todo: list[Any] = [problem]
    while todo and len(lists) < 100:
        part = todo.pop()
        if isinstance(part, Mapping):
            for key, value in part.items():
                if str(key).endswith("tokens") and isinstance(value, list | tuple):
                    lists.append(tuple(str(word).strip("<>").casefold() for word in value))
                else:
                    todo.append(value)
        elif isinstance(part, list | tuple) and part and isinstance(part[0], Mapping):
            todo.extend(part)
    return tuple(lists)


def _with_greek(raw: str) -> str:
    return re.sub(r"(?<![A-Za-z\\])alpha(?![A-Za-z])", "α", raw)


@lru_cache(maxsize=2**12)  # the same few names are in every working
def _tidied(raw: str) -> str:
    text = _with_greek(plain(raw[-400:])).translate(_DIGITS)
    text = text.rstrip(" :=")
    text = text.rpartition(": ")[2] if ": " in text else text
    for _ in range(4):
        text = _PREFIX.sub("", text, count=1).strip()
    return text.strip(" .,;*")


def _first(groups: tuple[str | None, ...]) -> str:
    return next((group for group in groups if group), "")


def _score(text: str, tokens: Collection[str]) -> Symbol | None:
    """Read the product of a query and a key, or of two tokens of the exercise."""
    words = _TOKENS.fullmatch(text)
    if words and words[1].casefold() in tokens and words[2].casefold() in tokens:
        return _cell("QKᵀ", "scores", words[1], words[2])
    for pattern, order in ((_QUERY_KEY, (0, 3)), (_KEY_QUERY, (3, 0))):
        match = pattern.fullmatch(text)
        if match:
            query, key = (_first(match.groups()[start : start + 3]) for start in order)
            is_scaled = bool(match["over"])
            return _cell("scaled scores" if is_scaled else "QKᵀ", "scaled" if is_scaled else "scores", query, key)
    one_query = _ONE_QUERY.fullmatch(text)
    if one_query:
        key = _index(_first(one_query.groups()[:3]))
        return Symbol(f"scaled scores[{key}]", "scaled") if one_query["over"] else Symbol(f"scores[{key}]", "scores")
    match = _STATES.fullmatch(text) or _STATES_TURNED.fullmatch(text)
    return Symbol(f"e[{int(match[1])}]", "scores", int(match[1])) if match else None


def _cell(name: str, part: Part, row: str, column: str) -> Symbol:
    return Symbol(f"{name}[{_index(row)}, {_index(column)}]", part, int(row) if row.isdecimal() else 0)


def _index(text: str) -> str:
    return str(int(text)) if text.isdecimal() else text


def _pair(text: str, tokens: Collection[str]) -> Symbol | None:
    """Read a name with two indices."""
    match = _PAIR.fullmatch(text)
    if match is None:
        return None
    row, column = (_first(tuple(match[group] for group in names)) for names in ("ikm", "jln"))
    if not all(index.isdecimal() or index.casefold() in tokens for index in (row, column)):
        return None
    name = match["name"].strip()
    if name.lower() in _SCORE_NAMES:
        return _cell("scores", "scores", row, column)
    if name.lower() in _SCALED_NAMES:
        return _cell("scaled scores", "scaled", row, column)
    if name.lower() in _WEIGHT_NAMES and name not in ("A", "P", "W"):
        return _cell("α" if name == "α" else "weights", "weights", row, column)
    if name in _LETTER_NAMES:
        part: Part = "weights" if name in "AP" else "scaled" if name[-1] in "'′" else "scores"
        return _cell(name, part, row, column)
    return None


def _token_row(text: str, tokens: Collection[str]) -> Symbol | None:
    """Read z_sun or q(moon), where the token is one of the exercise."""
    match = _TOKEN_ROW.fullmatch(text)
    token = _first(match.groups()[1:]) if match else ""
    if match is None or token.casefold() not in tokens:
        return None
    return _row_of(read_symbol(f"{match[1]}_1"), token)


def _bracketed_row(text: str, tokens: Collection[str]) -> Symbol | None:
    """Read A[2], weights[moon] or A[2, :]."""
    match = _BRACKETED.fullmatch(text)
    if match is None or not _is_row(match[2], tokens):
        return None
    letter = read_symbol(f"{match[1]}_1") if len(match[1]) == 1 and match[1].islower() else None
    if letter is None and match[1] in _NORM_LETTERS:
        return Symbol(f"{match[1]}[{_index(match[2])}]")
    return _row_of(letter or _line(match[1]), match[2])


def _row_of(symbol: Symbol | None, row: str) -> Symbol | None:
    """Return a row of a line."""
    if symbol is None or not symbol.is_line:
        return None
    name = symbol.name.partition("[")[0]
    return Symbol(f"{name}[{_index(row)}]", symbol.part, int(row) if row.isdecimal() else 0)


def _row_in_words(text: str, tokens: Collection[str]) -> Symbol | None:
    """Read `row 2 of the weights`, `weights for moon` and `output of token 1`."""
    match = _ROW_OF.fullmatch(text)
    if match:
        row, name = match[1], match[2]
        return _row_of(_line(name), row) if _is_row(row, tokens) else None
    match = _OF_ROW.fullmatch(text)
    if match is None:
        return None
    name, row = match[1].strip(), match[3]
    is_counted = row.isdecimal() and (match["kind"] is not None or (is_line_word(name) and _WORDS(name) is not None))
    return _row_of(_line(name), row) if is_counted or row.casefold() in tokens else None


def _line(name: str) -> Symbol | None:
    """Return the line that a word names, such as `the attention weights` or `masked scores`."""
    name = re.sub(r"(?i)^(?:the|final|resulting)\s", "", name.strip())
    if re.fullmatch(r"(?i)masked(?: scaled)?(?: scores?)?", name):
        return Symbol("masked scores", "scaled")
    symbol = read_symbol(name)
    if symbol is None or symbol.row:
        return None
    if is_line_word(name):
        return symbol
    if symbol.part not in _RESULTS:
        return None
    is_last_word = " " in name and len(symbol.name) < len(name) and not name.lower().startswith("raw")
    return None if is_last_word else symbol


def _is_row(row: str, tokens: Collection[str]) -> bool:
    return row.isdecimal() or row.casefold() in tokens
