"""A text of a Word document with its formatting, and back: runs are made anew around the translated words."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from clearhead.documents.blocks import BlockBuilder
from clearhead.documents.docx_elements import (
    ENDS,
    STARTS,
    described,
    is_no_proof,
    name_of,
    new_run,
    new_text,
    properties_of,
    tag_of,
)
from clearhead.documents.inline import Piece


class DocxSegment:
    """Some children of a paragraph as one text; formatting, links and other elements are its tags."""

    def __init__(self, elements: Sequence[Any], unproofed: frozenset[str]) -> None:
        self._elements, self._unproofed = elements, unproofed
        self._starts: list[Any] = []
        self._ends: list[Any] = []
        self._tags: list[Any] = []  # the element of each tag: a link, a run, or the first run of a format
        self._builder = BlockBuilder()
        self._format: tuple[Any, ...] | None = None  # of the innermost tag, if that is formatting
        self._base = self._usual_properties()
        for element in elements:
            if name_of(element) == "hyperlink":
                self._close_format()
                self._open_tag(element)
                for child in element:
                    self._add(child)
                self._close_format()
                self._builder.close_tag()
            else:
                self._add(element)
        self._close_format()
        self.has_letters = self._builder.has_letters
        self.block = self._builder.build()

    def _usual_properties(self) -> Any:
        """Return the properties of most of the text, which needs no tag."""
        lengths: Counter[tuple[Any, ...]] = Counter()
        examples: dict[tuple[Any, ...], Any] = {}
        for element in self._elements:
            for run in element if name_of(element) == "hyperlink" else (element,):
                if (text := run.find(tag_of("t"))) is not None:
                    key = described(properties_of(run))
                    lengths[key] += len(text.text or "")
                    examples.setdefault(key, properties_of(run))
        return examples[max(lengths, key=lambda key: lengths[key])] if lengths else None

    def _add(self, element: Any) -> None:
        """Add a run or a mark."""
        name = name_of(element)
        if name in STARTS:
            self._starts.append(element)
        elif name in ENDS:
            self._ends.append(element)
        elif (text := element.find(tag_of("t"))) is not None:
            self._add_text(text.text or "", element)
        elif name == "r":
            self._open_tag(element)
            self._builder.close_tag()

    def _add_text(self, text: str, run: Any) -> None:
        key = described(properties_of(run))
        if key != self._format:
            self._close_format()
            if key != described(self._base):
                self._open_tag(run)
                self._format = key
        code = text.strip()
        if code and is_no_proof(run, self._unproofed):
            before, _, after = text.partition(code)
            self._builder.add_text(before)
            self._builder.add_protected(code)
            self._builder.add_text(after)
        else:
            self._builder.add_text(text)

    def _open_tag(self, element: Any) -> None:
        self._builder.open_tag()
        self._tags.append(element)

    def _close_format(self) -> None:
        if self._format is not None:
            self._builder.close_tag()
            self._format = None

    def replace(self, pieces: Sequence[Piece]) -> None:
        """Replace the elements by those of a translation."""
        parent = self._elements[0].getparent()
        place = parent.index(self._elements[0])
        for element in self._elements:
            parent.remove(element)
        parent[place:place] = [*self._starts, *self._built(pieces), *self._ends]

    def _built(self, pieces: Sequence[Piece]) -> list[Any]:
        """Return the elements of a translation: runs, links with runs in them, and what moved along."""
        built: list[Any] = []
        parents = [built]
        formats = [self._base]
        for is_text, group in groupby(pieces, lambda piece: piece.kind == "text"):
            if is_text:
                text = "".join(map(self.block.written, group))
                parents[-1].append(new_run(new_text(text), formats[-1]))
                continue
            for piece in group:
                element, is_open = self._tags[piece.markup], piece.kind == "open"
                if name_of(element) == "hyperlink":
                    if is_open:
                        element[:] = []
                        parents[-1].append(element)
                        parents.append(element)
                    else:
                        parents.pop()
                elif element.find(tag_of("t")) is not None:
                    if is_open:
                        formats.append(properties_of(element))
                    else:
                        formats.pop()
                elif is_open:
                    parents[-1].append(element)
        return built
