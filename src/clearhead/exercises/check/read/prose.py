"""Decide which words with numbers look like a part of the calculation, and must not be lost in silence.

Dates, `Question 3`, marks and settings such as `d_k = 4` are prose; a row of numbers, a result and a stated decimal are
not.
"""

import re

_MAX_LENGTH = 2000
_NUMBER = r"[-−+]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)%?"
_COUNTED = (
    "question|exercise|problem|task|part|page|section|chapter|figure|table|equation|step|head|layer|row|column|token|"
    "word|line|version|week|sheet|lecture|homework|assignment|group|room|number|example|mark|point|digit|decimal|"
    "sentence|place|minute|year|matri|dimension"
)
_ASIDES = re.compile(
    rf"\b[0-9]{{1,4}}[./:-][0-9]{{1,2}}[./:-][0-9]{{1,4}}\b|\b[0-9]{{1,2}}:[0-9]{{2}}\b|"
    rf"\b(?:{_COUNTED})\w{{0,3}}[ #.:(]{{0,3}}[0-9][0-9.]{{0,4}}\b|"
    rf"\b[0-9][0-9./]{{0,6}} ?(?:marks?|points?|{_COUNTED})\w{{0,3}}\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|"
    r"nov|dec)[a-z]{0,6}\.? [0-9]{1,4}(?:, [0-9]{4})?|^\s*\(?[0-9]{1,3}[.)]",
    re.IGNORECASE,
)
_TITLE = re.compile(
    r"(?i)(?:exercise |practice |problem )?(?:sheet|page|question|exercise|task|group|week|version|lecture|homework|"
    r"assignment|room|student)(?: (?:number|no\.?|id))?"
)
_ROW = re.compile(rf"(?<![\w.^_√])({_NUMBER})((?:[\s,;|&]+{_NUMBER})+)(?![\w^])")
_RESULT = re.compile(rf"[=≈]\s?\(?{_NUMBER}")
_DECIMAL = re.compile(r"(?<![\w.^_√])[0-9]*\.[0-9]+(?![\w^.])")
_STATES = re.compile(r"(?i)\b(?:is|are|was|becomes?|gives?|gave|gets?|got|equals?|makes?|comes? to)\b|[=≈:]")
_STATED = re.compile(rf"(?i)\b(?:is|was|becomes?|gives?|gave|gets?|got|equals?|makes?|comes? to)\s+{_NUMBER}(?![\w^])")
_SETTING = re.compile(
    r"(?i)(?:.*\s)?(?:d(?:_?\{?(?:k|v|q|h|model|ff|head|in|out)\}?)?|n_?heads|heads?|tokens?|ε|eps|epsilon|seed|lr|"
    r"π|√\(?[\w.]+\)?|sqrt\(?[\w.]+\)?)\s*"
).fullmatch


def is_setting(name: str, value: str) -> bool:
    """Return whether `name = value` states a size or a constant: d_k = 4, √2 = 1.41, e = 2.718."""
    if name.strip() == "e":
        return value.startswith("2.7")
    return len(name) < _MAX_LENGTH and _SETTING(name) is not None


def is_title(name: str) -> bool:
    """Return whether the number after a name counts pages or people: `Sheet: 3`, `Student number: 42`."""
    return _TITLE.fullmatch(name) is not None


def has_numbers(text: str) -> bool:
    """Return whether a text has numbers that are neither dates nor a part of `layer 1` and the like."""
    return any(letter.isdigit() for letter in _ASIDES.sub(" ", text[:_MAX_LENGTH]))


def has_row(text: str) -> bool:
    """Return whether a text has a row of decimals or of three numbers; `1, 0 elsewhere` is a definition."""
    rows = [row[0] for row in _ROW.finditer(text[:_MAX_LENGTH])]
    return any("." in row or len(re.findall(_NUMBER, row)) > 2 for row in rows)


def looks_like_calculation(text: str) -> bool:
    """Return whether a line of words holds a row of numbers, a result or a decimal that it states."""
    text = _ASIDES.sub(" ", text[:_MAX_LENGTH])
    if not has_numbers(text):
        return False
    if _RESULT.search(text) or _STATED.search(text):
        return True
    for row in _ROW.finditer(text):
        if "." in row[0] or len(row[2].split()) > 1:
            return True
    num_words = sum(word.isalpha() for word in text.split())
    return _DECIMAL.search(text) is not None and (num_words < 2 or _STATES.search(text) is not None)
