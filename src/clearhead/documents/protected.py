"""Find the parts of a text that must not change: addresses, placeholders, names of files and variables, formulas."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import pairwise

# file names without a folder are recognised by their extension, because a full stop can also end a sentence
_EXTENSIONS = (
    "avi|bak|bash|bat|bmp|cfg|conf|cpp|css|csv|dll|docx?|env|epub|exe|gif|gz|html?|ico|ini|ipynb|iso|jar|java|jpe?g|js|json|"
    "lock|log|md|mkv|mov|mp3|mp4|odt|pdf|php|png|pot?|pptx?|ps1|py|rar|rtf|sh|sql|srt|svg|tar|tex|toml|tsv|tsx?|txt|vtt|"
    "wav|webp|xlsx?|xml|ya?ml|zip"
)
_OPERAND = r"(?:[\w^~.]{0,20}\d[\w^~.]{0,20}(?<!\.)|(?<![\w'’])[A-Za-z](?![\w'’]))"  # 3, 2.5, mc^2^, x
_PATTERNS = (
    r"(?:https?|ftp)://[^\s<>\"]*[^\s<>\".,;:!?)\]}'»”]",
    r"\bwww\.[^\s<>\"]*[^\s<>\".,;:!?)\]}'»”]",
    r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",
    r"\{\{\{?[^{}\n]{0,200}\}?\}\}",  # {{ user.name }}
    r"\{%[^\n]{0,200}?%\}",
    r"<%[^\n]{0,200}?%>",
    r"\{\w{1,60},\s*+(?:plural|select|selectordinal)\s*+,(?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+\}",  # of ICU
    r"[$%#]\{[^{}\n]{0,200}\}",
    r"\{\s?[^{}\s]{0,60}\s?\}|\{\w{1,60}(?:,[^{}\n]{1,60}){1,2}\}",  # {0}, {name}, {0, number}
    r"(?<![\w$])\$[A-Za-z_]\w{0,60}",
    r"(?<![\w%])%(?:\(\w{1,60}\)|\d{1,2}\$)?[-+#0]{0,5}\d{0,4}(?:\.\d{1,4})?[hlqjzt]{0,2}[diouxXeEfFgGcrsaAp@](?!\w)",
    r"%%",
    r"(?<!\w)%\w{1,40}%",
    r"(?<![\w\\])[A-Za-z]:\\[^\s<>\"|?*]{0,200}[\w\\]",  # C:\folder\file
    r"(?<![\w/.~])(?:(?:~|\.\.?)/[\w.@+-]{0,63}[\w]|/[\w.@+-]{0,63}\w/[\w.@+-]{0,63}\w)(?:/[\w.@+-]{0,63}\w){0,30}/?",
    r"(?<![\w/.-])[\w.-]{1,64}(?:/[\w.-]{1,64}){0,30}/[\w-]{1,64}\.[A-Za-z]\w{0,4}(?![\w/])",  # folder/file.py
    rf"(?<![\w/.-])[\w-]{{1,64}}(?:\.[\w-]{{1,20}}){{0,3}}\.(?:{_EXTENSIONS})(?![\w/])",
    r"(?<!\w)\w{0,60}[^\W_]_+[^\W_]\w{0,60}(?:\(\))?(?!\w)",  # snake_case
    r"(?<![\w.])[A-Za-z]\w{0,60}(?:\.\w{1,60}){0,5}\(\)",  # a.function()
    # an expression needs one of the operators that do not occur in dates, ranges and 24/7
    rf"(?<![\w.]){_OPERAND}(?:\s?[-/]\s?{_OPERAND}){{0,20}}\s?[*+×÷=^<>≤≥]\s?{_OPERAND}"
    rf"(?:\s?[-/*+×÷=^<>≤≥]\s?{_OPERAND}){{0,20}}(?!\w)",
)
_PROTECTED = re.compile("|".join(_PATTERNS))
SCRIPTED = re.compile(r"(?<!\w)\w{1,20}(?:[\^~]\w{1,10}[\^~]\w{0,20}){1,5}(?!\w)")  # x^2^ and H~2~O in Markdown
# As in Pandoc: no space inside the dollar signs, and no digit after them. A price has no backslash and no operator.
FORMULA = re.compile(r"\$(?=[^$\n]{0,400}[\\^_=])[^\s$](?:[^$\n]{0,400}[^\s$])?\$(?!\d)")

_SIGNS = re.compile(r"[^\w\s]*")


def protected_ranges(
    text: str,
    others: Iterable[tuple[int, int]] = (),
    patterns: Iterable[re.Pattern[str]] = (),
    cuts: Iterable[int] = (),
) -> tuple[tuple[int, int], ...]:
    """Return the ranges of a text to copy unchanged: `others`, and the matches that do not overlap them or each other.

    `cuts` are the places of tags: what they cut is not a match, but what is between them can be. Of two matches that
    overlap, the first one counts, or else the longer one.
    """
    matches = [
        (start + match.start(), start + match.end())
        for pattern in (_PROTECTED, *patterns)
        for start, end in pairwise(sorted({0, *cuts, len(text)}))
        for match in pattern.finditer(text[start:end])
    ]
    ranges = []
    is_taken = bytearray(len(text))
    for start, end in [*others, *sorted(matches, key=lambda span: (span[0], -span[1]))]:
        if start < end and not any(is_taken[start:end]):
            is_taken[start:end] = b"\1" * (end - start)
            ranges.append((start, end))
    return tuple(sorted(ranges))


def joined_ranges(text: str, ranges: Iterable[tuple[int, int]], cuts: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Join ranges that have only signs between them, as in `<kbd>Ctrl</kbd>+<kbd>C</kbd>`, and no tag."""
    joined: list[tuple[int, int]] = []
    places = sorted(cuts)
    for start, end in ranges:
        if joined and _SIGNS.fullmatch(text, joined[-1][1], start):
            before = joined[-1]
            if bisect_left(places, before[1]) == bisect_right(places, start):
                joined[-1] = (before[0], end)
                continue
        joined.append((start, end))
    return tuple(joined)
