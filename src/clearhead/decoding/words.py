"""Pieces and the words that they spell: links between pieces become links between words."""

from collections.abc import Sequence
from dataclasses import dataclass

from clearhead.text.normalise import SPACE_MARK
from clearhead.text.tokeniser import Tokeniser

Links = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Words:
    """The words of a row of pieces; `place` says for each piece which word it is of, None for a special token."""

    words: tuple[str, ...]
    place: tuple[int | None, ...]

    def begins(self, word: int) -> int:
        """Return the number of the first piece of a word."""
        return self.place.index(word)


def words_of(tokeniser: Tokeniser, ids: Sequence[int], text: str = "") -> Words:
    """Return the words that ids spell: a piece that begins with SentencePiece's mark begins one.

    In the text that became the ids, if it is given, a word stands as it was, also where a letter of it is unknown.
    """
    special = {tokeniser.pad, tokeniser.bos, tokeniser.eos, *tokeniser.tags.values()}
    grouped: list[list[int]] = []
    place: list[int | None] = []
    for number, piece in zip(ids, tokeniser.pieces(ids), strict=True):
        if number in special:
            place.append(None)
            continue
        if not grouped or piece.startswith(SPACE_MARK):
            grouped.append([])
        grouped[-1].append(number)
        place.append(len(grouped) - 1)
    given = tokeniser.normalised(text).split()
    return Words(tuple(given if len(given) == len(grouped) else tokeniser.decode(grouped)), tuple(place))


def word_links(pairs: Links, source: Words, target: Words) -> Links:
    """Return links of words: two are linked if any of their pieces are."""
    found = {(source.place[one], target.place[other]) for one, other in pairs}
    return tuple(sorted((one, other) for one, other in found if one is not None and other is not None))
