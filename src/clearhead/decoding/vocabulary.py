"""What decoding needs of a tokeniser, as a protocol: any object that encodes and decodes will do."""

from collections.abc import Sequence
from typing import Protocol


class Tokeniser(Protocol):
    """Text to ids and back; ids come without the end, and special tokens are left out of text."""

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the ids of sentences."""

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the sentences of ids."""


class Vocabularies(Protocol):
    """The tokenisers of both languages."""

    @property
    def source(self) -> Tokeniser:
        """The tokeniser of what is read."""

    @property
    def target(self) -> Tokeniser:
        """The tokeniser of what is written."""
