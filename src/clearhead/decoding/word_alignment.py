"""Turn links between tokens into links between words."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from clearhead.text.normalise import SPACE_MARK
from clearhead.text.tokeniser import Tokeniser

Links = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class WordAlignment:
    """The words of a sentence and of its translation, and the links between them."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: Links


@dataclass(frozen=True)
class SpelledWords:
    """The words spelled by a sequence of tokens; `word_of` is each token's word index, None for special tokens."""

    words: tuple[str, ...]
    word_of: tuple[int | None, ...]


def words_of(tokeniser: Tokeniser, ids: Sequence[int], text: str = "") -> SpelledWords:
    """Return the words that ids spell; a token that starts with SentencePiece's mark `▁` starts a word.

    If the `text` that was tokenised is given, words are copied from it, including letters missing in the vocabulary.
    """
    special = {tokeniser.pad, tokeniser.bos, tokeniser.eos, *tokeniser.tags.values()}
    word_ids: list[list[int]] = []
    word_of: list[int | None] = []
    for number in map(int, ids):
        if number in special:
            word_of.append(None)
            continue
        if not word_ids or tokeniser.starts_word(number):
            word_ids.append([])
        word_ids[-1].append(number)
        word_of.append(len(word_ids) - 1)
    text_words = _text_words(tokeniser, text)
    words = text_words if len(text_words) == len(word_ids) else tokeniser.decode(word_ids)
    return SpelledWords(tuple(words), tuple(word_of))


def _text_words(tokeniser: Tokeniser, text: str) -> list[str]:
    """Return the words of a text; in a vocabulary of words, unknown words next to each other are one token."""
    words = tokeniser.normalised(text).split()
    if tokeniser.config.kind != "word" or tokeniser.has_bytes:
        return words
    groups = groupby(enumerate(words), lambda pair: pair[0] if tokeniser.has_piece(SPACE_MARK + pair[1]) else -1)
    return [" ".join(word for _, word in group) for _, group in groups]


def word_links(piece_links: Links, source: SpelledWords, target: SpelledWords) -> Links:
    """Return links between words: two words are linked if any of their tokens are."""
    pairs = {(source.word_of[one], target.word_of[other]) for one, other in piece_links}
    return tuple(sorted((one, other) for one, other in pairs if one is not None and other is not None))


def pharaoh(links: Links) -> str:
    """Format links as sorted `source-target` positions: `0-0 1-2`."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))
