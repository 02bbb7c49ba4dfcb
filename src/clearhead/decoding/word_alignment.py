"""Pieces and the words that they spell: links between pieces become links between words."""

from collections.abc import Sequence
from dataclasses import dataclass

from clearhead.text.normalise import SPACE_MARK
from clearhead.text.tokeniser import Tokeniser

Links = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class WordAlignment:
    """An alignment of words, and the words that it is of."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: Links


@dataclass(frozen=True)
class SpelledWords:
    """The words of a row of pieces; `word_of` is the index of each piece's word, None for a special token."""

    words: tuple[str, ...]
    word_of: tuple[int | None, ...]

    def first_piece(self, word: int) -> int:
        """Return the index of the first piece of a word."""
        return self.word_of.index(word)


def words_of(tokeniser: Tokeniser, ids: Sequence[int], text: str = "") -> SpelledWords:
    """Return the words that ids spell: a piece that begins with SentencePiece's mark begins one.

    Words are taken from `text`, which became the ids, where it is known: there they keep letters that no piece spells.
    """
    special = {tokeniser.pad, tokeniser.bos, tokeniser.eos, *tokeniser.tags.values()}
    word_ids: list[list[int]] = []
    word_of: list[int | None] = []
    for number, piece in zip(ids, tokeniser.pieces(ids), strict=True):
        if number in special:
            word_of.append(None)
            continue
        if not word_ids or piece.startswith(SPACE_MARK):
            word_ids.append([])
        word_ids[-1].append(number)
        word_of.append(len(word_ids) - 1)
    text_words = tokeniser.normalised(text).split()
    words = text_words if len(text_words) == len(word_ids) else tokeniser.decode(word_ids)
    return SpelledWords(tuple(words), tuple(word_of))


def word_links(piece_links: Links, source: SpelledWords, target: SpelledWords) -> Links:
    """Return links of words: two are linked if any of their pieces are."""
    pairs = {(source.word_of[one], target.word_of[other]) for one, other in piece_links}
    return tuple(sorted((one, other) for one, other in pairs if one is not None and other is not None))


def pharaoh(links: Links) -> str:
    """Return links as `source-target` places, sorted: `0-0 1-2`."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))
