"""Count how much of a text a vocabulary cannot represent: characters that are unknown, or only spelled as bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from clearhead.text.tokeniser import Tokeniser, split_tag

_NUM_CODES = 0x110000  # of Unicode
_FEW = 16  # characters


@dataclass(frozen=True)
class Coverage:
    """The number of characters of a text (words, for a vocabulary of words), and of those without a piece."""

    total: int
    unknown: int  # lost
    spelled: int  # as bytes
    unit: Literal["characters", "words"] = "characters"

    def __str__(self) -> str:
        """Describe the share that is unknown, and the share that is spelled as bytes."""
        unknown = f"{_percent(self.unknown, self.total)} of the {self.unit} are unknown to the vocabulary"
        return f"{unknown}, {_percent(self.spelled, self.total)} are spelled as bytes" if self.spelled else unknown


def _percent(number: int, total: int) -> str:
    return f"{100 * number / max(1, total):.2g} %"


def _characters(text: str) -> set[str]:
    """Return the different characters of a text; much faster than set(text) for a long one."""
    is_used = np.zeros(_NUM_CODES, dtype=bool)
    is_used[np.frombuffer(text.encode("utf-32-le"), dtype="<u4")] = True
    return set(map(chr, np.flatnonzero(is_used).tolist()))


def _has_any(text: str, characters: set[str]) -> bool:
    """Return whether a text has any of some characters; for a few of them, a search for each is ten times faster."""
    if len(characters) > _FEW:
        return not characters.isdisjoint(text)
    return any(character in text for character in characters)


class CoverageCounter:
    """Counts block by block; a block without unknown characters costs little more than the set of its characters."""

    def __init__(self, tokenisers: Sequence[Tokeniser]) -> None:
        self._tokenisers = tokenisers
        self._with_piece: list[set[str]] = [{" "} for _ in tokenisers]
        self._total = self._unknown = self._spelled = 0

    @property
    def coverage(self) -> Coverage:
        """The numbers so far."""
        return Coverage(self._total, self._unknown, self._spelled, "words" if self._is_words else "characters")

    @property
    def _is_words(self) -> bool:
        return self._tokenisers[0].config.kind == "word" and not self._tokenisers[0].has_bytes

    def count(self, texts: Sequence[str], rows: Sequence[Sequence[int]], side: int) -> None:
        """Count the texts of one side, and their ids, which show the unknown words of a vocabulary of words."""
        tokeniser = self._tokenisers[side]
        if self._is_words:
            self._total += sum(map(len, rows)) - len(rows)  # without the end tokens
            self._unknown += sum(row.count(tokeniser.unk) for row in rows)
            return
        if tokeniser.tags:
            texts = [split_tag(text)[1] for text in texts]
        joined = "".join(texts)
        self._total += len(joined) - joined.count(" ")
        num_missing = self._num_missing(texts, _characters(joined), side)
        if tokeniser.has_bytes:
            self._spelled += num_missing
        else:
            self._unknown += num_missing

    def _num_missing(self, texts: Sequence[str], characters: set[str], side: int) -> int:
        """Return the number of characters without a piece in the normalised texts."""
        tokeniser, with_piece = self._tokenisers[side], self._with_piece[side]
        with_piece.update(character for character in characters - with_piece if tokeniser.has_piece(character))
        missing = characters - with_piece
        if not missing:
            return 0
        affected = [tokeniser.normalised(text) for text in texts if _has_any(text, missing)]
        return sum(not tokeniser.has_piece(character) for text in affected for character in text if character != " ")
