"""Text with markup as every format hands it over, its translation as a sequence of pieces, and their error."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

NO_PARENT = -1
MAX_DEPTH = 100  # markups inside each other


class DocumentFault(Exception):  # noqa: N818  # it becomes a DataError, with the name of the document
    """A document that cannot be translated; the message states the fact and what to do, without its name."""


@dataclass(frozen=True)
class Markup:
    """A tag around the characters from `start` to `end`, or a tag at one place if they are equal.

    `parent` is the index of the markup that directly contains it.
    """

    start: int
    end: int
    parent: int = NO_PARENT


@dataclass(frozen=True)
class InlineText:
    """The text of a paragraph, a heading or a cell without its tags, which are in `markups`.

    Markups are in the order in which they start, so that a parent precedes its children. `protected` are ranges of
    characters to copy unchanged, such as code and addresses; they are sorted and do not overlap.
    """

    text: str
    markups: tuple[Markup, ...] = ()
    protected: tuple[tuple[int, int], ...] = ()


class Piece(NamedTuple):
    """A piece of a translated InlineText: text, or the opening or closing of the markup with index `markup`.

    `source` is the range of source characters that a text copies unchanged, if it does.
    """

    kind: Literal["text", "open", "close"]
    text: str = ""
    markup: int = NO_PARENT
    source: tuple[int, int] | None = None
