"""Split the phrasebook so that word combinations of a held-out sentence never occur in training.

A sentence combines words in pairs: an adjective and its noun, a verb and its object, a subject and its verb or
description, a thing and its place, owner, price or number. Pronouns are ignored. A hash of the two words, independent
of the seed, reserves 4% of the pairs for `valid` and 4% for `test`. A sentence with a reserved pair belongs to that
split; one with pairs of both is dropped; all others are for training. So a held-out sentence consists of known words in
known patterns, but cannot have been memorised. Idioms are not built from pairs, so they are all in training, alone and
inside other sentences.
"""

from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from itertools import chain
from typing import Literal

from clearhead.data.phrasebook.idioms import CLAUSES, SAYINGS, SET_PHRASES
from clearhead.data.phrasebook.patterns import PATTERNS
from clearhead.data.phrasebook.phrases import Draw
from clearhead.data.phrasebook.sentences import PhrasePair, capital, ways_to_write
from clearhead.errors import DataError, did_you_mean, printable

Split = Literal["train", "valid", "test"]
SIZES: dict[Split, int] = {"train": 50_000, "valid": 1_000, "test": 1_000}
MAX_WORDS = 12
_HELD_OUT_PERCENT = 4  # of the pairs, for each of valid and test
_NO_FULL_STOP = 0.1  # statements without their full stop, in both languages


@cache
def split_of_pair(pair: str) -> Split:
    """Return the split that a pair of words is reserved for."""
    number = int.from_bytes(sha256(pair.encode()).digest()[:4], "big") % 100
    return "valid" if number < _HELD_OUT_PERCENT else "test" if number < 2 * _HELD_OUT_PERCENT else "train"


def split_of(sentence: PhrasePair) -> Split | None:
    """Return the split of a sentence, or None if its pairs are reserved for both."""
    parts = {split_of_pair(pair) for pair in sentence.pairs} - {"train"}
    if len(parts) > 1:
        return None
    return parts.pop() if parts else "train"


def draw_sentences(split: Split, seed: int) -> Iterator[PhrasePair]:
    """Draw sentences of one split endlessly; some occur more than once."""
    draw = Draw(f"clearhead phrasebook {split} {seed}")
    functions = [function for function, weight in PATTERNS.items() for _ in range(weight)]
    while True:
        sentence = draw.choose(functions)(draw)
        if split_of(sentence) != split or not _has_good_length(sentence):
            continue
        if sentence.english[-1] == "." and draw.happens(_NO_FULL_STOP):
            sentence = PhrasePair(sentence.english[:-1], sentence.spanish[:-1], sentence.pairs)
        yield sentence


def _has_good_length(sentence: PhrasePair) -> bool:
    return 1 <= sentence.english.count(" ") < MAX_WORDS and sentence.spanish.count(" ") < MAX_WORDS


def set_sentences() -> Iterator[PhrasePair]:
    """Yield the idioms and set phrases, in every spelling."""
    for english, spanish in (*SET_PHRASES.items(), *CLAUSES.items(), *SAYINGS.items()):
        for way, expression in ways_to_write(capital(english), capital(spanish)).items():
            yield PhrasePair(way, expression)


def sentences(split: Split, seed: int = 1) -> Iterator[PhrasePair]:
    """Yield one split of the phrasebook, each sentence with the pairs of words that it combines."""
    english_sentences: set[str] = set()
    for sentence in chain(set_sentences() if split == "train" else (), draw_sentences(split, seed)):
        if len(english_sentences) == SIZES[split]:
            return
        if sentence.english not in english_sentences:
            english_sentences.add(sentence.english)
            yield sentence


def pairs(split: Split, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield the English and Spanish sentences of one split. No English sentence occurs twice.

    The result is the same on every platform. Another seed draws other sentences, but the reserved pairs stay the same.
    """
    if split not in SIZES:
        raise DataError(
            f"The phrasebook has no part '{printable(str(split))}'.{did_you_mean(str(split), SIZES)} "
            f"Choices: {', '.join(SIZES)}."
        )
    return ((sentence.english, sentence.spanish) for sentence in sentences(split, seed))


def set_phrases(split: Split = "train") -> Iterator[tuple[str, str]]:
    """Yield only the idioms and set phrases, as a corpus that training can read more often than the rest."""
    if split != "train":
        raise DataError(
            f"The set phrases have no part '{printable(str(split))}': they are learnt by heart, so that all of them "
            "are for training. Hold out a part of the phrasebook: built_in: phrasebook."
        )
    return ((sentence.english, sentence.spanish) for sentence in set_sentences())
