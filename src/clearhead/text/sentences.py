"""Split a text into sentences, or into parts that are short enough for a model.

No character is lost or changed: the parts, each with the white space after it, join to the original text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from sentencex import segment

DEFAULT_LANGUAGE = "en"  # its rules also know the signs that end a sentence in other scripts
_CLAUSE_END, _SPACE = re.compile(r"[;:,—–،、；，]\s+"), re.compile(r"\s+")
# sentencex 1.0 panics at some white space outside ASCII, for example between an initial and its full stop
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")


@dataclass(frozen=True)
class TextPart:
    """A part of a text, and the white space between it and the next part."""

    text: str
    space: str = ""


def split_sentences(text: str, language: str = DEFAULT_LANGUAGE) -> list[TextPart]:
    """Return the sentences of a text; white space around it is dropped.

    `language` is a two-letter code; sentencex uses general rules for a language that it does not know.
    """
    text = text.strip()
    starts = _sentence_starts(text, language)
    return [_part(text, start, end) for start, end in zip([0, *starts], [*starts, len(text)], strict=True) if text]


def _part(text: str, start: int, end: int) -> TextPart:
    sentence = text[start:end].rstrip()
    return TextPart(sentence, text[start + len(sentence) : end])


def _sentence_starts(text: str, language: str) -> list[int]:
    """Return where the sentences of a text start, except for the first."""
    segments = list(segment(language, _WIDE_SPACE.sub(" ", text)))
    starts, position = [], 0
    for part in segments:
        start = position + len(part) - len(part.lstrip())
        position += len(part)
        if 0 < start < position:  # a segment can be white space alone
            starts.append(start)
    return starts if position == len(text) else []  # no character may be lost, whatever a later version does


def split_long(text: str, fits: Callable[[str], bool], language: str = DEFAULT_LANGUAGE) -> list[TextPart]:
    """Split a text into parts that fit: between sentences if possible, otherwise at a comma, a space or anywhere."""
    text = text.strip()
    if len(text) < 2 or fits(text):
        return [TextPart(text)] if text else []
    middle = _best_break(text, language)
    first = _part(text, 0, middle)
    head, tail = split_long(first.text, fits, language), split_long(text[middle:], fits, language)
    return [*head[:-1], TextPart(head[-1].text, first.space), *tail]


def split_list(text: str, most: int) -> list[TextPart]:
    """Split a text into parts of at most `most` characters, after a comma or at a space if possible."""
    parts, start = [], 0
    while len(text) - start > most:
        window = text[start : start + most]
        ends = [match.end() for match in _CLAUSE_END.finditer(window)]
        ends = ends or [match.end() for match in _SPACE.finditer(window)] or [most]
        parts.append(_part(text, start, start + ends[-1]))
        start += ends[-1]
    return [*parts, _part(text, start, len(text))]


def _best_break(text: str, language: str) -> int:
    """Return the best place to split a text in two, in its middle half."""
    middle, margin = len(text) // 2, len(text) // 4
    for places in (
        _sentence_starts(text, language),
        (match.end() for match in _CLAUSE_END.finditer(text)),
        (match.end() for match in _SPACE.finditer(text)),
    ):
        near = [place for place in places if margin <= place <= len(text) - margin]
        if near:
            return min(near, key=lambda place: abs(place - middle))
    return middle


def join_parts(texts: list[str], spaces: list[str]) -> str:
    """Join translated parts with the white space of the source, or with a space if the translation needs one."""
    joined = before = ""
    for text, space in zip(texts, spaces, strict=True):
        if joined and text:
            is_wide = joined.endswith(tuple("。！？」』”"))
            joined += before or ("" if is_wide else " ")
        joined += text
        before = space
    return joined
