"""Decide what of a sentence is sent to the translator, and what if a protected part does not survive."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from clearhead.documents.source_tokens import SourceTokens

_STAND_IN = "X"  # a model copies X1 more often than code or {name}: tried on English into Spanish, Hindi and Bengali
_MAX_STAND_INS = 6  # of one sentence; with more, models lose some


@dataclass(frozen=True)
class Run:
    """Tokens of one sentence that are translated together as `text`, or copied if there is no text.

    `words` has the tokens of each word of the text. `stand_ins` are the words that replace protected tokens. `signs`
    are sent as they are, but must be in the translation. A fragment is a part of a sentence beside a protected part.
    """

    first: int
    last: int
    text: str | None = None
    words: tuple[tuple[int, ...], ...] = ()
    stand_ins: dict[int, str] = field(default_factory=dict)
    signs: tuple[str, ...] = ()
    is_fragment: bool = False

    def has_signs(self, translation: str) -> bool:
        """Return whether every sign is in a translation, as often as in the text, and not alone."""
        if self.signs and not any(map(str.isalnum, translation)):
            return False
        return all(translation.count(sign) >= number for sign, number in Counter(self.signs).items())

    def has_stand_ins(self, translation: str) -> bool:
        """Return whether every stand-in occurs once in a translation, as a word of its own or with an ending."""
        return all(len(stand_in_pattern([word]).findall(translation)) == 1 for word in self.stand_ins.values())


def stand_in_pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Return the pattern of these stand-ins in a translation, as a group; nothing matches if there are none."""
    return re.compile(rf"(?<![A-Za-z0-9])({'|'.join(words) or '(?!)'})(?![A-Za-z0-9])")


def runs_of(source: SourceTokens, sentence: tuple[int, int], *, is_divided: bool = False) -> list[Run]:
    """Return the runs of a sentence: one with words in place of its protected parts, and signs such as `&` as they are.

    If the translation loses one of them, the sentence is divided: the text between them is translated, and they are
    copied. A sentence with many protected parts is divided at once.
    """
    first, last = sentence
    if not has_letters(source, first, last):
        return [Run(first, last)]
    protected = [index for index in range(first, last) if source.tokens[index].is_protected]
    if is_divided or len(protected) > _MAX_STAND_INS:
        return _divided(source, sentence)
    text = " ".join(source.string(index) for index in range(first, last) if index not in protected)
    names = (name for number in count(1) if (name := f"{_STAND_IN}{number}") not in text)
    return [_sent(source, first, last, dict(zip(protected, names, strict=False)))]


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
    first, last = start, end
    if has_letters(source, start, end):
        while start > sentence[0] and not source.tokens[first].is_core and source.is_joined(first):
            first += 1
        while end < sentence[1] and not source.tokens[last - 1].is_core and source.is_joined(last):
            last -= 1
        text = replace(_sent(source, first, last, {}), is_fragment=True)
        runs = [Run(start, first), text, Run(last, end)]
    else:
        runs = [Run(start, end)]
    return [run for run in runs if run.first < run.last]


def has_letters(source: SourceTokens, first: int, last: int) -> bool:
    """Return whether there is a letter outside the tokens that stay; digits and signs need no translation."""
    tokens = source.tokens
    return any(
        not (tokens[index].is_protected or tokens[index].is_fragile) and any(map(str.isalpha, source.string(index)))
        for index in range(first, last)
    )


def _sent(source: SourceTokens, first: int, last: int, stand_ins: dict[int, str]) -> Run:
    words: list[list[int]] = []
    for index in range(first, last):
        if index > first and source.is_joined(index):
            words[-1].append(index)
        else:
            words.append([index])
    text = " ".join("".join(stand_ins.get(index) or source.string(index) for index in word) for word in words)
    signs = tuple(source.string(index) for index in range(first, last) if source.tokens[index].is_fragile)
    return Run(first, last, text, tuple(map(tuple, words)), stand_ins, signs)
