"""Decide which words with numbers look like a part of the calculation, and must not be lost in silence.

Dates, page numbers, marks, `Question 3` and settings such as `d_k = 4` are prose. Rows of numbers, sums and results are
a part of the calculation.
"""

import re
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

from clearhead.check.read.latex import is_number
from clearhead.check.read.number import read_cell

_MAX_ROWS = 10_000
_ASIDES = re.compile(
    r"\b\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b|\b\d{1,2}:\d{2}(?::\d{2})?\b|"
    r"\b\d{1,2}(?:st|nd|rd|th)?\s(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?,?(?:\s\d{4})?|"
    r"\b(?:questions?|q|exercises?|problems?|tasks?|parts?|pages?|pp?|sections?|chapters?|figures?|fig|tables?|eq|"
    r"equations?|steps?|heads?|layers?|rows?|columns?|tokens?|words?|lines?|versions?|weeks?|sheets?|lectures?|"
    r"homework|hw|assignment|group|class|room|no|nr|number|id|aufgabe|ejercicio|example|blatt)\.?\s?[#:]?\s?\(?"
    r"\d{1,9}(?:\.\d{1,2})?[a-z]?(?:\s?(?:,|and|to|[-–])\s?\d{1,9}(?:\.\d{1,2})?[a-z]?){0,3}\b|"
    r"[\[(]?\b\d{1,3}(?:\.\d)?\s?(?:/|of|out of)?\s?\d{0,3}\s?(?:marks?|points?|pts?|decimals?|digits|places)\b[\])]?|"
    r"\b(?:marks?|points?|grade|total)\b\s?[:=]?\s?\d{1,3}(?:\.\d{1,2})?(?:\s?/\s?\d{1,3})?|"
    r"^\s{0,3}(?:\d{1,2}[.)]|\(\d{1,2}\)|\d{1,2})\s|^\s{0,3}\d{1,4}\s{0,3}$",
    re.IGNORECASE,
)
_NUMBER = r"(?<![\w.^_√])[-−+]?(?:\d{1,300}\.\d{1,300}|\.\d{1,300}|\d{1,300})(?:[eE][-+]?\d{1,4})?%?(?![\w^])"
_RUN = re.compile(rf"{_NUMBER}(?:(?:\s?[,;|&]\s?|\s{{1,9}}){_NUMBER}){{1,400}}")
_DECIMAL = re.compile(r"(?<![\w.^_√])[-−+]?\d{0,300}\.\d{1,300}(?![\w^]|\.\d)")
_SUM = re.compile(rf"{_NUMBER}\s?(?:[+*×·⋅/÷−]|-(?=\s))\s?\(?{_NUMBER}")
_RESULT = re.compile(rf"(?:=|≈)\s?\(?{_NUMBER}")
_LABELLED = re.compile(rf"^[^:]{{1,40}}(?::|→|->)\s?{_NUMBER}\s?\.?$")
_LABEL_AND_NUMBERS = re.compile(
    rf"\s{{0,3}}[^\W\d_][\w'’-]{{0,20}}\s{{1,9}}{_NUMBER}(?:[\s,;]{{1,9}}{_NUMBER}){{1,99}}\s?\.?"
)
_GOT = re.compile(rf"(?i)\b(?:get|got|gives?|gave|comes? to)\s{_NUMBER}")
_LINE_WORD = re.compile(
    r"(?i)\b(?:weights?|scores?|outputs?|answers?|results?|softmax|means?|variances?|deviation|norm|quer(?:y|ies)|keys?|"
    r"values?|sums?|exp|exponentials?|logits?|loss|probabilit(?:y|ies)|attention|context|product)\b"
)
_STATES = re.compile(r"(?i)\b(?:is|are|was|becomes?|gives?|gave|get|got|equals?|makes?|comes? to)\b|=|≈|:")
_SETTING = (
    r"(?:d(?:_?(?:k|v|q|model|ff|h|head|in|out))?|n|m|t|l|b|h|i|j|n_?heads?|num_?heads|heads?|tokens?|"
    r"dim(?:ension)?s?|ε|eps|epsilon|scale|base|lr|temperature|seed|length|size|π|pi|√\s?\(?[\w.]{1,8}\)?|"
    r"sqrt\s?\(?[\w.]{1,8}\)?)"
)
_COUNT = re.compile(r"(?i)[nmtlbhij]|heads?|tokens?|length|size")
_IS_SETTING = re.compile(rf"(?i)(?:.{{0,300}}\s)?{_SETTING}").fullmatch
_SETTINGS = re.compile(
    rf"(?i)(?<![\w'′]){_SETTING}\s?(?:=|≈)\s?{_NUMBER}|(?<![\w'′])(?:e|π)\s?(?:=|≈)\s?[23]\.[17]\d{{0,20}}"
)


