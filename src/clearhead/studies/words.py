"""Sentence pairs of the built-in phrasebook as ids, with one id per word and one vocabulary for both languages."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from random import Random

import torch
from torch import Tensor

from clearhead.data.phrasebook import Split, pairs, set_phrases
from clearhead.model import Batch
from clearhead.model.batch import padded
from clearhead.studies.tasks import EOS, FIRST, PAD

_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_Pair = tuple[str, str]


def split_words(sentence: str) -> list[str]:
    """Return the words and punctuation marks of a sentence in lower case."""
    return _WORD.findall(sentence.lower())


def _drawn(split: Split, seed: int) -> Iterator[_Pair]:
    """Return the pairs of one part that are not set phrases: for seed 1 in their order, for another seed shuffled."""
    learnt_by_heart = set(set_phrases())
    drawn = [pair for pair in pairs(split) if pair not in learnt_by_heart]
    if seed != 1:
        number = Random(seed).random  # the only method with the same results in every Python version
        drawn.sort(key=lambda _: number())
    return iter(drawn)


@dataclass(frozen=True)
class Phrases:
    """Sentence pairs for training, and the words that occur in them."""

    words: tuple[str, ...]
    pairs: tuple[_Pair, ...]

    @classmethod
    def draw(cls, number: int, seed: int) -> "Phrases":
        """Return the first pairs of the training part, whose order depends on the seed."""
        chosen = tuple(islice(chain(set_phrases(), _drawn("train", seed)), number))
        words = sorted({word for pair in chosen for sentence in pair for word in split_words(sentence)})
        return cls(tuple(words), chosen)

    @property
    def vocabulary(self) -> int:
        """The number of tokens: the words, padding, and the tokens before and after a sentence."""
        return FIRST + len(self.words)

    def held_out(self, split: Split, number: int, seed: int) -> list[_Pair]:
        """Return pairs of another part whose words all occur in training."""
        are_known = set(self.words).issuperset
        return list(islice((pair for pair in _drawn(split, seed) if are_known(split_words(" ".join(pair)))), number))

    def encode(self, chosen: Sequence[_Pair]) -> Batch:
        """Return pairs as a batch of ids."""
        ids = {word: number for number, word in enumerate(self.words, start=FIRST)}
        sides = (
            [[*(ids[word] for word in split_words(sentence)), EOS] for sentence in side]
            for side in zip(*chosen, strict=True)
        )
        source, target = (padded(rows, PAD, torch.device("cpu")) for rows in sides)
        return Batch(source, target)

    def batch(self, number: int, random: torch.Generator) -> Batch:
        """Return random pairs of the training part."""
        chosen = torch.randint(len(self.pairs), (number,), generator=random).tolist()
        return self.encode([self.pairs[index] for index in chosen])

    def text(self, ids: Tensor) -> str:
        """Return a row of ids as words, up to its end."""
        row = ids.tolist()
        row = row[: row.index(EOS)] if EOS in row else row
        return " ".join(self.words[token - FIRST] for token in row if token >= FIRST)
