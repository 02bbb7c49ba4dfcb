"""HTML documents and fragments: text and some attributes are translated, everything else stays as it is."""

import re
from collections.abc import Sequence
from html import escape, unescape

from clearhead.documents.blocks import Block, BlockBuilder, Part, translate_parts
from clearhead.documents.encoding import decode
from clearhead.documents.html_scanner import VOID, ElementEnds, HtmlAttribute, HtmlToken, attributes, match_tags, scan
from clearhead.documents.inline_translator import InlineTranslator

TRANSLATED_ATTRIBUTES = frozenset({"title", "alt", "placeholder"})
# Sentences end at these; all other elements, also unknown ones, are part of a sentence, as in a browser.
_SEPARATORS = frozenset(
    {
        *("address", "article", "aside", "base", "blockquote", "body", "br", "button", "caption", "center", "col"),
        *("colgroup", "dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure"),
        *("footer", "form", "frame", "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr"),
        *("html", "legend", "li", "link", "main", "menu", "meta", "nav", "noframes", "noscript", "ol", "optgroup"),
        *("option", "p", "pre", "search", "section", "select", "summary", "table", "tbody", "td", "tfoot", "th"),
        *("thead", "title", "tr", "ul"),
    }
)
_UNTOUCHED = frozenset({"pre", "code", "kbd", "samp", "var", "tt", "math"})  # a word of the sentence, or a block
_EMBEDDED = frozenset(
    {"script", "style", "svg", "template", "iframe", "object", "video", "audio", "canvas", "textarea", "xmp", "noembed"}
)
_MAX_NOTE = 9  # tokens of a footnote's number: <sup><a href="#n1">[1]</a></sup>
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_CHARSET = re.compile(rb"<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?([\w-]{1,40})", re.IGNORECASE)


def translate_html(content: bytes, translator: InlineTranslator) -> bytes:
    """Translate an HTML document."""
    charset = _CHARSET.search(content[:2048])
    decoded = decode(content, None if charset is None else charset[1].decode("ascii"))
    return decoded.encoded(translate_html_text(decoded.text, translator), errors="xmlcharrefreplace")


def translate_html_text(text: str, translator: InlineTranslator) -> str:
    """Translate an HTML document or a fragment of one."""
    return translate_parts(html_parts(text), translator)


def html_parts(text: str) -> list[Part]:
    """Return the blocks of HTML, and the raw text between them."""
    tokens = scan(text)
    return _HtmlReader(text, tokens, match_tags(tokens)).parts()