def is_setting(name: str, cell: str) -> bool:
    """Return whether `name = cell` only states a size or a constant, such as d_k = 4, √4 = 2 or e ≈ 2.718."""
    name = name.strip(" .,;:(){}$*")
    if name in ("e", "exp(1)", "e^1"):
        return cell.startswith("2.7")
    if _COUNT.fullmatch(name) and not cell.lstrip("+").isdecimal():
        return False  # h = 0.46 is a state, and N = 0.5 a norm: only integers count heads and tokens
    return is_number(cell) and _IS_SETTING(name) is not None


def looks_like_calculation(text: str) -> bool:
    """Return whether a line of words holds a row of numbers, a sum or a result."""
    text = _SETTINGS.sub(" ", _ASIDES.sub(" ", text[:2000]))
    if not any(letter.isdigit() for letter in text):
        return False
    if _LABEL_AND_NUMBERS.fullmatch(text) or _GOT.search(text):
        return True
    for run in _RUN.finditer(text):
        if "." in run[0] or len(re.findall(_NUMBER, run[0])) > 2:
            return True
    if _SUM.search(text) and _RESULT.search(text):
        return True
    if _RESULT.search(text):
        return True
    if not _DECIMAL.search(text):
        return False
    num_words = len(re.findall(r"[^\W\d_]{2,}", text))
    return (
        num_words < 2 or bool(_LABELLED.match(text.strip())) or bool(_LINE_WORD.search(text) and _STATES.search(text))
    )


def given_rows(problem: Mapping[str, Any] | None) -> frozenset[tuple[float, ...]]:
    """Return the rows and the matrices of a problem, each as a list of numbers."""
    rows: set[tuple[float, ...]] = set()
    todo: list[Any] = [problem]
    while todo and len(rows) < _MAX_ROWS:
        part = todo.pop()
        if isinstance(part, Mapping):
            todo.extend(part.values())
        elif isinstance(part, list | tuple):
            todo.extend(part)
            flat = [cell for row in part for cell in (row if isinstance(row, list | tuple) else [row])]
            numbers = [read_cell(str(cell)) for cell in flat[:1000] if isinstance(cell, int | float | str)]
            if len(numbers) > 1 and len(numbers) == len(flat) and not any(number.problem for number in numbers):
                rows.add(tuple(number.value for number in numbers))
    return frozenset(rows)


def restated_numbers(text: str, givens: Collection[tuple[float, ...]]) -> str:
    """Return the only run of numbers in a text if the question gives them: `softmax of 2.1, 0.4`."""
    runs = [match[0] for match in _RUN.finditer(text[:2000])]
    if len(runs) != 1 or _RESULT.search(text) or any(letter.isdigit() for letter in text.replace(runs[0], "")):
        return ""
    numbers = tuple(read_cell(number.replace("−", "-")).value for number in re.findall(_NUMBER, runs[0]))
    return runs[0] if numbers in givens else ""


def holds(expressions: list[str]) -> bool | None:
    """Return whether the numbers of `2/2 = 1` agree to the digits that are shown; None if one is not a number."""
    numbers = [read_cell(text.strip()) for text in expressions]
    if len(numbers) < 2 or any(number.problem for number in numbers):
        return None
    pairs = pairwise(numbers)
    return all(
        abs(one.value - other.value) <= max(0 if one.is_whole else one.unit, 0 if other.is_whole else other.unit) + 1e-9
        for one, other in pairs
    )
