"""A generated translation task with ambiguous words: a cue elsewhere in the sentence decides how to translate them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.model import Batch
from clearhead.studies.tasks import EOS, FIRST

SENSES = 2


@dataclass(frozen=True, eq=False)
class SenseSentences:
    """Sentence pairs, each with the place of its ambiguous word, which of these words it is, and its sense."""

    batch: Batch
    places: Tensor  # (B,), the same in source and target
    words: Tensor  # (B,), from 0
    senses: Tensor  # (B,), 0 or 1


@dataclass(frozen=True)
class SenseTask:
    """Sentences of plain words with one ambiguous word and one cue, to be translated word by word.

    A plain word and a cue are translated as themselves. An ambiguous word has two translations, one for each sense.
    Every cue belongs to a sense, whichever the ambiguous word is. The cue stands up to `farthest` words before or after
    the ambiguous word.
    """

    length: int = 12
    farthest: int = 10
    num_plain: int = 8
    num_cues: int = 2  # of each sense
    num_ambiguous: int = 4

    @property
    def first_cue(self) -> int:
        """The id of the first cue; those of sense 0 come first."""
        return FIRST + self.num_plain

    @property
    def first_ambiguous(self) -> int:
        """The id of the first ambiguous word."""
        return self.first_cue + SENSES * self.num_cues

    @property
    def first_translation(self) -> int:
        """The id of the first translation of an ambiguous word; those of sense 0 come first."""
        return self.first_ambiguous + self.num_ambiguous

    @property
    def vocabulary(self) -> int:
        """The number of tokens of both languages."""
        return self.first_translation + SENSES * self.num_ambiguous

    def batch(self, number: int, random: torch.Generator) -> Batch:
        """Return random sentences with cues at all distances."""
        distances = torch.randint(1, self.farthest + 1, (number,), generator=random)
        signs = 2 * torch.randint(2, (number,), generator=random) - 1
        words = torch.randint(self.num_ambiguous, (number,), generator=random)
        senses = torch.randint(SENSES, (number,), generator=random)
        return self._sentences(distances * signs, words, senses, random).batch

    def sentences(self, number: int, distance: int, random: torch.Generator) -> SenseSentences:
        """Return sentences with the cue at one distance: negative before the ambiguous word, positive after it.

        All ambiguous words and senses are equally frequent, if `number` is a multiple of their product.
        """
        order = torch.arange(number)
        words, senses = order % self.num_ambiguous, order // self.num_ambiguous % SENSES
        return self._sentences(torch.full((number,), distance), words, senses, random)

    def _sentences(self, distances: Tensor, words: Tensor, senses: Tensor, random: torch.Generator) -> SenseSentences:
        number = len(distances)
        source = torch.randint(FIRST, self.first_cue, (number, self.length), generator=random)
        first, end = (-distances).clamp(min=0), self.length - distances.clamp(min=0)
        places = first + (torch.rand(number, generator=random) * (end - first)).long()
        cues = torch.randint(self.num_cues, (number,), generator=random)
        source.scatter_(1, (places + distances)[:, None], (self.first_cue + senses * self.num_cues + cues)[:, None])
        source.scatter_(1, places[:, None], (self.first_ambiguous + words)[:, None])
        translations = self.first_translation + senses * self.num_ambiguous + words
        target = source.scatter(1, places[:, None], translations[:, None])
        end_token = torch.full((number, 1), EOS)
        batch = Batch(torch.cat((source, end_token), dim=1), torch.cat((target, end_token), dim=1), is_padded=False)
        return SenseSentences(batch, places, words, senses)
