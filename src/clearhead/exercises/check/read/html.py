"""Read an HTML page: every table becomes one grid, with its caption as the name; all else is text."""

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser

from clearhead.exercises.check.read.fold import without_comments
from clearhead.exercises.check.read.grid import LABEL, Grids, table_grid, without_holes
from clearhead.exercises.check.read.page import Page
from clearhead.exercises.check.read.text import read_text

_SKIPPED = ("script", "style", "select", "noscript", "template", "button", "svg", "title", "head")
_VOID = ("br", "hr", "img", "input", "meta", "link", "col", "wbr", "source", "area", "base", "embed", "track", "param")
_BLOCKS = (
    "p",
    "div",
    "li",
    "ul",
    "ol",
    "section",
    "article",
    "figure",
    "form",
    "main",
    "header",
    "label",
    "pre",
    "body",
)
_UNCLOSED = re.compile(  # < without its >, for which the parser would search the whole page again and again
    r"""<(?!(?:[^<>"']{0,300}(?:"[^"]{0,3000}"|'[^']{0,3000}')){0,40}[^<>"']{0,300}>)"""
)
_SIZE = re.compile(r"\s*\(?[0-9]+ × [0-9]+(?:, [a-z]+)?\)?\s*$")


def read_html(text: str) -> Page:
    """Return what is on an HTML page, also on one that a browser saved."""
    reader = _PageReader()
    reader.feed(_UNCLOSED.sub("&lt;", without_comments(without_holes(text))))
    reader.close()
    page = read_text("".join(reader.parts), reader.grids)
    return replace(page, fields={**page.fields, **reader.fields})


class _PageReader(HTMLParser):
    """Collect the text of a page, with a character for every table."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.grids = Grids()
        self.fields: dict[str, str] = {}
        self._skipped = 0  # open elements of which nothing is read
        self._table: list[list[list[str]]] | None = None  # the texts of the cells, row by row
        self._caption: list[str] | None = None
        self._into = self.parts  # where text goes

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Start a cell, a heading or a line."""
        attributes = dict(attrs)
        if self._skipped or tag in _SKIPPED or "hidden" in attributes:
            self._skipped += tag not in _VOID
        elif tag == "table" and self._table is None:
            self._table, self._caption = [], []
        elif self._table is not None:
            self._start_in_table(tag, self._table)
        elif tag in ("sub", "sup"):
            self._raise(tag)
        elif tag[:1] == "h" and tag[1:].isdigit():
            self.parts.append(f"\n\n{'#' * int(tag[1:])} ")
        elif tag in _BLOCKS or tag == "br":
            self.parts.append("\n")
        if tag == "input" and not self._skipped:
            self._type(attributes)

    def _start_in_table(self, tag: str, table: list[list[list[str]]]) -> None:
        if tag == "tr":
            table.append([])
        elif tag in ("td", "th"):
            row = table[-1] if table else []
            row.append([LABEL] if tag == "th" else [])
            self._into = row[-1]
        elif tag == "caption" and self._caption is not None:
            self._into = self._caption
        elif tag in ("sub", "sup"):
            self._raise(tag)

    def _raise(self, tag: str) -> None:
        """Begin an index or an exponent; some pages write the _ as well."""
        has_mark = bool(self._into) and self._into[-1].endswith("_")
        self._into.append("{" if has_mark else {"sub": "_{", "sup": "^{"}[tag])

    def _type(self, attributes: dict[str, str | None]) -> None:
        """Read what was typed into a field of the page."""
        value = attributes.get("value") or ""
        if "student" in (attributes.get("id"), attributes.get("name")):
            self.fields.update({"student": value} if value else {})
        elif attributes.get("type", "text") in ("text", "number", ""):
            self._into.append(f" {value} ")

    def handle_endtag(self, tag: str) -> None:
        """End a cell, a table or a heading."""
        if self._skipped:
            self._skipped -= tag not in _VOID
        elif tag in ("sub", "sup"):
            self._into.append("}")
        elif tag == "table" and self._table is not None:
            self._end_table(self._table)
        elif self._table is None and (tag in _BLOCKS or tag[:1] == "h"):
            self.parts.append("\n")
        elif tag == "span":
            self._into.append(" ")

    def _end_table(self, table: list[list[list[str]]]) -> None:
        rows = [[_line(cell) for cell in row] for row in table if row]
        caption = _SIZE.sub("", _line(self._caption or []))
        self._table, self._caption, self._into = None, None, self.parts
        if not rows:
            return
        grid = table_grid([[cell if cell != LABEL else "" for cell in row] for row in rows])
        if grid.has_values:
            grid = replace(grid, name=caption or grid.name)
            self.parts.append(f"\n{self.grids.add(grid)}\n")

    def handle_data(self, data: str) -> None:
        """Add text to the open cell or to the page."""
        if not self._skipped:
            self._into.append(data if self._into is self.parts else data.replace("\n", " "))


def _line(parts: list[str]) -> str:
    """Return the text of a cell on one line; W_{Q} is W_Q."""
    text = " ".join("".join(parts).split())
    return re.sub(r"([_^])\{(\w+|′+)\}", r"\1\2", text)
