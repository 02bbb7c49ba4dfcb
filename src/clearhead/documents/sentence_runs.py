"""Decide what of a sentence is sent to the translator, and what to try when a protected part does not survive."""

from collections.abc import Sequence

from clearhead.documents.source_tokens import SourceTokens
from clearhead.documents.target_tokens import Run

# A model copies such words more often than code or {name}: tried on English into Spanish, Hindi and Bengali.
_STAND_INS = ("X", "@")
_MAX_STAND_INS = 6  # of one sentence; with more, models lose some
NUM_ATTEMPTS = len(_STAND_INS) + 1


def runs_of(source: SourceTokens, sentence: tuple[int, int], attempt: int) -> list[Run]:
    """Return the runs of a sentence at an attempt: first with words in place of its protected parts, then without them.

    The last attempt translates the text between the protected parts separately, so that they cannot be lost.
    """
    first, last = sentence
    protected = [index for index in range(first, last) if source.tokens[index].is_protected]
    if not has_letters(source, first, last):
        return [Run(first, last)]
    if not protected:
        return [_sent(source, first, last, {})]
    groups = _groups(source, protected)
    if attempt < len(_STAND_INS) and len(groups) <= _MAX_STAND_INS:
        names = _names(source, sentence, list(groups), _STAND_INS[attempt])
        return [_sent(source, first, last, names, groups)]
    runs = []
    for start, end in zip([first, *(index + 1 for index in protected)], [*protected, last], strict=True):
        if start < end:
            runs.append(_sent(source, start, end, {}) if has_letters(source, start, end) else Run(start, end))
        if end < last:
            runs.append(Run(end, end + 1))
    return runs


def has_letters(source: SourceTokens, first: int, last: int) -> bool:
    """Return whether there is a letter outside the protected tokens; digits and signs need no translation."""
    return any(
        not source.tokens[index].is_protected and any(map(str.isalpha, source.string(index)))
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
    return Run(first, last, " ".join(texts), tuple(map(tuple, words)), stand_ins, groups or {})