class _HtmlReader:
    """Reads tokens into parts."""

    def __init__(self, text: str, tokens: Sequence[HtmlToken], ends: ElementEnds) -> None:
        self.text, self.tokens, self.ends = text, tokens, ends
        self.starts = {end: start for start, end in ends.end_tag.items()}
        self.untouched = self._find_untouched()
        self.separators = self._count_separators()
        self.read: list[Part] = []
        self.builder, self.first, self.has_attributes = _builder(), 0, False

    def parts(self) -> list[Part]:
        """Return the parts of the document."""
        index = 0
        while index < len(self.tokens):
            if (after := self.untouched.get(index)) is not None:
                self._add_untouched(index, after)
                index = after
                continue
            self._add(index)
            index += 1
        self._flush(len(self.text))
        return self.read

    def _find_untouched(self) -> dict[int, int]:
        """Return the first token of every element that is not translated, with the first token after it."""
        untouched: dict[int, int] = {}
        index = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.kind == "start" and self._is_untouched(index):
                untouched[index] = self.ends.after.get(index, index + 1)
                index = untouched[index]
            else:
                index += 1
        return untouched

    def _is_untouched(self, index: int) -> bool:
        token = self.tokens[index]
        if token.name in _UNTOUCHED or token.name in _EMBEDDED:
            return True
        if self._is_note(index):
            return True
        values = {attribute.name: self.text[attribute.start : attribute.end] for attribute in self._attributes(token)}
        return values.get("translate", "").lower() == "no" or "notranslate" in values.get("class", "").split()

    def _is_note(self, index: int) -> bool:
        """Return whether an element is the number of a footnote, which is not a word of the sentence."""
        end = self.ends.end_tag.get(index)
        if self.tokens[index].name != "sup" or end is None or end - index > _MAX_NOTE:
            return False
        texts = [self.text[token.start : token.end] for token in self.tokens[index + 1 : end] if token.kind == "text"]
        return not any(map(str.isalpha, "".join(texts)))

    def _attributes(self, token: HtmlToken) -> list[HtmlAttribute]:
        return attributes(self.text, token)

    def _count_separators(self) -> list[int]:
        """Return the number of tokens before each one at which a sentence ends."""
        counts = [0]
        index = 0
        while index < len(self.tokens):
            after = self.untouched.get(index, index + 1)
            counts += [counts[-1]] * (after - index - 1) + [counts[-1] + self._separates(index)]
            index = after
        return counts

    def _separates(self, index: int) -> bool:
        """Return whether a sentence ends at a token: at a block, and at a tag without a partner."""
        token = self.tokens[index]
        if index in self.untouched and index not in self.ends.end_tag and token.name not in VOID:
            return True
        if token.kind == "start":
            is_pair = index in self.ends.end_tag or token.name in VOID or token.has_slash
            return token.name in _SEPARATORS or not is_pair
        return token.kind == "end" and (token.name in _SEPARATORS or index not in self.starts)

    def _is_inline(self, start: int, end: int) -> bool:
        """Return whether no sentence ends from one token to another, so that both can be tags of one sentence."""
        return self.separators[start] == self.separators[end + 1]

    def _add_untouched(self, index: int, after: int) -> None:
        token, end = self.tokens[index], self.tokens[after - 1].end
        raw = self.text[token.start : end]
        if self._separates(index):
            self._flush(token.start)
            self.read.append(raw)
            self.first = end
        elif token.name in _EMBEDDED or token.name == "sup":
            opening = self._tag_parts(token) if token.name == "textarea" else [self.text[token.start : token.end]]
            self.builder.add_point(*opening, self.text[token.end : end])
        else:
            self.builder.add_protected(raw)

    def _add(self, index: int) -> None:
        token = self.tokens[index]
        raw = self.text[token.start : token.end]
        if token.kind == "text":
            add_html_text(self.builder, raw)
        elif token.kind == "other":
            self.builder.add_point(raw)
        elif token.kind == "start" and index in self.ends.end_tag and self._is_inline(index, self.ends.end_tag[index]):
            self.builder.open_tag(*self._tag_parts(token))
        elif token.kind == "end" and index in self.starts and self._is_inline(self.starts[index], index):
            self.builder.close_tag(raw)
        elif self._separates(index) or index in self.ends.end_tag or index in self.starts:
            self._flush(token.start)
            self.read += self._tag_parts(token) if token.kind == "start" else [raw]
            self.has_attributes, self.first = False, token.end
        else:
            self.builder.add_point(*self._tag_parts(token))

    def _flush(self, end: int) -> None:
        """End the block that is being read; one without letters stays raw."""
        if self.builder.has_letters or self.has_attributes:
            self.read.append(self.builder.build())
        else:
            self.read.append(self.text[self.first : end])
        self.builder, self.first, self.has_attributes = _builder(), end, False

    def _tag_parts(self, token: HtmlToken) -> list[Part]:
        """Return a start tag with the values of its translatable attributes as blocks."""
        parts: list[Part] = []
        place = token.start
        for attribute in self._attributes(token):
            value = self.text[attribute.start : attribute.end]
            if attribute.name not in TRANSLATED_ATTRIBUTES or not any(map(str.isalpha, unescape(value))):
                continue
            quote = "" if attribute.quote else '"'
            parts += [self.text[place : attribute.start] + quote, _value_block(value, attribute.quote or '"'), quote]
            place = attribute.end
            self.has_attributes = True
        return [*parts, self.text[place : token.end]]


def _builder() -> BlockBuilder:
    return BlockBuilder(lambda text: escape(text, quote=False))


def _value_block(value: str, quote: str) -> Block:
    builder = BlockBuilder(lambda text: escape(text, quote=False).replace(quote, "&quot;" if quote == '"' else "&#39;"))
    add_html_text(builder, value)
    return builder.build()


def add_html_text(builder: BlockBuilder, raw: str) -> None:
    """Add text in which characters can be written as entities."""
    place = 0
    for match in _ENTITY.finditer(raw):
        plain = unescape(match[0])
        if plain != match[0]:
            builder.add_text(raw[place : match.start()])
            builder.add_text(plain, match[0])
            place = match.end()
    builder.add_text(raw[place:])
