"""Markdown: paragraphs, headings, lists, tables and emphasis keep their form; code, addresses and front matter stay.

Each translated paragraph is parsed again. If its structure is not that of the source, it is translated in smaller
parts, and if that fails too, it stays as it was.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markdown_it.token import Token

from clearhead.documents.blocks import Block, Part, blocks_in, render_parts, translate_blocks
from clearhead.documents.encoding import decode
from clearhead.documents.html_text import html_parts
from clearhead.documents.inline import DocumentFault
from clearhead.documents.inline_translator import InlineTranslator
from clearhead.documents.markdown_inline import content_parts, cut_parts, inline_tokens, parser

MAX_PARAGRAPH = 20_000  # characters; longer ones take markdown-it-py too long
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*(?:\r\n|\r|\n)(?s:.*?)(?:\r\n|\r|\n)\1[ \t]*(?=\r|\n|\Z)")
_PREFIX = re.compile(r"(?:\[[ xX]\]|\[\^[^\]\s]{1,60}\]:)[ \t]+")  # of a task, or of a footnote
_HEADING = re.compile(r"[^#]*#{1,6}")
_LINE_START = re.compile(r"(?m)^([ \t]*)([-+>#=~|:]|\d{1,9}(?=[.)]))")


@dataclass(frozen=True)
class _Field:
    """The content of a paragraph, heading or cell, the range of each of its lines in the document, and its parts."""

    content: str
    lines: Sequence[tuple[int, int]]
    parts: Sequence[Part]
    is_html: bool = False


def translate_markdown(content: bytes, translator: InlineTranslator) -> bytes:
    """Translate a Markdown document."""
    decoded = decode(content)
    return decoded.encoded(translate_markdown_text(decoded.text, translator))


def translate_markdown_text(text: str, translator: InlineTranslator) -> str:
    """Translate Markdown."""
    front = _FRONT_MATTER.match(text)
    offset = front.end() if front is not None else 0
    environment: dict[str, Any] = {}
    tokens = parser().parse(text[offset:], environment)
    fields = _fields(text, offset, tokens, environment)
    translations = translate_blocks(blocks_in(part for field in fields for part in field.parts), translator)
    contents = [render_parts(field.parts, translations) for field in fields]
    contents = _verified(fields, contents, translator, environment)
    pieces, place = [], 0
    for field, translation in zip(fields, contents, strict=True):
        pieces += [text[place : field.lines[0][0]], _placed(text, field, translation)]
        place = field.lines[-1][1]
    return "".join(pieces) + text[place:]


def _placed(text: str, field: _Field, content: str) -> str:
    """Return a content with the line ends and the beginnings of lines (`> `) that the document has."""
    between = [text[one[1] : other[0]] for one, other in zip(field.lines, field.lines[1:], strict=False)]
    lines = content.split("\n")
    pieces = [lines[0]]
    for number, line in enumerate(lines[1:]):
        pieces += [between[min(number, len(between) - 1)] if between else "\n", line]
    return "".join(pieces)


def _fields(text: str, offset: int, tokens: Sequence[Token], environment: dict[str, Any]) -> list[_Field]:
    """Return everything to translate, in the order of the document."""
    spans = [(offset + match.start(1), offset + match.end(1)) for match in _LINE.finditer(text[offset:])]
    fields: list[_Field] = []
    column: dict[int, int] = {}  # where the next cell of a row begins
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.map is None or not token.content.strip():
            continue
        if token.type == "html_block":
            content = token.content.removesuffix("\n")
            if (lines := _lines(text, spans, token.map, content)) is not None:
                fields.append(_Field(content, lines, html_parts(content), is_html=True))
        elif token.type == "inline" and before is not None:
            _refuse_long(token)
            is_cell = before.type in ("td_open", "th_open")
            if is_cell:
                lines = _cell(text, spans[token.map[0]], token.content, column, token.map[0])
            elif before.type == "heading_open" and before.markup.startswith("#"):
                lines = _heading(text, spans[token.map[0]], token.content)
            else:
                lines = _lines(text, spans, token.map, token.content)
            if lines is not None:
                content = text[slice(*lines[0])] if is_cell else token.content  # a cell has its escaped bars again
                fields.append(_field(content, lines, environment, is_cell=is_cell))
    return fields


def _field(content: str, lines: list[tuple[int, int]], environment: dict[str, Any], *, is_cell: bool) -> _Field:
    """Return a field without the sign of a task or a footnote, which stays at the start."""
    if (prefix := _PREFIX.match(content)) is not None:
        content = content[prefix.end() :]
        lines = [(lines[0][0] + prefix.end(), lines[0][1]), *lines[1:]]
    return _Field(content, lines, content_parts(content, environment, is_cell=is_cell))


def _refuse_long(token: Token) -> None:
    if len(token.content) > MAX_PARAGRAPH and token.map is not None:
        raise DocumentFault(
            f"the paragraph at line {token.map[0] + 1} has {len(token.content):,} characters; the limit is "
            f"{MAX_PARAGRAPH:,}. Divide it by blank lines."
        )


def _lines(
    text: str, spans: Sequence[tuple[int, int]], rows: Sequence[int], content: str
) -> list[tuple[int, int]] | None:
    """Return where the lines of a content are: at the ends of the lines of the document; None if they are not."""
    lines, contents = [], content.split("\n")
    for number, own in enumerate(contents):
        start, end = spans[rows[0] + number]
        line = text[start:end]
        if number == len(contents) - 1 and not line.endswith(own):
            line = line.rstrip()
        if not line.endswith(own):
            return None
        lines.append((start + len(line) - len(own), start + len(line)))
    return lines


def _heading(text: str, span: tuple[int, int], content: str) -> list[tuple[int, int]] | None:
    opening = _HEADING.match(text, *span)
    start = -1 if opening is None else text.find(content, opening.end(), span[1])
    return None if start < 0 else [(start, start + len(content))]


def _cell(
    text: str, span: tuple[int, int], content: str, column: dict[int, int], row: int
) -> list[tuple[int, int]] | None:
    """Return where a cell of a table is; the parser gives its escaped bars without their backslashes."""
    place = column.get(row, span[0])
    escaped = content.replace("|", r"\|")
    start = text.find(escaped, place, span[1])
    if start < 0:
        return None
    column[row] = start + len(escaped)
    return [(start, start + len(escaped))]


def _verified(
    fields: Sequence[_Field], contents: list[str], translator: InlineTranslator, environment: dict[str, Any]
) -> list[str]:
    """Return translations with the structure of their sources; try smaller parts where a translation has another."""
    wrong = {}
    for number, field in enumerate(fields):
        if field.is_html:
            continue
        expected = _structure(field.content, environment)
        contents[number] = _with_structure(contents[number], expected, environment) or ""
        if not contents[number]:
            wrong[number] = expected
    parts = {number: _cut(fields[number].parts) for number in wrong}
    translations = translate_blocks(blocks_in(part for own in parts.values() for part in own), translator)
    for number, expected in wrong.items():
        content = render_parts(parts[number], translations)
        contents[number] = _with_structure(content, expected, environment) or fields[number].content
    return contents


def _cut(parts: Sequence[Part]) -> list[Part]:
    return [piece for part in parts for piece in (cut_parts(part) if isinstance(part, Block) else [part])]


def _with_structure(content: str, expected: object, environment: dict[str, Any]) -> str | None:
    """Return a content that has the expected structure, if necessary with escapes at the starts of its lines."""
    for candidate in (content, _LINE_START.sub(_escaped_start, content)):
        if _structure(candidate, environment) == expected:
            return candidate
    return None


def _escaped_start(match: re.Match[str]) -> str:
    sign = match[2]
    return f"{match[1]}{sign}\\" if sign.isdigit() else f"{match[1]}\\{sign}"


def _structure(content: str, environment: dict[str, Any]) -> object:
    """Return the blocks of a content, and how often each kind of markup with its address or code occurs in it."""
    own: dict[str, Any] = {"references": environment.get("references", {})}
    tokens = parser().parse(content, {"references": dict(own["references"])})
    kinds = [(token.type, token.markup) for token in tokens]
    counts: Counter[tuple[str, ...]] = Counter()
    for token in tokens:
        if token.type in ("inline", "html_block"):
            counts.update(_kinds(inline_tokens(token.content, own)))
    return kinds, counts


def _kinds(tokens: Sequence[Token]) -> list[tuple[str, ...]]:
    kinds: list[tuple[str, ...]] = []
    for token in tokens:
        if token.type in ("code_inline", "html_inline"):
            kinds.append((token.type, token.content))
        elif token.type == "image" or token.nesting:
            kinds.append((token.type, token.markup, str(token.attrs.get("href", "")), str(token.attrs.get("src", ""))))
        elif token.type == "hardbreak":
            kinds.append((token.type,))
    return kinds
