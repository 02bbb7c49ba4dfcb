"""Split a text into tokens for aligning markup: words without their punctuation, and cut where a tag begins or ends."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

from clearhead.documents.inline import InlineText
from clearhead.text.sentences import split_sentences

_SEPARATOR = re.compile(r"(?<=\s)([|•·›»]\s+)(?=\S)")  # between the links of a menu
_WORD = re.compile(r"\S+")
# Signs that models tend to lose, alone (&, ©, emoji) or between letters (AT&T); they must be in the translation.
_SIGN = r"[&*^=~|<>+@#\\\u00a9\u00ae\u00b0\u00b1\u00d7\u00f7\u2100-\u214f\u2190-\u2bff\U0001f000-\U0001faff]"
_JOINER = r"[\ufe0e\ufe0f\u200d\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"  # in emoji of several characters
FRAGILE = re.compile(rf"(?<!\w)\w++(?:{_SIGN}++\w++)++|(?:{_SIGN}|{_JOINER})++")


@dataclass(frozen=True)
class SourceToken:
    """Characters of a text: a word, a part of one, punctuation beside one, or a protected range."""

    start: int
    end: int
    is_core: bool = True  # False: punctuation beside a word
    is_protected: bool = False
    is_fragile: bool = False  # a sign that must not be lost, or a word with one


@dataclass(frozen=True)
class SourceTokens:
    """The tokens of a text, and the range of tokens of each sentence."""

    text: str
    tokens: tuple[SourceToken, ...]
    sentences: tuple[tuple[int, int], ...]

    def gap(self, index: int) -> tuple[int, int]:
        """Return the range of white space before a token; after the last one for `index == len(tokens)`."""
        start = self.tokens[index - 1].end if index else 0
        return start, self.tokens[index].start if index < len(self.tokens) else len(self.text)

    def is_joined(self, index: int) -> bool:
        """Return whether there is no white space before a token."""
        start, end = self.gap(index)
        return start == end

    def string(self, index: int) -> str:
        """Return the characters of a token."""
        token = self.tokens[index]
        return self.text[token.start : token.end]


def is_punctuation(letter: str) -> bool:
    """Return whether a character is punctuation or a symbol; combining marks are not."""
    return unicodedata.category(letter)[0] in "PS"


def split_punctuation(word: str) -> tuple[str, str, str]:
    """Return the punctuation before a word, the word, and the punctuation after it; a sign alone is a word."""
    first, last = 0, len(word)
    while first < last and is_punctuation(word[first]):
        first += 1
    while last > first and is_punctuation(word[last - 1]):
        last -= 1
    return ("", word, "") if first == last else (word[:first], word[first:last], word[last:])


def tokenise(inline: InlineText, language: str) -> SourceTokens:
    """Return the tokens of a text; a token is never in two sentences, nor both inside and outside a markup."""
    masked = _masked(inline)
    starts = sorted({*_sentence_starts(masked, language), *_separated_starts(masked)})
    fragile = _fragile_ranges(inline)
    tags = ((markup.start, markup.end) for markup in inline.markups)
    cuts = sorted({*starts, *chain.from_iterable((*tags, *inline.protected, *fragile))})
    protected = {start for start, _ in inline.protected}
    in_fragile = {place for span in fragile for place in range(*span)}
    tokens: list[SourceToken] = []
    for match in _WORD.finditer(masked):
        start, end = match.span()
        inner = cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]
        for first, last in pairwise([start, *inner, end]):
            if first in protected:
                tokens.append(SourceToken(first, last, is_protected=True))
            elif first in in_fragile:
                is_core = not inner or any(map(str.isalnum, inline.text[first:last]))
                tokens.append(SourceToken(first, last, is_core, is_fragile=True))
            else:
                tokens += _split(inline.text, first, last, is_whole=not inner)
    firsts = [bisect_left(tokens, place, key=lambda token: token.start) for place in starts]
    sentences = [(first, last) for first, last in pairwise([0, *firsts, len(tokens)]) if first < last]
    return SourceTokens(inline.text, tuple(tokens), tuple(sentences))


def _fragile_ranges(inline: InlineText) -> list[tuple[int, int]]:
    """Return the ranges of signs that models tend to lose, outside protected ranges."""
    places = [0, *chain.from_iterable(inline.protected), len(inline.text)]
    gaps = zip(places[::2], places[1::2], strict=True)
    return [match.span() for gap in gaps for match in FRAGILE.finditer(inline.text, *gap)]


def _split(text: str, first: int, last: int, *, is_whole: bool) -> list[SourceToken]:
    before, word, after = split_punctuation(text[first:last])
    start, end = first + len(before), last - len(after)
    is_sign = not is_whole and all(map(is_punctuation, word))  # punctuation that a tag separates from its word
    tokens = [SourceToken(first, start, False), SourceToken(start, end, not is_sign), SourceToken(end, last, False)]
    return [token for token in tokens if token.start < token.end]


def _masked(inline: InlineText) -> str:
    """Return the text with a letter for every protected character and a plain space for every white space."""
    letters = [" " if letter.isspace() else letter for letter in inline.text]
    for start, end in inline.protected:
        letters[start:end] = "x" * (end - start)
    return "".join(letters)


def _sentence_starts(masked: str, language: str) -> list[int]:
    """Return where the sentences after the first one start."""
    parts = split_sentences(masked, language)
    lengths = (len(part.text) + len(part.space) for part in parts[:-1])
    return list(accumulate(lengths, initial=len(masked) - len(masked.lstrip())))[1:]


def _separated_starts(masked: str) -> list[int]:
    """Return where the signs between separate texts start, and the texts after them."""
    return [place for match in _SEPARATOR.finditer(masked) for place in match.span()]
