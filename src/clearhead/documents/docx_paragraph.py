"""A paragraph of a Word document as text with formatting, and back: runs are made anew around the translated words."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from clearhead.documents.docx_code import CodeFinder
from clearhead.documents.docx_elements import (
    CONTAINERS,
    described,
    emptied,
    field_depth,
    has_breaks,
    is_break,
    name_of,
    new_run,
    new_text,
    properties_of,
    split_runs,
    tag_of,
)
from clearhead.documents.inline import MAX_DEPTH, NO_PARENT, InlineText, Markup, Piece
from clearhead.documents.protected import protected_ranges

# Their order matters, and they need not be at a certain word: beginnings go to the start of a text, ends to its end.
_STARTS = ("bookmarkStart", "commentRangeStart", "permStart", "moveToRangeStart", "moveFromRangeStart")
_ENDS = ("bookmarkEnd", "commentRangeEnd", "permEnd", "moveToRangeEnd", "moveFromRangeEnd")
_DROPPED = ("proofErr",)  # marks of a spelling checker


@dataclass(frozen=True, eq=False)
class _Content:
    """Something in a paragraph: formatted text, elements that move along with their neighbour, or a container."""

    kind: Literal["text", "point", "open", "close", "start", "end"]
    text: str = ""
    elements: tuple[Any, ...] = ()
    properties: Any = None
    is_code: bool = False


@dataclass(frozen=True, eq=False)
class DocxSegment:
    """A part of a paragraph between tabs and line breaks, and the elements that its translation replaces."""

    parent: Any
    elements: Sequence[Any]  # children of the parent
    contents: Sequence[_Content]
    inline: InlineText
    sources: Sequence[_Content]  # of each markup
    base: Any  # properties of text without markup

    def replace(self, pieces: Sequence[Piece]) -> None:
        """Replace the elements by those of a translation."""
        place = self.parent.index(self.elements[0])
        for element in self.elements:
            self.parent.remove(element)
        starts, ends = (
            [element for content in self.contents if content.kind == kind for element in content.elements]
            for kind in ("start", "end")
        )
        self.parent[place:place] = [*starts, *self._built(pieces), *ends]

    def _built(self, pieces: Sequence[Piece]) -> list[Any]:
        """Return the elements of a translation: runs, containers with runs in them, and what moved along."""
        containers: list[list[Any]] = [[]]
        formats: list[Any] = [self.base]
        text = ""
        for piece in [*pieces, None]:
            if piece is not None and piece.kind == "text":
                text += piece.text
                continue
            if text:
                containers[-1].append(new_run(new_text(text), formats[-1]))
                text = ""
            if piece is None:
                break
            source = self.sources[piece.markup]
            if source.kind == "text":  # formatting
                formats = [*formats, source.properties] if piece.kind == "open" else formats[:-1]
            elif source.kind == "point":
                containers[-1] += source.elements if piece.kind == "open" else ()
            elif piece.kind == "open":
                containers.append([])
            else:
                container = emptied(source.elements[0])
                container.extend(containers.pop())
                containers[-1].append(container)
        return containers[0]


def paragraph_segments(paragraph: Any, finder: CodeFinder) -> list[DocxSegment]:
    """Return the parts of a paragraph to translate; one with a piece of a longer field, as in an index, has none."""
    if field_depth([paragraph]):
        return []
    split_runs(paragraph)
    return list(_segments_in(paragraph, lambda properties: finder.is_code(paragraph, properties)))


def _segments_in(parent: Any, is_code: Callable[[Any], bool]) -> Iterator[DocxSegment]:
    group: list[Any] = []
    for child in [*parent, None]:
        if child is not None and not _separates(child):
            group.append(child)
            continue
        if (segment := _segment(parent, group, is_code)) is not None:
            yield segment
        group = []
        if child is not None and name_of(child) in CONTAINERS:
            yield from _segments_in(child, is_code)
        elif child is not None and name_of(child) == "sdt":
            for content in child.findall(tag_of("sdtContent")):
                split_runs(content)
                yield from _segments_in(content, is_code)


def _separates(child: Any) -> bool:
    """Return whether a child of a paragraph ends a text: its properties, a tab, a line break, a content control."""
    name = name_of(child)
    if name == "r":
        return is_break(child)
    return has_breaks(child) if name in CONTAINERS else name in ("pPr", "sdt", "p", "tbl")


def _segment(parent: Any, elements: Sequence[Any], is_code: Callable[[Any], bool]) -> DocxSegment | None:
    """Return the segment of some children of a paragraph; None if there is no text to translate in them."""
    if field_depth(elements):  # a field with a tab in it
        return None
    contents = [
        replace(content, is_code=content.kind == "text" and is_code(content.properties))
        for content in _contents(elements, 0)
    ]
    if not any(letter.isalpha() for content in contents if not content.is_code for letter in content.text):
        return None
    lengths: Counter[tuple[Any, ...]] = Counter()
    examples: dict[tuple[Any, ...], Any] = {}
    for content in contents:
        if content.kind == "text":
            key = described(content.properties)
            lengths[key] += len(content.text)
            examples.setdefault(key, content.properties)
    usual = max(lengths, key=lambda key: lengths[key])
    reader = _SegmentReader(usual)
    for content in contents:
        reader.add(content)
    return DocxSegment(parent, elements, contents, reader.inline(), reader.sources, examples[usual])


def _contents(elements: Sequence[Any], depth: int) -> Iterator[_Content]:
    """Yield what is in a part of a paragraph; a field with all that belongs to it moves along as one."""
    field: list[Any] = []
    for element in elements:
        name = name_of(element)
        if field or (field_depth([element]) and name not in CONTAINERS):
            field.append(element)
            if not field_depth(field):
                yield _Content("point", elements=tuple(field))
                field = []
        elif name == "r" and (text := element.find(tag_of("t"))) is not None:
            yield _Content("text", text.text or "", (element,), properties_of(element))
        elif name in CONTAINERS and depth < MAX_DEPTH and not field_depth([element]):
            yield _Content("open", elements=(element,))
            yield from _contents(list(element), depth + 1)
            yield _Content("close")
        elif name in _STARTS or name in _ENDS:
            yield _Content("start" if name in _STARTS else "end", elements=(element,))
        elif name not in _DROPPED and not (depth and name.endswith("Pr")):
            yield _Content("point", elements=(element,))
    if field:
        yield _Content("point", elements=tuple(field))


class _SegmentReader:
    """Collects text, and formatting, containers and other elements as markups."""

    def __init__(self, usual: tuple[Any, ...]) -> None:
        self._usual = usual
        self._texts: list[str] = []
        self._length = 0
        self._codes: list[tuple[int, int]] = []
        self._starts: list[tuple[int, int]] = []
        self._ends: dict[int, int] = {}
        self._open: list[int] = []
        self.sources: list[_Content] = []

    def add(self, content: _Content) -> None:
        """Add the next content."""
        if content.kind == "text":
            self._add_text(content)
        elif content.kind == "point":
            self._open_markup(content)
            self._close_markup()
        elif content.kind in ("open", "close"):
            self._close_format()
            if content.kind == "open":
                self._open_markup(content)
            else:
                self._close_markup()

    def inline(self) -> InlineText:
        """Return the text with its markups."""
        self._close_format()
        text = "".join(self._texts)
        markups = tuple(Markup(start, self._ends[index], parent) for index, (start, parent) in enumerate(self._starts))
        cuts = {place for markup in markups for place in (markup.start, markup.end)}
        return InlineText(text, markups, protected_ranges(text, self._codes, cuts=cuts))

    def _add_text(self, content: _Content) -> None:
        key = described(content.properties)
        if self._has_format and described(self.sources[self._open[-1]].properties) != key:
            self._close_format()
        if key != self._usual and not self._has_format:
            self._open_markup(content)
        if content.is_code and (code := content.text.strip()):
            start = self._length + content.text.index(code)
            self._codes.append((start, start + len(code)))
        self._texts.append(content.text)
        self._length += len(content.text)

    @property
    def _has_format(self) -> bool:
        return bool(self._open) and self.sources[self._open[-1]].kind == "text"

    def _close_format(self) -> None:
        if self._has_format:
            self._close_markup()

    def _open_markup(self, content: _Content) -> None:
        self._starts.append((self._length, self._open[-1] if self._open else NO_PARENT))
        self.sources.append(content)
        self._open.append(len(self.sources) - 1)

    def _close_markup(self) -> None:
        self._ends[self._open.pop()] = self._length
