"""What else could stand at a place of a translation: other tokens, each with the best way to go on from it."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.rules import rules_of
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.stepper import Stepper
from clearhead.model import Transformer


@dataclass(frozen=True)
class Alternative:
    """A token, its log P at that place, and the best translation that has it there."""

    token: int
    log_prob: float
    hypothesis: Hypothesis


def alternatives(
    model: Transformer,
    source: Tensor,
    prefix: Sequence[int],
    number: int,
    limit: int,
    settings: SearchSettings = SearchSettings(),
) -> list[Alternative]:
    """Return the likeliest tokens after `prefix` in a translation of one sentence (S,), each with its translation."""
    stepper = Stepper(model, source[None])
    written = source.new_tensor([[list(prefix)]])
    for length in range(len(prefix)):
        stepper.step(written[..., :length])
    log_probs = stepper.step(written)
    rules_of(settings, [Constraints()], model.config).hide(log_probs, written, [0])
    best = log_probs[0, 0].topk(min(number, log_probs.shape[-1]))
    found = [
        (token, own)
        for own, token in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        if own > -float("inf")
    ]
    constraints = [Constraints(prefix=(*prefix, token)) for token, _ in found]
    several = source.expand(len(found), -1)
    made = beam_search(model, several, [limit] * len(found), settings, constraints)
    return [Alternative(token, own, each[0]) for (token, own), each in zip(found, made, strict=True)]
