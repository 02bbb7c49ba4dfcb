"""Split HTML into tags, comments and text with positions, in linear time, and match tags that belong together.

A parser that builds a tree would rewrite the document; positions let everything around the text stay as it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "start", "end", "other", "word", "point", "block"]

VOID = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track"),
        *("wbr", "basefont", "bgsound", "frame", "keygen"),
    }
)
_RAW_TEXT = frozenset({"script", "style", "textarea", "xmp", "iframe", "noembed", "noframes"})
_CELLS, _ROWS = frozenset({"td", "th"}), frozenset({"tr", "td", "th"})
# a start tag of this name -> the open elements that it ends
_ENDED_BY: dict[str, frozenset[str]] = {
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "option": frozenset({"option"}),
    "td": _CELLS,
    "th": _CELLS,
    "tr": _ROWS,
    "tbody": _ROWS | {"thead", "tbody"},
    "tfoot": _ROWS | {"thead", "tbody"},
    **dict.fromkeys(
        (
            *("address", "article", "aside", "blockquote", "details", "div", "dl", "fieldset", "figure", "footer"),
            *("form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main", "nav", "ol", "p", "pre", "section"),
            *("table", "ul"),
        ),
        frozenset({"p"}),
    ),
}
_ATTRIBUTE = r"[^\s/>=][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+))?+"  # name, or name="value"
_START = re.compile(rf"<([a-zA-Z][^\s/>]*+)((?:[\s/]++|{_ATTRIBUTE}|=)*+)>")
_ATTRIBUTES = re.compile(
    r"([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<bare>[^\s>\"'][^\s>]*+)))?+"
)
_OPENING = re.compile(r"<(?=[a-zA-Z!?/])")


@dataclass(frozen=True)
class HtmlToken:
    """A piece of HTML from `start` to `end`; `other` is a comment, a declaration, or the rest of a broken document.

    A word, a point or a block is a whole element that is not translated.
    """

    kind: Kind
    start: int
    end: int
    name: str = ""
    has_slash: bool = False  # <br/>


@dataclass(frozen=True)
class HtmlAttribute:
    """An attribute with the range of its value; `quote` is empty if the value has no quotation marks."""

    name: str
    start: int
    end: int
    quote: str


def scan(text: str) -> list[HtmlToken]:
    """Return the tokens of a document, which cover it without gaps."""
    tokens: list[HtmlToken] = []
    place = 0
    while place < len(text):
        match = _OPENING.search(text, place)
        start = len(text) if match is None else match.start()
        if start > place:
            tokens.append(HtmlToken("text", place, start))
        if match is None:
            break
        token = _markup(text, start)
        tokens.append(token)
        place = token.end
        if token.kind == "start" and token.name in _RAW_TEXT:
            closing = re.compile(rf"</{token.name}(?=[\s/>])", re.IGNORECASE).search(text, place)
            end = len(text) if closing is None else closing.start()
            if end > place:
                tokens.append(HtmlToken("other", place, end))
            place = end
    return tokens


def _markup(text: str, start: int) -> HtmlToken:
    """Return the token that a `<` opens: the rest of the document if it has no end, so that nothing is read twice."""
    if text.startswith("<!--", start):
        end = text.find("-->", start + 2 if text.startswith("<!-->", start) else start + 4)
        return HtmlToken("other", start, len(text) if end < 0 else end + 3)
    if text[start + 1].isalpha():
        match = _START.match(text, start)
        if match is None:
            return HtmlToken("other", start, len(text))
        return HtmlToken("start", start, match.end(), match[1].lower(), match[2].endswith("/"))
    end = text.find(">", start)
    if end < 0:
        return HtmlToken("other", start, len(text))
    name = re.match(r"</([a-zA-Z][^\s/>]*)", text[start:end])
    return HtmlToken("other" if name is None else "end", start, end + 1, "" if name is None else name[1].lower())


def attributes(text: str, token: HtmlToken) -> list[HtmlAttribute]:
    """Return the attributes of a start tag that have a value."""
    entries = []
    for match in _ATTRIBUTES.finditer(text, token.start + 1 + len(token.name), token.end - 1):
        group = match.lastgroup
        if group is not None:
            quote = {"double": '"', "single": "'", "bare": ""}[group]
            entries.append(HtmlAttribute(match[1].lower(), *match.span(group), quote))
    return entries


@dataclass(frozen=True)
class ElementEnds:
    """The index of the end tag of each start tag that has one, and of the first token after each element."""

    end_tag: dict[int, int]
    after: dict[int, int]

    @property
    def partners(self) -> dict[int, int]:
        """The index of the other tag of each tag that has one."""
        return self.end_tag | {end: start for start, end in self.end_tag.items()}


def match_tags(tokens: Sequence[HtmlToken]) -> ElementEnds:
    """Match start and end tags; as in a browser, some start tags end an element, and a parent ends its children."""
    end_tag: dict[int, int] = {}
    after: dict[int, int] = {}
    stack: list[int] = []
    counts: dict[str, int] = {}

    def pop(index: int) -> str:
        top = stack.pop()
        counts[tokens[top].name] -= 1
        after[top] = index
        return tokens[top].name

    for index, token in enumerate(tokens):
        if token.kind in ("start", "word", "point", "block"):
            while stack and tokens[stack[-1]].name in _ENDED_BY.get(token.name, ()):
                pop(index)
            if token.kind == "start" and token.name not in VOID and not token.has_slash:
                stack.append(index)
                counts[token.name] = counts.get(token.name, 0) + 1
        elif token.kind == "end" and counts.get(token.name):
            while True:
                top = stack[-1]
                if pop(index) == token.name:
                    end_tag[top], after[top] = index, index + 1
                    break
    while stack:
        pop(len(tokens))
    return ElementEnds(end_tag, after)
