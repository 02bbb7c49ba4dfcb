"""A text in parts that together are the whole text: sentences, or pieces that are short enough for a model.

Nothing is lost and nothing is changed: parts and the white space after each of them spell the text again.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

# what may end a sentence with white space after it, and what ends one with nothing after it
_SENTENCE_END = re.compile(r"""([.!?…।॥؟۔]+["'”’»)\]]*)(\s+)|([。！？]+[」』”]*)(\s*)""")
_BREAK_PATTERNS = (_SENTENCE_END, re.compile(r"([;:,—–،、；，])(\s+)"), re.compile(r"()(\s+)"))
# English, Spanish, German and French words that a full stop follows inside a sentence
_ABBREVIATIONS = frozenset({
    *("mr", "mrs", "ms", "dr", "prof", "vs", "e.g", "i.e", "cf", "fig", "vol", "pp", "ca", "approx", "jr", "sr"),
    *("sra", "srta", "ud", "uds", "bzw", "z.b", "nr", "mme", "mlle"),
})  # fmt: skip


@dataclass(frozen=True)
class TextPart:
    """A part of a text, and the white space between it and the next one."""

    text: str
    space: str = ""


def split_sentences(text: str) -> list[TextPart]:
    """Return the sentences of a text; white space before the first is dropped."""
    parts, start, text = [], 0, text.strip()
    for match in _SENTENCE_END.finditer(text):
        if match.end() < len(text) and _is_end(text, match):
            last = match.end(1) if match[1] else match.end(3)
            parts.append(TextPart(text[start:last], text[last : match.end()]))
            start = match.end()
    return [*parts, TextPart(text[start:])] if start < len(text) else parts


def _is_end(text: str, match: re.Match[str]) -> bool:
    """Whether a sign ends a sentence: a full stop does not after `Dr`, an initial, or before a small letter."""
    mark = match[1] or match[3]
    if not mark.startswith(".") or mark.startswith(".."):
        return True
    if text[match.end()].islower():
        return False
    word = re.split(r"[\s(\[\"'“‘«]", text[: match.start()])[-1]
    is_initial = len(word) == 1 and word.isupper() and word.isascii()
    return not is_initial and word.lower() not in _ABBREVIATIONS


def split_long(text: str, fits: Callable[[str], bool]) -> list[TextPart]:
    """Return parts that each fit: cut between sentences, else after a comma, else at a space, else anywhere."""
    text = text.strip()
    if len(text) < 2 or fits(text):
        return [TextPart(text)] if text else []
    first, space, rest = _split_in_half(text)
    head, tail = split_long(first, fits), split_long(rest, fits)
    return [*head[:-1], TextPart(head[-1].text, space), *tail]


def _split_in_half(text: str) -> tuple[str, str, str]:
    """Return two halves and the space between them, cut at the best place in the middle half of a text."""
    middle = len(text) // 2
    for pattern in _BREAK_PATTERNS:
        ends = [
            match for match in pattern.finditer(text) if len(text) // 4 <= match.end() <= len(text) - len(text) // 4
        ]
        if ends:
            best = min(ends, key=lambda match: abs(match.end() - middle))
            space = best[2] if best[2] is not None else best[4]
            return text[: best.end() - len(space)], space, text[best.end() :]
    return text[:middle], "", text[middle:]


def join_parts(texts: list[str], spaces: list[str]) -> str:
    """Return translated parts as one text: the space of the source, or one where the new text needs it."""
    joined = before = ""
    for text, space in zip(texts, spaces, strict=True):
        if joined and text:
            is_wide = joined.endswith(tuple("。！？」』”"))
            joined += before or ("" if is_wide else " ")
        joined += text
        before = space
    return joined
