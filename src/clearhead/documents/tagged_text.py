"""Text with a few tags in it, as in subtitles: <i>…</i>, <v Ann>, {\\an8}."""

import re
from collections.abc import Callable, Iterable

from clearhead.documents.blocks import BlockBuilder, Part, unchanged
from clearhead.documents.html_scanner import HtmlToken, match_tags

_TAG = re.compile(r"<(/?)([a-zA-Z][^\s<>./]*)[^<>]*>|<\d[\d:.]*>|\{\\[^{}]*\}")


def tagged_parts(
    text: str,
    escape: Callable[[str], str] = unchanged,
    add_text: Callable[[BlockBuilder, str], None] = BlockBuilder.add_text,
    patterns: Iterable[re.Pattern[str]] = (),
) -> list[Part]:
    """Return a text as a block; tags without a partner at its edges are outside it, so that they cannot move."""
    matches = list(_TAG.finditer(text))
    pairs = match_tags([_token(match) for match in matches]).partners
    first, last, start, end = _inner(text, matches, pairs)
    builder = BlockBuilder(escape, patterns)
    place = start
    for index in range(first, last):
        match = matches[index]
        add_text(builder, text[place : match.start()])
        place = match.end()
        if index not in pairs:
            builder.add_point(match[0])
        elif pairs[index] > index:
            builder.open_tag(match[0])
        else:
            builder.close_tag(match[0])
    add_text(builder, text[place:end])
    return [text[:start], builder.build(), text[end:]]


def _inner(text: str, matches: list[re.Match[str]], pairs: dict[int, int]) -> tuple[int, int, int, int]:
    """Return the tags and the characters between the single tags at the edges."""
    first, last, start, end = 0, len(matches), 0, len(text)
    while first < last and first not in pairs and not text[start : matches[first].start()].strip():
        start = matches[first].end()
        first += 1
    while last > first and last - 1 not in pairs and not text[matches[last - 1].end() : end].strip():
        last -= 1
        end = matches[last].start()
    return first, last, start, end


def _token(match: re.Match[str]) -> HtmlToken:
    if match[2] is None:
        return HtmlToken("other", *match.span())
    return HtmlToken("end" if match[1] else "start", *match.span(), match[2].lower(), match[0].endswith("/>"))
