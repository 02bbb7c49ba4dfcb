"""Alternatives at one position of a translation: other tokens, each with its best continuation."""

from dataclasses import dataclass

from torch import Tensor

from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.rules import hidden_logits, rules_of
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.stepper import Stepper
from clearhead.model import SequenceModel


@dataclass(frozen=True)
class Alternative:
    """A token, its log-probability at that position, and the best translation with this token there."""

    token: int
    log_prob: float
    hypothesis: Hypothesis


def alternatives(
    model: SequenceModel,
    source: Tensor,
    constraints: Constraints,
    number: int,
    limit: int,
    settings: SearchSettings = SearchSettings(),
) -> list[Alternative]:
    """Return the `number` most likely tokens after a prefix, each with its best translation of the sentence (S,).

    Of the constraints, only the prefix and the hidden tokens apply.
    """
    prefix, hidden = constraints.prefix, constraints.hidden
    stepper = Stepper(model, source[None], hidden_logits([constraints], model.config.target_size, source.device))
    tokens = source.new_tensor([[list(prefix)]])
    for length in range(len(prefix)):
        stepper.step(tokens[..., :length])
    log_probs = stepper.step(tokens)
    rules_of(settings, [NO_CONSTRAINTS], model.config).hide(log_probs, tokens, [0])
    best = log_probs[0, 0].topk(min(number, log_probs.shape[-1]))
    candidates = [
        (token, log_prob)
        for log_prob, token in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        if log_prob > -float("inf")
    ]
    forced = [Constraints(prefix=(*prefix, token), hidden=hidden) for token, _ in candidates]
    sources = source.expand(len(candidates), -1)
    outcomes = beam_search(model, sources, [limit] * len(candidates), settings, forced)
    return [
        Alternative(token, log_prob, hypotheses[0])
        for (token, log_prob), hypotheses in zip(candidates, outcomes, strict=True)
    ]
