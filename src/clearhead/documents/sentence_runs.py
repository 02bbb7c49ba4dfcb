"""Decide what of a sentence is sent to the translator, and what to try when a protected part does not survive."""

from collections.abc import Sequence
from dataclasses import replace

from clearhead.documents.source_tokens import SourceTokens
from clearhead.documents.target_tokens import Run

# A model copies such words more often than code or {name}: tried on English into Spanish, Hindi and Bengali.
_STAND_INS = ("X", "@")
_MAX_STAND_INS = 6  # of one sentence; with more, models lose some
NUM_ATTEMPTS = len(_STAND_INS) + 2


def runs_of(source: SourceTokens, sentence: tuple[int, int], attempt: int) -> list[Run]:
    """Return the runs of a sentence at an attempt: first with words in place of its protected parts, then without them.

    Signs such as `&` are sent as they are at first; if one is lost, they are protected too. The last attempt translates
    the text between the protected parts separately, so that they cannot be lost.
    """
    first, last = sentence
    if not has_letters(source, first, last):
        return [Run(first, last)]
    tokens = source.tokens
    if any(tokens[index].is_fragile for index in range(first, last)):
        if attempt == 0:
            protected = [index for index in range(first, last) if tokens[index].is_protected]
            return _with_stand_ins(source, sentence, protected, 0)
        return _without_signs(source, sentence, attempt - 1)
    protected = [index for index in range(first, last) if tokens[index].is_protected]
    return _with_stand_ins(source, sentence, protected, attempt)


def _without_signs(source: SourceTokens, sentence: tuple[int, int], attempt: int) -> list[Run]:
    """Return the runs of a sentence whose fragile signs are protected; those at its edges are left out."""
    first, last = sentence
    while _is_sign(source, first):
        first += 1
    while _is_sign(source, last - 1):
        last -= 1
    protected = [
        index for index in range(first, last) if source.tokens[index].is_protected or source.tokens[index].is_fragile
    ]
    if any(_is_sign(source, index) and _is_attached(source, index, first, last) for index in protected):
        attempt = len(_STAND_INS)  # a word in place of the sign would become a part of its neighbour
    runs = _with_stand_ins(source, (first, last), protected, attempt)
    edges = (sentence[0], first), (last, sentence[1])
    before, after = ([Run(*edge)] if edge[0] < edge[1] else [] for edge in edges)
    return [*before, *runs, *after]


def _is_sign(source: SourceTokens, index: int) -> bool:
    return source.tokens[index].is_fragile and not any(map(str.isalnum, source.string(index)))


def _is_attached(source: SourceTokens, index: int, first: int, last: int) -> bool:
    """Return whether a token has no white space between it and a word beside it."""
    tokens = source.tokens
    is_after = index > first and tokens[index - 1].end == tokens[index].start and tokens[index - 1].is_core
    return is_after or (index + 1 < last and tokens[index].end == tokens[index + 1].start and tokens[index + 1].is_core)


def _with_stand_ins(
    source: SourceTokens, sentence: tuple[int, int], protected: Sequence[int], attempt: int
) -> list[Run]:
    """Return one run with words in place of protected tokens, or the runs between them after the last such attempt."""
    first, last = sentence
    if not protected:
        return [_sent(source, first, last, {})]
    groups = _groups(source, protected)
    if attempt < len(_STAND_INS) and len(groups) <= _MAX_STAND_INS:
        names = _names(source, sentence, list(groups), _STAND_INS[attempt])
        return [_sent(source, first, last, names, groups)]
    runs = []
    for start, end in zip([first, *(index + 1 for index in protected)], [*protected, last], strict=True):
        runs += _fragment(source, start, end, sentence)
        if end < last:
            runs.append(Run(end, end + 1))
    return runs


def _fragment(source: SourceTokens, start: int, end: int, sentence: tuple[int, int]) -> list[Run]:
    """Return the runs of the text between two protected parts; punctuation that touches one of them is copied."""
    if not has_letters(source, start, end):
        return [Run(start, end)] if start < end else []
    first, last = start, end
    while start > sentence[0] and not source.tokens[first].is_core and _is_joined(source, first):
        first += 1
    while end < sentence[1] and not source.tokens[last - 1].is_core and _is_joined(source, last):
        last -= 1
    text = replace(_sent(source, first, last, {}), is_fragment=True)
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


def _names(source: SourceTokens, sentence: tuple[int, int], protected: Sequence[int], sign: str) -> dict[int, str]:
    """Return a word that the sentence does not contain for each protected token."""
    text = "".join(source.string(index) for index in range(*sentence) if not source.tokens[index].is_protected)
    names: dict[int, str] = {}
    number = 1
    for index in protected:
        while f"{sign}{number}" in text:
            number += 1
        names[index] = f"{sign}{number}"
        number += 1
    return names


def _sent(
    source: SourceTokens, first: int, last: int, stand_ins: dict[int, str], groups: dict[int, int] | None = None
) -> Run:
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
        index = (groups or {}).get(index, index + 1)
    text = " ".join(texts)
    fragile = [source.string(index) for index in range(first, last) if source.tokens[index].is_fragile]
    signs = tuple(sign for sign in fragile if sign in text)
    return Run(first, last, text, tuple(map(tuple, words)), stand_ins, groups or {}, signs)
