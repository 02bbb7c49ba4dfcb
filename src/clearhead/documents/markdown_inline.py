"""The inline structure of Markdown with positions: which characters are text, and which are markup.

markdown-it-py gives positions of blocks only. Here each of its inline rules notes where the tokens it makes come from.
"""

import re
from collections.abc import Callable
from functools import cache
from itertools import groupby
from typing import Any

from markdown_it import MarkdownIt, rules_inline
from markdown_it.rules_inline.state_inline import StateInline
from markdown_it.token import Token

from clearhead.documents.blocks import Block, BlockBuilder, Part
from clearhead.documents.html_scanner import match_tags, scan
from clearhead.documents.inline_translator import unmoved_pieces
from clearhead.documents.protected import FORMULA, SCRIPTED

_SPAN = "span"  # in the metadata of a token
_RULES: dict[str, Callable[[StateInline, bool], bool]] = {
    "newline": rules_inline.newline,
    "escape": rules_inline.escape,
    "backticks": rules_inline.backtick,
    "strikethrough": rules_inline.strikethrough.tokenize,
    "emphasis": rules_inline.emphasis.tokenize,
    "link": rules_inline.link,
    "image": rules_inline.image,
    "autolink": rules_inline.autolink,
    "html_inline": rules_inline.html_inline,
    "entity": rules_inline.entity,
}
_SPECIAL = re.compile(r"[\\`*_\[\]<]|&(?=[#a-zA-Z])|~(?=~)")
_SPECIAL_IN_TABLE = re.compile(rf"{_SPECIAL.pattern}|\|")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,60}\]")


@cache
def parser() -> MarkdownIt:
    """Return a parser of CommonMark with tables and strikethrough, which leaves inline text to `inline_tokens`."""
    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for name, rule in _RULES.items():
        markdown.inline.ruler.at(name, _located(rule))
    markdown.inline.ruler2.disable("fragments_join")  # it would merge tokens that have positions
    markdown.core.ruler.disable("inline")
    return markdown


def inline_tokens(content: str, environment: dict[str, Any]) -> list[Token]:
    """Return the inline tokens of the content of a block; those that are markup have their positions."""
    tokens: list[Token] = []
    markdown = parser()
    return markdown.inline.parse(content, markdown, environment, tokens)


