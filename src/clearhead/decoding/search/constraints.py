"""Constraints on the translation of one sentence, as token ids. Does not import torch, so that engines need not."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

Phrase = tuple[int, ...]


@dataclass(frozen=True)
class Constraints:
    """Constraints on the translation of one sentence, in ids of the target vocabulary.

    A phrase that can be tokenised in several ways is forbidden by one entry of `forbidden` for each of them. Tokens in
    `continuing` continue a word, so they do not follow a required phrase. `hidden` follows from the target language and
    not from the user: its tokens, of other scripts, have the probability 0. Both follow from the vocabulary and are not
    compared, so that constraints equal NO_CONSTRAINTS if the user has none.
    """

    prefix: Phrase = ()
    forbidden: tuple[Phrase, ...] = ()
    required: tuple[Phrase, ...] = ()
    hidden: tuple[int, ...] = field(default=(), compare=False)
    continuing: tuple[int, ...] = field(default=(), compare=False)

    def hiding(self, tokens: tuple[int, ...]) -> "Constraints":
        """Return the same constraints with hidden tokens, except those that a prefix or a required phrase contains."""
        wanted = {*self.prefix, *(token for phrase in self.required for token in phrase)}
        return replace(self, hidden=without(tokens, wanted))


def without(hidden: tuple[int, ...], wanted: Collection[int]) -> tuple[int, ...]:
    """Return the hidden tokens that are not wanted; the same object if none of them is."""
    if wanted and not set(hidden).isdisjoint(wanted):
        return tuple(token for token in hidden if token not in wanted)
    return hidden


NO_CONSTRAINTS = Constraints()
