"""The tokens of a sentence as pieces and as words.

Chinese, Japanese, Thai and other languages have no spaces between words. There, each piece counts as a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from clearhead.decoding.word_alignment import words_of
from clearhead.errors import DataError, did_you_mean, printable
from clearhead.text.scripts import UNSPACED, scripts_of
from clearhead.text.tokeniser import Tokeniser
from clearhead.worksheet.arrays import Array

PUNCTUATION = ".,;:!?\"'()[]«»“”„¿¡।"
_BROKEN = "\ufffd"  # what a part of the bytes of a character decodes to


@dataclass(frozen=True)
class TokenRow:
    """A sentence with its ids and pieces; `word_of` is the word of each token, None for a tag or the end token.

    `is_spaced` tells for each word whether a space is before it.
    """

    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    words: tuple[str, ...]
    word_of: tuple[int | None, ...]
    is_spaced: tuple[bool, ...]

    @staticmethod
    def of(tokeniser: Tokeniser, ids: Sequence[int], text: str) -> "TokenRow":
        """Return the row of ids that a text was tokenised into, or that a model wrote."""
        spelled, pieces = words_of(tokeniser, ids, text), tuple(tokeniser.pieces(ids))
        words: list[str] = []
        is_spaced: list[bool] = []
        word_of: list[int | None] = [None] * len(ids)
        for number, word in enumerate(spelled.words):
            tokens = [index for index, other in enumerate(spelled.word_of) if other == number]
            groups = _by_piece(tokeniser, ids, tokens) if is_unspaced(word) else [(word, tokens)]
            for part, own in groups:
                for token in own:
                    word_of[token] = len(words)
                words.append(part)
                is_spaced.append(tokeniser.starts_word(int(ids[own[0]])))
        return TokenRow(text, tuple(ids), pieces, tuple(words), tuple(word_of), tuple(is_spaced))

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

    def find_word(self, word: str) -> int:
        """Return the index of the first occurrence of a word; raise DataError if the sentence does not contain it."""
        words = [plain_word(own) for own in self.words]
        if plain_word(word) not in words:
            raise DataError(
                f"'{printable(self.text[:80])}' does not contain the word '{printable(word[:40])}'."
                f"{did_you_mean(word, self.words)}",
                options=("word",),
            )
        return words.index(plain_word(word))

    def tokens_of(self, word: int) -> tuple[int, ...]:
        """Return the positions of the tokens of a word; punctuation after it, as in "bank.", is left out."""
        tokens = [token for token, own in enumerate(self.word_of) if own == word]
        letters = [token for token in tokens if any(character.isalnum() for character in self.pieces[token])]
        return tuple(letters or tokens)

    def without(self, word: int) -> str:
        """Return the text without a word, with spaces where it has them."""
        spaced = zip(self.words, self.is_spaced, strict=True)
        parts = [(" " if is_spaced else "") + text for index, (text, is_spaced) in enumerate(spaced) if index != word]
        return "".join(parts).strip()

    def to_dict(self, first: int, end: int) -> dict[str, Any]:
        """Return the tokens from `first` up to `end` as data for JSON, with all words."""
        return {
            "text": self.text,
            "pieces": list(self.pieces[first:end]),
            "ids": list(self.ids[first:end]),
            "words": list(self.words),
            "word_of": list(self.word_of[first:end]),
        }


def is_unspaced(word: str) -> bool:
    """Return whether a word has a character of a script without spaces."""
    return not UNSPACED.isdisjoint(scripts_of(word))


def _by_piece(tokeniser: Tokeniser, ids: Sequence[int], tokens: Sequence[int]) -> list[tuple[str, list[int]]]:
    """Return the pieces of a word with their tokens; the tokens of a character's bytes belong together."""
    parts: list[tuple[str, list[int]]] = []
    waiting: list[int] = []
    for token in tokens:
        waiting.append(token)
        text = tokeniser.decode([[ids[index] for index in waiting]])[0]
        if text and _BROKEN not in text:
            parts.append((text, waiting))
            waiting = []
    if waiting and parts:  # bytes that are no character
        parts[-1][1].extend(waiting)
    elif waiting:
        parts.append(("", waiting))
    return parts


def plain_word(word: str) -> str:
    """Return a word as it is compared: without punctuation around it, in lower case."""
    return word.strip(PUNCTUATION).casefold()
