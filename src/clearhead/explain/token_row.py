"""The tokens of a sentence as pieces and as words."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from clearhead.decoding.word_alignment import words_of
from clearhead.text.tokeniser import Tokeniser
from clearhead.worksheet.arrays import Array


@dataclass(frozen=True)
class TokenRow:
    """A sentence with its ids and pieces; `word_of` is the word of each token, None for a tag or the end token."""

    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    words: tuple[str, ...]
    word_of: tuple[int | None, ...]

    @staticmethod
    def of(tokeniser: Tokeniser, ids: Sequence[int], text: str) -> "TokenRow":
        """Return the row of ids that a text was tokenised into, or that a model wrote."""
        spelled = words_of(tokeniser, ids, text)
        return TokenRow(text, tuple(ids), tuple(tokeniser.pieces(ids)), spelled.words, spelled.word_of)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def by_word(self) -> Array:
        """The matrix (tokens, words) with a 1 where a token belongs to a word: x @ by_word sums x over each word."""
        matrix = np.zeros((len(self.ids), len(self.words)))
        for token, word in enumerate(self.word_of):
            if word is not None:
                matrix[token, word] = 1.0
        return matrix

    def without(self, word: int) -> str:
        """Return the text without a word."""
        return " ".join(text for index, text in enumerate(self.words) if index != word)

    def to_dict(self, first: int, end: int) -> dict[str, Any]:
        """Return the tokens from `first` up to `end` as data for JSON, with all words."""
        return {
            "text": self.text,
            "pieces": list(self.pieces[first:end]),
            "ids": list(self.ids[first:end]),
            "words": list(self.words),
            "word_of": list(self.word_of[first:end]),
        }
