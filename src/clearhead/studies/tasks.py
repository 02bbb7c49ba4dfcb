"""Tasks that are generated on the fly: random words to copy, to reverse or to sort. There is one right answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.model import Batch

PAD, BOS, EOS, FIRST = 0, 1, 2, 3  # ids; the first word is 3
_AFTER_ALL_WORDS = 2**40  # sorts padding to the end

Rule = Callable[[Tensor, Tensor], Tensor]  # words (B, T), padded with 0, and their lengths (B,) → words to write


def _copied(words: Tensor, lengths: Tensor) -> Tensor:
    return words


def _reversed(words: Tensor, lengths: Tensor) -> Tensor:
    places = lengths[:, None] - 1 - torch.arange(words.shape[1])
    return torch.where(places >= 0, words.gather(1, places.clamp(min=0)), PAD)


def _sorted(words: Tensor, lengths: Tensor) -> Tensor:
    ordered = torch.where(words == PAD, _AFTER_ALL_WORDS, words).sort(dim=1).values
    return torch.where(ordered == _AFTER_ALL_WORDS, PAD, ordered)


RULES: Mapping[str, Rule] = {"copy": _copied, "reverse": _reversed, "sort": _sorted}


@dataclass(frozen=True)
class Task:
    """Random sentences of `shortest` to `longest` words out of `num_words`, and what is to be written for each."""

    rule: str
    shortest: int
    longest: int
    num_words: int = 17

    @property
    def vocabulary(self) -> int:
        """The number of tokens: the words, padding, and the tokens before and after a sentence."""
        return FIRST + self.num_words

    def batch(self, number: int, random: torch.Generator) -> Batch:
        """Return `number` new sentences and their answers; each ends with eos and is padded on the right."""
        lengths = torch.randint(self.shortest, self.longest + 1, (number,), generator=random)
        words = torch.randint(FIRST, self.vocabulary, (number, int(lengths.max())), generator=random)
        words = torch.where(torch.arange(words.shape[1]) < lengths[:, None], words, PAD)
        return Batch(_ended(words, lengths), _ended(RULES[self.rule](words, lengths), lengths))


def _ended(words: Tensor, lengths: Tensor) -> Tensor:
    """Return the sentences with eos after the last word: (B, T) → (B, T + 1)"""
    longer = torch.cat((words, torch.full_like(words[:, :1], PAD)), dim=1)
    return longer.scatter(1, lengths[:, None], EOS)
