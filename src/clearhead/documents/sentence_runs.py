"""Decide what of a sentence is sent to the translator, and what if a protected part does not survive."""

from collections.abc import Sequence
from dataclasses import replace

from clearhead.documents.source_tokens import SourceTokens
from clearhead.documents.target_tokens import Run

_STAND_IN = "X"  # a model copies X1 more often than code or {name}: tried on English into Spanish, Hindi and Bengali
_MAX_STAND_INS = 6  # of one sentence; with more, models lose some


def runs_of(source: SourceTokens, sentence: tuple[int, int], *, is_divided: bool = False) -> list[Run]:
    """Return the runs of a sentence: one with words in place of its protected parts, and signs such as `&` as they are.

    If the translation loses one of them, the sentence is divided: the text between them is translated, and they are
    copied. A sentence with many protected parts is divided at once.
    """
    first, last = sentence
    if not has_letters(source, first, last):
        return [Run(first, last)]
    groups = _groups(source, [index for index in range(first, last) if source.tokens[index].is_protected])
    if is_divided or len(groups) > _MAX_STAND_INS:
        return _divided(source, sentence)
    return [_sent(source, first, last, _names(source, sentence, list(groups)), groups)]


def _divided(source: SourceTokens, sentence: tuple[int, int]) -> list[Run]:
    """Return the text between protected parts and signs as fragments, and them as they are."""
    start, last = sentence
    runs = []
    for index in range(start, last):
        if source.tokens[index].is_protected or source.tokens[index].is_fragile:
            runs += [*_fragment(source, start, index, sentence), Run(index, index + 1)]
            start = index + 1
    return [*runs, *_fragment(source, start, last, sentence)]


def _fragment(source: SourceTokens, start: int, end: int, sentence: tuple[int, int]) -> list[Run]:
    """Return the runs of the text between two protected parts; punctuation that touches one of them is copied."""
    if not has_letters(source, start, end):
        return [Run(start, end)] if start < end else []
    first, last = start, end
    while start > sentence[0] and not source.tokens[first].is_core and _is_joined(source, first):
        first += 1
    while end < sentence[1] and not source.tokens[last - 1].is_core and _is_joined(source, last):
        last -= 1
    text = replace(_sent(source, first, last, {}, {}), is_fragment=True)
    return [run for run in (Run(start, first), text, Run(last, end)) if run.first < run.last]


def _is_joined(source: SourceTokens, index: int) -> bool:
    """Return whether there is no white space before a token."""
    start, end = source.gap(index)
    return start == end


def has_letters(source: SourceTokens, first: int, last: int) -> bool:
    """Return whether there is a letter outside the tokens that stay; digits and signs need no translation."""
    tokens = source.tokens
    return any(
        not (tokens[index].is_protected or tokens[index].is_fragile) and any(map(str.isalpha, source.string(index)))
        for index in range(first, last)
    )


def _groups(source: SourceTokens, protected: Sequence[int]) -> dict[int, int]:
    """Return the first and the last token, exclusive, of protected tokens with only signs between them."""
    groups: dict[int, int] = {}
    first = -1
    for index in protected:
        between = range(groups.get(first, index), index + 1)
        is_joined = first >= 0 and all(
            source.gap(number)[0] == source.gap(number)[1] and (number == index or not source.tokens[number].is_core)
            for number in between
        )
        first = first if is_joined else index
        groups[first] = index + 1
    return groups


def _names(source: SourceTokens, sentence: tuple[int, int], protected: Sequence[int]) -> dict[int, str]:
    """Return a word that the sentence does not contain for each protected token."""
    text = "".join(source.string(index) for index in range(*sentence) if not source.tokens[index].is_protected)
    names: dict[int, str] = {}
    number = 1
    for index in protected:
        while f"{_STAND_IN}{number}" in text:
            number += 1
        names[index] = f"{_STAND_IN}{number}"
        number += 1
    return names


def _sent(source: SourceTokens, first: int, last: int, stand_ins: dict[int, str], groups: dict[int, int]) -> Run:
    words: list[list[int]] = []
    texts: list[str] = []
    index = first
    while index < last:
        start, end = source.gap(index)
        text = stand_ins.get(index) or source.string(index)
        if index == first or start < end:
            words.append([index])
            texts.append(text)
        else:
            words[-1].append(index)
            texts[-1] += text
        index = groups.get(index, index + 1)
    text = " ".join(texts)
    fragile = [source.string(index) for index in range(first, last) if source.tokens[index].is_fragile]
    signs = tuple(sign for sign in fragile if sign in text)
    return Run(first, last, text, tuple(map(tuple, words)), stand_ins, groups, signs)
