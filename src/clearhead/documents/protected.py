"""Find the parts of a text that must not change: addresses, placeholders, names of files and variables, formulas."""

import re
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


def protected_ranges(
    text: str,
    others: Iterable[tuple[int, int]] = (),
    patterns: Iterable[re.Pattern[str]] = (),
    cuts: Iterable[int] = (),
) -> tuple[tuple[int, int], ...]:
    """Return the ranges of a text to copy unchanged: `others`, and the matches that do not overlap them or each other.

    `cuts` are the places of tags: what they cut is not a match, but what is between them can be.
    """
    edges = sorted({0, *cuts, len(text)})
    matches = [
        (start + match.start(), start + match.end())
        for pattern in (_PROTECTED, *patterns)
        for start, end in pairwise(edges)
        for match in pattern.finditer(text[start:end])
        if match.end() > match.start()
    ]
    return tuple(_merged(sorted(others), _disjoint(matches)))


def _disjoint(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return sorted ranges without overlaps: of two that overlap, the one that starts first, or else the longer one."""
    ranges: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not ranges or start >= ranges[-1][1]:
            ranges.append((start, end))
    return ranges


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
