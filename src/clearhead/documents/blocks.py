"""A document as raw text with blocks to translate in it; what is not translated stays character for character."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Union

from clearhead.documents.inline import MAX_DEPTH, NO_PARENT, DocumentFault, InlineText, Markup, Piece
from clearhead.documents.inline_translator import InlineTranslator
from clearhead.documents.protected import joined_ranges, protected_ranges

Part = Union[str, "Block"]
_OBJECT = "\N{OBJECT REPLACEMENT CHARACTER}"


def unchanged(text: str) -> str:
    """Return a text as it is, for a format without escapes."""
    return text


@dataclass(frozen=True, eq=False)
class Tag:
    """What is written where a markup opens and closes; an attribute in it can be translated too."""

    opening: tuple[Part, ...]
    closing: tuple[Part, ...] = ()


@dataclass(frozen=True, eq=False)
class Block:
    """A text to translate, how each of its characters is written in the document, its tags, and how to escape text."""

    inline: InlineText
    raws: Sequence[str]
    tags: tuple[Tag, ...] = ()
    escape: Callable[[str], str] = unchanged

    def part(self, start: int, end: int) -> "Block":
        """Return some of its characters as a block without tags."""
        spans = [(first - start, last - start) for first, last in self.inline.protected if start <= first < last <= end]
        return Block(InlineText(self.inline.text[start:end], (), tuple(spans)), self.raws[start:end], (), self.escape)

    def written(self, piece: Piece) -> str:
        """Return a piece of text as the document writes it; what is copied is written as it was."""
        return self.escape(piece.text) if piece.source is None else "".join(self.raws[slice(*piece.source)])


class BlockBuilder:
    """Collects the characters and tags of one block."""

    def __init__(self, escape: Callable[[str], str] = unchanged, patterns: Iterable[re.Pattern[str]] = ()) -> None:
        self._escape, self._patterns = escape, tuple(patterns)
        self._plain: list[str] = []
        self._raws: list[str] = []
        self._protected: list[tuple[int, int]] = []
        self._starts: list[tuple[int, int]] = []  # place and parent of each markup
        self._ends: dict[int, int] = {}
        self._openings: list[tuple[Part, ...]] = []
        self._closings: dict[int, tuple[Part, ...]] = {}
        self._open: list[int] = []

    @property
    def has_letters(self) -> bool:
        """Whether there is something to translate."""
        return any(map(str.isalpha, self._plain))

    def add_text(self, plain: str, raw: str | None = None) -> None:
        """Add text; `raw` is how the document writes it, if that is something else."""
        self._plain += plain
        self._raws += plain if raw is None else [raw, *[""] * (len(plain) - 1)]

    def add_protected(self, raw: str) -> None:
        """Add something that is copied and counts as a word, such as code."""
        self._protected.append((len(self._plain), len(self._plain) + 1))
        self._plain.append(_OBJECT)
        self._raws.append(raw)

    def open_tag(self, *opening: Part) -> None:
        """Open a tag, which must be closed before the block is built."""
        if len(self._open) == MAX_DEPTH:
            raise DocumentFault(f"tags are nested more than {MAX_DEPTH} levels deep. Simplify the document.")
        self._starts.append((len(self._plain), self._open[-1] if self._open else NO_PARENT))
        self._openings.append(opening)
        self._open.append(len(self._starts) - 1)

    def close_tag(self, *closing: Part) -> None:
        """Close the tag that was opened last."""
        index = self._open.pop()
        self._ends[index] = len(self._plain)
        self._closings[index] = closing

    def add_point(self, *parts: Part) -> None:
        """Add a tag without content."""
        self.open_tag(*parts)
        self.close_tag()

    def build(self) -> Block:
        """Return the block."""
        assert not self._open, "a tag is open"
        text = "".join(self._plain)
        markups = [Markup(start, self._ends[index], parent) for index, (start, parent) in enumerate(self._starts)]
        tags = [Tag(opening, self._closings[index]) for index, opening in enumerate(self._openings)]
        cuts = {place for markup in markups for place in (markup.start, markup.end)}
        ranges = protected_ranges(text, self._protected, self._patterns, cuts)
        ranges = joined_ranges(text, ranges, cuts)
        return Block(InlineText(text, tuple(markups), ranges), self._raws, tuple(tags), self._escape)


def plain_block(text: str) -> Block:
    """Return a block without markup."""
    builder = BlockBuilder()
    builder.add_text(text)
    return builder.build()


def blocks_in(parts: Iterable[Part]) -> list[Block]:
    """Return the blocks of a document, also those inside tags."""
    blocks = []
    for part in parts:
        if isinstance(part, Block):
            blocks.append(part)
            blocks += blocks_in(piece for tag in part.tags for piece in (*tag.opening, *tag.closing))
    return blocks


def translate_parts(parts: Sequence[Part], translator: InlineTranslator) -> str:
    """Return a document with its blocks translated."""
    return render_parts(parts, translate_blocks(blocks_in(parts), translator))


def translate_blocks(blocks: Sequence[Block], translator: InlineTranslator) -> dict[Block, list[Piece]]:
    """Return the translation of each block."""
    return dict(zip(blocks, translator.translate([block.inline for block in blocks]), strict=True))


def render_parts(parts: Iterable[Part], translations: dict[Block, list[Piece]]) -> str:
    """Return the text of parts with the translations of their blocks."""
    return "".join(part if isinstance(part, str) else render_block(part, translations) for part in parts)


def render_block(block: Block, translations: dict[Block, list[Piece]]) -> str:
    """Return a translated block with its tags."""
    texts = []
    for piece in translations[block]:
        if piece.kind == "open":
            texts.append(render_parts(block.tags[piece.markup].opening, translations))
        elif piece.kind == "close":
            texts.append(render_parts(block.tags[piece.markup].closing, translations))
        else:
            texts.append(block.written(piece))
    return "".join(texts)
