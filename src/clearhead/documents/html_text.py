"""HTML documents and fragments: text and some attributes are translated, everything else stays as it is."""

import re
from collections.abc import Sequence
from html import escape, unescape
from itertools import accumulate

from clearhead.documents.blocks import Block, BlockBuilder, Part, translate_parts
from clearhead.documents.encoding import decode
from clearhead.documents.html_scanner import VOID, HtmlAttribute, HtmlToken, attributes, match_tags, scan
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
    return _HtmlReader(text).parts()


class _HtmlReader:
    """Reads tokens into parts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._folded(scan(text))
        self.partners = match_tags(self.tokens).partners
        # how many sentences end before each token
        self.separators = list(accumulate(map(self._separates, range(len(self.tokens))), initial=0))
        self.read: list[Part] = []
        self.builder, self.first, self.has_attributes = _builder(), 0, False

    def parts(self) -> list[Part]:
        """Return the parts of the document."""
        for index, token in enumerate(self.tokens):
            self._add(index, token)
        self._flush(len(self.text))
        return self.read

    def _folded(self, tokens: Sequence[HtmlToken]) -> list[HtmlToken]:
        """Return tokens with one in place of each element that is not translated: a word, a point or a block."""
        ends = match_tags(tokens)
        folded: list[HtmlToken] = []
        index = 0
        while index < len(tokens):
            token = tokens[index]
            is_note = token.name == "sup" and self._is_note(tokens, index, ends.end_tag.get(index, index))
            if token.kind != "start" or not (is_note or self._is_untouched(token)):
                folded.append(token)
                index += 1
                continue
            is_pair = index in ends.end_tag or token.name in VOID
            index = ends.after.get(index, index + 1)
            end = tokens[index - 1].end
            if token.name in _SEPARATORS or not is_pair:
                folded.append(HtmlToken("block", token.start, end, token.name))
            elif token.name in _EMBEDDED or token.name == "sup":
                folded.append(HtmlToken("point", token.start, token.end, token.name))
                folded.append(HtmlToken("other", token.end, end))
            else:
                folded.append(HtmlToken("word", token.start, end, token.name))
        return folded

    def _is_untouched(self, token: HtmlToken) -> bool:
        if token.name in _UNTOUCHED or token.name in _EMBEDDED:
            return True
        values = {attribute.name: self.text[attribute.start : attribute.end] for attribute in self._attributes(token)}
        return values.get("translate", "").lower() == "no" or "notranslate" in values.get("class", "").split()

    def _is_note(self, tokens: Sequence[HtmlToken], start: int, end: int) -> bool:
        """Return whether an element is the number of a footnote, which is not a word of the sentence."""
        texts = (self.text[token.start : token.end] for token in tokens[start:end] if token.kind == "text")
        return start < end <= start + _MAX_NOTE and not any(map(str.isalpha, "".join(texts)))

    def _attributes(self, token: HtmlToken) -> list[HtmlAttribute]:
        return attributes(self.text, token)

    def _separates(self, index: int) -> bool:
        """Return whether a sentence ends at a token: at a block, and at a tag without a partner."""
        token = self.tokens[index]
        if token.kind in ("start", "end"):
            is_single = token.kind == "start" and (token.name in VOID or token.has_slash)
            return token.name in _SEPARATORS or not (is_single or index in self.partners)
        return token.kind == "block"

    def _is_inline(self, index: int) -> bool:
        """Return whether a tag has a partner and no sentence ends between them: then both are tags of one sentence."""
        first, last = sorted((index, self.partners.get(index, index)))
        return first < last and self.separators[first] == self.separators[last + 1]

    def _add(self, index: int, token: HtmlToken) -> None:
        raw = self.text[token.start : token.end]
        if token.kind == "text":
            add_html_text(self.builder, raw)
        elif token.kind == "word":
            self.builder.add_protected(raw)
        elif self._is_inline(index):
            if token.kind == "start":
                self.builder.open_tag(*self._tag_parts(token))
            else:
                self.builder.close_tag(raw)
        elif self._separates(index) or index in self.partners:
            self._flush(token.start)
            self.read += self._tag_parts(token)
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
        """Return a tag; the values of the translatable attributes of a start tag are blocks."""
        parts: list[Part] = []
        place = token.start
        is_read = token.kind == "start" or (token.kind, token.name) == ("point", "textarea")
        for attribute in self._attributes(token) if is_read else ():
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
