"""Constraints on the translation of one sentence, as token ids. Does not import torch, so that engines need not."""

from dataclasses import dataclass

Phrase = tuple[int, ...]


@dataclass(frozen=True)
class Constraints:
    """Constraints on the translation of one sentence, in ids of the target vocabulary.

    A phrase that can be tokenised in several ways is forbidden by one entry of `forbidden` for each of them.
    """

    prefix: Phrase = ()
    forbidden: tuple[Phrase, ...] = ()
    required: tuple[Phrase, ...] = ()


NO_CONSTRAINTS = Constraints()