def _located(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Return a rule that notes the positions of the tokens it makes."""

    def run(state: StateInline, silent: bool) -> bool:
        start, count = state.pos, len(state.tokens) + bool(state.pending)  # pending text becomes a token first
        if not rule(state, silent):
            return False
        if not silent and (tokens := state.tokens[count:]):
            _note(state, tokens, start)
        return True

    return run


def _note(state: StateInline, tokens: list[Token], start: int) -> None:
    first, last = tokens[0], tokens[-1]
    if first.type == "link_open" and first.markup != "autolink":
        label_end = state.md.helpers.parseLinkLabel(state, start, True)
        first.meta[_SPAN], last.meta[_SPAN] = (start, start + 1), (label_end, state.pos)
    elif first.type == "link_open":
        first.meta[_SPAN] = (start, state.pos)
    elif first.type == "text":  # signs that may become emphasis
        place = start
        for token in tokens:
            token.meta[_SPAN] = (place, place + len(token.content))
            place += len(token.content)
    else:
        first.meta[_SPAN] = (start, state.pos)


def content_parts(content: str, environment: dict[str, Any], *, is_cell: bool = False) -> list[Part]:
    """Return the content of a paragraph, heading or cell as blocks; hard line breaks are between them."""
    return _ContentReader(content, is_cell).parts(inline_tokens(content, environment))


class _ContentReader:
    """Reads inline tokens into blocks."""

    def __init__(self, content: str, is_cell: bool) -> None:
        self.content, self.is_cell = content, is_cell
        self.builder = self._new_builder()
        self.read: list[Part] = []
        self.place = 0
        self.open: list[str] = []

    def _new_builder(self) -> BlockBuilder:
        special = _SPECIAL_IN_TABLE if self.is_cell else _SPECIAL
        return BlockBuilder(lambda text: special.sub(r"\\\g<0>", text), (FORMULA, SCRIPTED))

    def parts(self, tokens: list[Token]) -> list[Part]:
        """Return the parts of the whole content."""
        pairs = _html_pairs(tokens)
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.type in ("code_inline", "text_special", "hardbreak", "image", "html_inline") or token.nesting:
                index = self._add(tokens, index, pairs)
            index += 1
        self._add_text(len(self.content))
        return [*self.read, self.builder.build()]

    def _add(self, tokens: list[Token], index: int, pairs: dict[int, int]) -> int:
        """Add one token of markup; return the index of the last token that it consists of."""
        token = tokens[index]
        start, end = _span(token)
        self._add_text(start)
        raw, self.place = self.content[start:end], end
        if token.type == "text_special":
            self.builder.add_text(token.content, raw if raw != token.content else None)
        elif token.type == "hardbreak":
            self._break(raw)
        elif token.type == "image":
            self.builder.add_point(*self._image(token, raw))
        elif token.type == "html_inline":
            self._add_html(index, pairs, raw)
        elif token.type == "link_open" and (last := self._untranslated_link(tokens, index)) is not None:
            self.place = _span(tokens[last])[1]
            self.builder.add_protected(self.content[start : self.place])
            return last
        elif token.type == "code_inline":
            self.builder.add_protected(raw)
        elif token.nesting > 0:
            self.open.append(token.tag)
            self.builder.open_tag(raw)
        else:
            self.open.pop()
            self.builder.close_tag(raw)
        return index

    def _add_text(self, end: int) -> None:
        """Add the text up to a place; the marks of footnotes in it are not words of a sentence."""
        for match in _FOOTNOTE.finditer(self.content, self.place, end):
            self.builder.add_text(self.content[self.place : match.start()])
            self.builder.add_point(match[0])
            self.place = match.end()
        self.builder.add_text(self.content[self.place : end])
        self.place = end

    def _break(self, raw: str) -> None:
        """End a block at a hard line break, unless it is inside a tag."""
        if self.open:
            self.builder.add_point(raw)
            return
        self.read += [self.builder.build(), raw]
        self.builder = self._new_builder()

    def _add_html(self, index: int, pairs: dict[int, int], raw: str) -> None:
        if index not in pairs:
            self.builder.add_point(raw)
        elif pairs[index] > index:
            self.open.append("html")
            self.builder.open_tag(raw)
        else:
            self.open.pop()
            self.builder.close_tag(raw)

    def _untranslated_link(self, tokens: list[Token], index: int) -> int | None:
        """Return the end of a link whose text is also its address or the name of a reference: <https://…>, [name]."""
        depth = 0
        for last in range(index, len(tokens)):
            depth += tokens[last].nesting * (tokens[last].tag == "a")
            if not depth:
                break
        if tokens[index].markup == "autolink":
            tokens[last].meta[_SPAN] = _span(tokens[index])
            return last
        start, end = _span(tokens[last])
        return last if self.content[start:end] in ("]", "][]") else None

    def _image(self, token: Token, raw: str) -> list[Part]:
        """Return an image with its description as a block, if that is plain text and not the name of a reference."""
        label = token.content
        is_plain = all(child.type == "text" for child in token.children or ())
        if not is_plain or not any(map(str.isalpha, label)) or raw in (f"![{label}]", f"![{label}][]"):
            return [raw]
        builder = self._new_builder()
        builder.add_text(label)
        return ["![", builder.build(), raw[2 + len(label) :]]


def _span(token: Token) -> tuple[int, int]:
    """Return the position of a token; that of ** is noted for one of its two signs."""
    start, end = token.meta[_SPAN]
    if token.type == "strong_open":
        return start - 1, end
    return (start, end + 1) if token.type == "strong_close" else (start, end)


def _html_pairs(tokens: list[Token]) -> dict[int, int]:
    """Return the HTML tags that belong together, each with the index of the other, in the same Markdown tag."""
    outside: list[int] = []
    inside = [outside]  # of each Markdown tag that is open, the HTML tags that are directly in it
    groups = [outside]
    for index, token in enumerate(tokens):
        if token.type == "html_inline":
            inside[-1].append(index)
        elif token.nesting > 0:
            groups.append([])
            inside.append(groups[-1])
        elif token.nesting < 0:
            inside.pop()
    pairs: dict[int, int] = {}
    for group in groups:
        partners = match_tags([scan(tokens[index].content)[0] for index in group]).partners
        pairs |= {group[one]: group[other] for one, other in partners.items()}
    return pairs


def cut_parts(block: Block) -> list[Part]:
    """Return a block as separate blocks between its tags, which then cannot move."""
    parts: list[Part] = []
    for is_text, group in groupby(unmoved_pieces(block.inline), lambda piece: piece.kind == "text"):
        if is_text:
            spans = [piece.source for piece in group if piece.source is not None]
            parts.append(block.part(spans[0][0], spans[-1][1]))
            continue
        for piece in group:
            tag = block.tags[piece.markup]
            parts += tag.opening if piece.kind == "open" else tag.closing
    return parts
