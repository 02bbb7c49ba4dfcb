"""Subtitles in SRT and WebVTT: numbers, times, settings, styles, sounds and the names of speakers stay.

Sentences can be over several lines.
"""

import re
from collections.abc import Callable, Iterable
from html import escape

from clearhead.documents.blocks import BlockBuilder, Part, translate_parts, unchanged
from clearhead.documents.encoding import decode
from clearhead.documents.html_scanner import HtmlToken, match_tags
from clearhead.documents.html_text import add_html_text
from clearhead.documents.inline import DocumentFault
from clearhead.documents.inline_translator import InlineTranslator

_TAG = re.compile(r"<(/?)([a-zA-Z][^\s<>./]*)[^<>]*>|<\d[\d:.]*>|\{\\[^{}]*\}")  # <i>…</i>, <v Ann>, {\an8}
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_SRT_TIME = re.compile(r"\s*\d{1,3}:\d{2}:\d{2}[,.]\d{1,3}[ \t]*-->[ \t]*\d{1,3}:\d{2}:\d{2}[,.]\d{1,3}")
_VTT_TIME = re.compile(r"(?:\d{2,}:)?\d{2}:\d{2}\.\d{3}[ \t]+-->[ \t]+(?:\d{2,}:)?\d{2}:\d{2}\.\d{3}")
_INNER_TIME = re.compile(r"(<\d[\d:.]*>)")
_NOT_CUES = re.compile(r"(?:NOTE|STYLE|REGION)(?=\s|\Z)")
_SOUND = re.compile(r"\[[^\[\]\r\n]{1,80}\]|\((?=[^()a-z]*[A-Z])[^()a-z\r\n]{2,80}\)")  # [music], (LAUGHS)
_NAME = r"[A-Z][A-Z0-9 .'’#&/-]{1,40}(?:\([^()\r\n]{1,40}\))?[ ]?:(?=\s|<|\Z)"  # JOHN:
_TAGS = r"(?:\s*+(?:<[^<>\r\n]*>|\{\\[^{}\r\n]*\}))*+"
_SOUNDS = rf"(?:(?:{_SOUND.pattern})\s*+)"
# The start of a line of a speaker: - Hello. | JOHN: Hello. | [softly] JOHN: Hello. | [sighs] Hello.
_SPEAKER = re.compile(
    rf"{_TAGS}\s*+(?:[-‐–—]\s*+{_SOUNDS}*+(?:{_NAME}\s*+)?+|{_SOUNDS}*+{_NAME}\s*+|{_SOUNDS}++)(?=\S|\Z)"
)


def translate_srt(content: bytes, translator: InlineTranslator) -> bytes:
    """Translate SubRip subtitles."""
    decoded = decode(content)
    parts = _cues(decoded.text, _SRT_TIME, lambda text: tagged_parts(text, patterns=(_SOUND,)))
    if all(isinstance(part, str) for part in parts) and not any(map(_SRT_TIME.match, decoded.text.splitlines())):
        raise DocumentFault("it has no line with times such as 00:00:01,000 --> 00:00:02,500. Give an SRT file.")
    return decoded.encoded(translate_parts(parts, translator))


def translate_vtt(content: bytes, translator: InlineTranslator) -> bytes:
    """Translate WebVTT subtitles."""
    decoded = decode(content)
    if re.match(r"WEBVTT(?=\s|\Z)", decoded.text) is None:
        raise DocumentFault("its first line is not WEBVTT. Give a WebVTT file.")
    return decoded.encoded(translate_parts(_cues(decoded.text, _VTT_TIME, _vtt_parts), translator))


def _vtt_parts(text: str) -> list[Part]:
    """Return the text of a cue as a block; several times inside it must keep their order, so they divide it."""
    pieces = _INNER_TIME.split(text)
    if len(pieces) <= 3:
        pieces = [text]
    parts: list[Part] = []
    for number, piece in enumerate(pieces):
        is_text = number % 2 == 0
        parts += tagged_parts(piece, _escaped, add_html_text, (_SOUND,)) if is_text else [piece]
    return parts


def _escaped(text: str) -> str:
    return escape(text, quote=False)


def _cues(text: str, time: re.Pattern[str], parts_of: Callable[[str], list[Part]]) -> list[Part]:
    """Return the texts of cues as blocks: the lines after a line with times, up to a blank line."""
    parts: list[Part] = []
    lines: list[str] = []
    is_text = is_skipped = False
    for line in _LINE.findall(text):
        if not line.strip():
            parts += [*_dialogue(lines, parts_of), line]
            lines, is_text, is_skipped = [], False, False
        elif is_text:
            lines.append(line)
        else:
            parts.append(line)
            is_skipped = is_skipped or _NOT_CUES.match(line) is not None
            is_text = not is_skipped and time.match(line) is not None
    return [*parts, *_dialogue(lines, parts_of)]


def _dialogue(lines: list[str], parts_of: Callable[[str], list[Part]]) -> list[Part]:
    """Return the lines of a cue as one block, or as one for each speaker."""
    parts: list[Part] = []
    group: list[str] = []
    for line in [*lines, None]:
        if group and (line is None or _SPEAKER.match(line) is not None):
            parts += _group_parts("".join(group), parts_of)
            group = []
        if line is not None:
            group.append(line)
    return parts


def _group_parts(text: str, parts_of: Callable[[str], list[Part]]) -> list[Part]:
    prefix = _SPEAKER.match(text)
    start = 0 if prefix is None else prefix.end()
    end = len(text.rstrip("\r\n"))
    if start >= end:
        return [text]
    return [text[:start], *parts_of(text[start:end]), text[end:]]


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
