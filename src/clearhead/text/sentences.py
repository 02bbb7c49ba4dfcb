"""A text in parts that together are the whole text: sentences, or pieces that are short enough for a model.

Nothing is lost and nothing is changed: parts and the white space after each of them spell the text again.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

# what may end a sentence with white space after it, and what ends one with nothing after it
_END = re.compile(r"""([.!?…।॥؟۔]+["'”’»)\]]*)(\s+)|([。！？]+[」』”]*)(\s*)""")
_BREAKS = (_END, re.compile(r"([;:,—–،、；，])(\s+)"), re.compile(r"()(\s+)"))
# English, Spanish, German and French words that a full stop follows inside a sentence
_SHORT = frozenset({
    *("mr", "mrs", "ms", "dr", "prof", "vs", "e.g", "i.e", "cf", "fig", "vol", "pp", "ca", "approx", "jr", "sr"),
    *("sra", "srta", "ud", "uds", "bzw", "z.b", "nr", "mme", "mlle"),
})  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A part of a text, and the white space between it and the next one."""

    text: str
    space: str = ""


def split_sentences(text: str) -> list[Part]:
    """Return the sentences of a text; white space before the first is dropped."""
    made, start, whole = [], 0, text.strip()
    for found in _END.finditer(whole):
        if found.end() < len(whole) and _is_end(whole, found):
            last = found.end(1) if found[1] else found.end(3)
            made.append(Part(whole[start:last], whole[last : found.end()]))
            start = found.end()
    return [*made, Part(whole[start:])] if start < len(whole) else made


def _is_end(text: str, found: re.Match[str]) -> bool:
    """Whether a sign ends a sentence: a full stop does not after `Dr`, an initial, or before a small letter."""
    mark = found[1] or found[3]
    if not mark.startswith(".") or mark.startswith(".."):
        return True
    if text[found.end()].islower():
        return False
    word = re.split(r"[\s(\[\"'“‘«]", text[: found.start()])[-1]
    is_initial = len(word) == 1 and word.isupper() and word.isascii()
    return not is_initial and word.lower() not in _SHORT


def split_long(text: str, fits: Callable[[str], bool]) -> list[Part]:
    """Return parts that each fit: cut between sentences, else after a comma, else at a space, else anywhere."""
    whole = text.strip()
    if len(whole) < 2 or fits(whole):
        return [Part(whole)] if whole else []
    first, space, rest = _halves(whole)
    head, tail = split_long(first, fits), split_long(rest, fits)
    return [*head[:-1], Part(head[-1].text, space), *tail]


def _halves(text: str) -> tuple[str, str, str]:
    """Return two halves and the space between them, cut at the best place in the middle half of a text."""
    middle = len(text) // 2
    for kind in _BREAKS:
        ends = [found for found in kind.finditer(text) if len(text) // 4 <= found.end() <= len(text) - len(text) // 4]
        if ends:
            best = min(ends, key=lambda found: abs(found.end() - middle))
            space = best[2] if best[2] is not None else best[4]
            return text[: best.end() - len(space)], space, text[best.end() :]
    return text[:middle], "", text[middle:]


def join_parts(texts: list[str], spaces: list[str]) -> str:
    """Return translated parts as one text: the space of the source, or one where the new text needs it."""
    made = before = ""
    for text, space in zip(texts, spaces, strict=True):
        if made and text:
            is_wide = made.endswith(tuple("。！？」』”"))
            made += before or ("" if is_wide else " ")
        made += text
        before = space
    return made
