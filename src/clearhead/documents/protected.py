"""Find the parts of a text that must not change: addresses, placeholders of programs, and formulas."""

import re
from collections.abc import Iterable
from itertools import pairwise

_PATTERNS = (
    r"(?:https?|ftp)://[^\s<>\"]*[^\s<>\".,;:!?)\]}'»”]",
    r"\bwww\.[^\s<>\"]*[^\s<>\".,;:!?)\]}'»”]",
    r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",
    r"[$%#]?\{\{?[^{}\s]{0,60}\}\}?",  # {0}, {name}, {{name}}, ${name}
    r"(?<![\w%])%(?:\(\w{1,60}\)|\d{1,2}\$)?[-+#0]{0,5}\d{0,4}(?:\.\d{1,4})?[hlqjzt]{0,2}[diouxXeEfFgGcrsaAp](?!\w)",
    r"%%",
    r"(?<!\w)%\w{1,40}%",
)
_PROTECTED = re.compile("|".join(_PATTERNS))
# As in Pandoc: no space inside the dollar signs, and no digit after them. A price has no backslash and no operator.
FORMULA = re.compile(r"\$(?=[^$\n]{0,400}[\\^_=])[^\s$](?:[^$\n]{0,400}[^\s$])?\$(?!\d)")


def protected_ranges(
    text: str,
    others: Iterable[tuple[int, int]] = (),
    patterns: Iterable[re.Pattern[str]] = (),
    cuts: Iterable[int] = (),
) -> tuple[tuple[int, int], ...]:
    """Return the ranges of a text to copy unchanged: `others`, and the matches that do not overlap earlier ones.

    `cuts` are the places of tags: what they cut is not a match, but what is between them can be.
    """
    edges = sorted({0, *cuts, len(text)})
    ranges = sorted(others)
    for pattern in (_PROTECTED, *patterns):
        matches = [
            (start + match.start(), start + match.end())
            for start, end in pairwise(edges)
            for match in pattern.finditer(text[start:end])
        ]
        ranges = _merged(ranges, matches)
    return tuple(ranges)


def _merged(ranges: list[tuple[int, int]], additions: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return sorted ranges with those additions that overlap none of them."""
    merged: list[tuple[int, int]] = []
    end = 0
    for start, stop, is_new in sorted([(*span, False) for span in ranges] + [(*span, True) for span in additions]):
        if is_new and start < end:
            continue
        while not is_new and merged and merged[-1][1] > start:  # an addition that reaches into an older range
            merged.pop()
        merged.append((start, stop))
        end = stop
    return merged
