"""The words of a text that a vocabulary does not have: a model reads each of them as the same unknown token."""

from collections.abc import Sequence
from dataclasses import dataclass

from clearhead.errors import printable
from clearhead.text.tokeniser import Tokeniser

_MAX_WORDS = 5  # in a message
_MAX_CHARACTERS = 40  # of a word in a message


def unknown_words(tokeniser: Tokeniser, text: str, ids: Sequence[int]) -> tuple[str, ...]:
    """Return the different words of a text, whose ids are known, with a part that the vocabulary does not have."""
    if tokeniser.unk not in ids:
        return ()
    words = list(dict.fromkeys(tokeniser.normalised(text).split()))
    return tuple(word for word, own in zip(words, tokeniser.encode(words), strict=True) if tokeniser.unk in own)


@dataclass
class UnknownWordCounter:
    """Counts the lines with unknown words, for a note about all of them."""

    consequence: str  # of a line in which every word is unknown
    num_lines: int = 0
    num_affected: int = 0
    num_unknown: int = 0  # lines in which every word is unknown
    first: tuple[int, tuple[str, ...]] | None = None  # the number of a line and its unknown words
    first_unknown: int | None = None

    def count(self, number: int, text: str, words: Sequence[str]) -> None:
        """Count a line with its number, its text and its unknown words."""
        self.num_lines += 1
        if not words:
            return
        self.num_affected += 1
        self.first = self.first or (number, tuple(words))
        if len(words) == len(set(text.split())):
            self.num_unknown += 1
            self.first_unknown = self.first_unknown or number

    def note(self) -> str | None:
        """Return a sentence about all lines, or None if every word is known."""
        if self.first is None:
            return None
        number, words = self.first
        if self.num_lines == 1:
            if self.num_unknown:
                return f"the vocabulary of the model has no word of this text ({_listed(words)}), {self.consequence}."
            return f"the vocabulary of the model does not have {_listed(words)}, which it reads as unknown."
        sentence = (
            f"{self.num_affected:,} of {self.num_lines:,} lines have words that the vocabulary of the model does not "
            f"have, for example line {number}: {_listed(words)}."
        )
        if self.first_unknown is None:
            return sentence
        return (
            f"{sentence} In {self.num_unknown:,} of them no word is known, for example in line {self.first_unknown}, "
            f"{self.consequence}."
        )


def _listed(words: Sequence[str]) -> str:
    shown = [word if len(word) <= _MAX_CHARACTERS else f"{word[:_MAX_CHARACTERS]}…" for word in words[:_MAX_WORDS]]
    more = f" and {len(words) - _MAX_WORDS} more words" if len(words) > _MAX_WORDS else ""
    return ", ".join(f"'{printable(word)}'" for word in shown) + more
