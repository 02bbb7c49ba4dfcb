"""Subtitles in SRT and WebVTT: numbers, times, settings, styles, sounds and the names of speakers stay.

Sentences can be over several lines.
"""

import re
from collections.abc import Callable
from html import escape

from clearhead.documents.blocks import Part, translate_parts
from clearhead.documents.encoding import decode
from clearhead.documents.html_text import add_html_text
from clearhead.documents.inline import DocumentFault
from clearhead.documents.inline_translator import InlineTranslator
from clearhead.documents.tagged_text import tagged_parts

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
