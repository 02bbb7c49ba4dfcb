"""Split a text into sentences, or into parts that are short enough for a model.

No character is lost or changed: the parts, each with the white space after it, join to the original text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

# signs that can end a sentence if white space follows, and signs that end one without white space
_SENTENCE_END = re.compile(r"""([.!?…।॥؟۔]+["'”’»)\]]*)(\s+)|([。！？]+[」』”]*)(\s*)""")
_BREAK_PATTERNS = (_SENTENCE_END, re.compile(r"([;:,—–،、；，])(\s+)"), re.compile(r"()(\s+)"))
# English, Spanish, German and French abbreviations, which have a full stop inside a sentence
_ABBREVIATIONS = frozenset({
    *("mr", "mrs", "ms", "dr", "prof", "vs", "e.g", "i.e", "cf", "fig", "vol", "pp", "ca", "approx", "jr", "sr"),
    *("sra", "srta", "ud", "uds", "bzw", "z.b", "nr", "mme", "mlle"),
})  # fmt: skip


@dataclass(frozen=True)
class TextPart:
    """A part of a text, and the white space between it and the next part."""

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
    """Return whether a sign ends a sentence; a full stop does not after `Dr` or an initial or before a small letter."""
    mark = match[1] or match[3]
    if not mark.startswith(".") or mark.startswith(".."):
        return True
    if text[match.end()].islower():
        return False
    word = re.split(r"[\s(\[\"'“‘«]", text[: match.start()])[-1]
    is_initial = len(word) == 1 and word.isupper() and word.isascii()
    return not is_initial and word.lower() not in _ABBREVIATIONS


def split_long(text: str, fits: Callable[[str], bool]) -> list[TextPart]:
    """Split a text into parts that fit: between sentences if possible, otherwise at a comma, a space or anywhere."""
    text = text.strip()
    if len(text) < 2 or fits(text):
        return [TextPart(text)] if text else []
    first, space, rest = _split_in_half(text)
    head, tail = split_long(first, fits), split_long(rest, fits)
    return [*head[:-1], TextPart(head[-1].text, space), *tail]


def _split_in_half(text: str) -> tuple[str, str, str]:
    """Split a text in two at the best place in its middle half; return both parts and the space between them."""
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
    """Join translated parts with the white space of the source, or with a space if the translation needs one."""
    joined = before = ""
    for text, space in zip(texts, spaces, strict=True):
        if joined and text:
            is_wide = joined.endswith(tuple("。！？」』”"))
            joined += before or ("" if is_wide else " ")
        joined += text
        before = space
    return joined
