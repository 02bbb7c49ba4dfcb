"""A paragraph of a Word document as text with formatting, and back: runs are made anew around the translated words."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from clearhead.documents.blocks import Block, BlockBuilder
from clearhead.documents.docx_elements import (
    CONTAINERS,
    described,
    emptied,
    field_depth,
    has_breaks,
    is_break,
    is_no_proof,
    name_of,
    new_run,
    new_text,
    properties_of,
    split_runs,
    tag_of,
)
from clearhead.documents.inline import Piece

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


@dataclass(frozen=True, eq=False)
class DocxSegment:
    """A part of a paragraph between tabs and line breaks, and the elements that its translation replaces."""

    parent: Any
    elements: Sequence[Any]  # children of the parent
    contents: Sequence[_Content]
    block: Block
    sources: Sequence[_Content]  # of each tag
    base: Any  # properties of text without formatting

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
                text += piece.text if piece.source is None else "".join(self.block.raws[slice(*piece.source)])
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


def paragraph_segments(paragraph: Any, unproofed: frozenset[str] = frozenset()) -> list[DocxSegment]:
    """Return the parts of a paragraph to translate; one with a piece of a longer field, as in an index, has none.

    Text that is marked as no-proof stays, also by its style, if that is one of `unproofed`.
    """
    style = paragraph.find(f"{tag_of('pPr')}/{tag_of('pStyle')}")
    if field_depth([paragraph]) or (style is not None and style.get(tag_of("val")) in unproofed):
        return []
    split_runs(paragraph)
    return list(_segments_in(paragraph, unproofed))


def _segments_in(parent: Any, unproofed: frozenset[str]) -> Iterator[DocxSegment]:
    group: list[Any] = []
    for child in [*parent, None]:
        if child is not None and not _separates(child):
            group.append(child)
            continue
        if (segment := _segment(parent, group, unproofed)) is not None:
            yield segment
        group = []
        if child is not None and name_of(child) in CONTAINERS:
            yield from _segments_in(child, unproofed)
        elif child is not None and name_of(child) == "sdt":
            for content in child.findall(tag_of("sdtContent")):
                split_runs(content)
                yield from _segments_in(content, unproofed)


def _separates(child: Any) -> bool:
    """Return whether a child of a paragraph ends a text: its properties, a tab, a line break, a content control."""
    name = name_of(child)
    if name == "r":
        return is_break(child)
    return has_breaks(child) if name in CONTAINERS else name in ("pPr", "sdt", "p", "tbl")


def _segment(parent: Any, elements: Sequence[Any], unproofed: frozenset[str]) -> DocxSegment | None:
    """Return the segment of some children of a paragraph; None if there is no text to translate in them."""
    if field_depth(elements):  # a field with a tab in it
        return None
    contents = list(_contents(elements))
    lengths: Counter[tuple[Any, ...]] = Counter()
    examples: dict[tuple[Any, ...], Any] = {}
    for content in contents:
        if content.kind == "text":
            key = described(content.properties)
            lengths[key] += len(content.text)
            examples.setdefault(key, content.properties)
    if not lengths:
        return None
    usual = max(lengths, key=lambda key: lengths[key])
    reader = _SegmentReader(usual, unproofed)
    for content in contents:
        reader.add(content)
    if not reader.builder.has_letters:
        return None
    return DocxSegment(parent, elements, contents, reader.block(), reader.sources, examples[usual])


def _contents(elements: Sequence[Any], *, is_inside: bool = False) -> Iterator[_Content]:
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
        elif name in CONTAINERS and not field_depth([element]):
            yield _Content("open", elements=(element,))
            yield from _contents(list(element), is_inside=True)
            yield _Content("close")
        elif name in _STARTS or name in _ENDS:
            yield _Content("start" if name in _STARTS else "end", elements=(element,))
        elif name not in _DROPPED and not (is_inside and name.endswith("Pr")):
            yield _Content("point", elements=(element,))
    if field:
        yield _Content("point", elements=tuple(field))


class _SegmentReader:
    """Collects text, and formatting, containers and other elements as tags."""

    def __init__(self, usual: tuple[Any, ...], unproofed: frozenset[str]) -> None:
        self.builder = BlockBuilder()
        self.sources: list[_Content] = []
        self._usual, self._unproofed = usual, unproofed
        self._format: tuple[Any, ...] | None = None  # of the innermost tag, if that is formatting

    def add(self, content: _Content) -> None:
        """Add the next content."""
        if content.kind == "text":
            self._add_text(content)
        elif content.kind == "point":
            self._open_tag(content)
            self.builder.close_tag()
        elif content.kind in ("open", "close"):
            self._close_format()
            if content.kind == "open":
                self._open_tag(content)
            else:
                self.builder.close_tag()

    def block(self) -> Block:
        """Return the text with its tags."""
        self._close_format()
        return self.builder.build()

    def _add_text(self, content: _Content) -> None:
        key = described(content.properties)
        if key != self._format:
            self._close_format()
            if key != self._usual:
                self._open_tag(content)
                self._format = key
        code = content.text.strip()
        if code and is_no_proof(content.properties, self._unproofed):
            before, _, after = content.text.partition(code)
            self.builder.add_text(before)
            self.builder.add_protected(code)
            self.builder.add_text(after)
        else:
            self.builder.add_text(content.text)

    def _open_tag(self, content: _Content) -> None:
        self.builder.open_tag()
        self.sources.append(content)

    def _close_format(self) -> None:
        if self._format is not None:
            self.builder.close_tag()
            self._format = None
