"""Sampling: draw the next token at random from the model's distribution, or only from its most likely tokens.

Each sentence has its own sequence of random numbers, so the same seed gives the same translation regardless of the
other sentences in the batch.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis, normalised
from clearhead.decoding.search.rules import rules_of
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.stepper import Stepper


def sample(
    stepper: Stepper,
    source: Tensor,
    limits: Sequence[int],
    settings: SearchSettings,
    constraints: Sequence[Constraints] | None = None,
    numbers: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """Draw `n_best` translations of each sentence, best first; `numbers` select each sentence's random numbers."""
    constraints = [Constraints()] * len(source) if constraints is None else constraints
    config, rows = stepper.model.config, list(range(len(source)))
    rules = rules_of(settings, constraints, config)
    draws = uniform_draws(settings, rows if numbers is None else numbers, max(limits)).to(source.device)  # (B, N, L)
    tokens = source.new_empty(len(source), 1, 0)
    chosen_log_probs = []
    is_going = torch.ones(len(source), settings.n_best, dtype=torch.bool, device=source.device)
    most = torch.tensor(limits, device=source.device)[:, None]
    while bool(is_going.any()):
        log_probs = stepper.step(tokens)  # (B, N, V)
        if tokens.shape[1] == 1 < settings.n_best:  # all translations of a sentence share the first step
            stepper.follow(source.new_zeros(len(source), settings.n_best))
            log_probs = log_probs.expand(-1, settings.n_best, -1).clone()
            tokens = tokens.expand(-1, settings.n_best, -1)
        model_log_probs = log_probs.clone()
        rules.hide(log_probs, tokens, rows)
        token = draw(log_probs, draws[..., tokens.shape[-1]], settings)  # (B, N)
        token = torch.where(is_going, token, config.pad)
        chosen_log_probs.append(model_log_probs.gather(-1, token[..., None])[..., 0])
        tokens = torch.cat((tokens, token[..., None]), dim=-1)
        is_going = is_going & (token != config.eos) & (tokens.shape[-1] < most)
    return _hypotheses(tokens, torch.stack(chosen_log_probs, dim=-1), config.pad, config.eos, settings)


def uniform_draws(settings: SearchSettings, numbers: Sequence[int], length: int) -> Tensor:
    """Return random numbers between 0 and 1, a sequence for each translation of each sentence: (B, N, L)"""
    sequences = []
    for number in numbers:
        random = torch.Generator().manual_seed(settings.seed * 2**31 + number)
        # drawn step by step, so that a larger limit does not change the first draws
        sequences.append(torch.rand(length, settings.n_best, generator=random, dtype=torch.float64).T)
    return torch.stack(sequences)


def draw(log_probs: Tensor, draws: Tensor, settings: SearchSettings) -> Tensor:
    """Return a token (B, N) for each row of log_probs (B, N, V): the first whose cumulative share exceeds the draw."""
    assert settings.temperature is not None
    scaled = (log_probs.double() / settings.temperature).sort(dim=-1, descending=True)
    shares = torch.softmax(scaled.values, dim=-1)
    if settings.top_k is not None:
        shares[..., settings.top_k :] = 0
    if settings.top_p is not None:
        before = shares.cumsum(dim=-1) - shares
        shares = shares.masked_fill(before >= settings.top_p * shares.sum(dim=-1, keepdim=True), 0)
    sums = shares.cumsum(dim=-1)
    place = torch.searchsorted(sums, draws.to(sums)[..., None] * sums[..., -1:], right=True)
    last = (shares > 0).sum(dim=-1, keepdim=True) - 1
    return scaled.indices.gather(-1, place.minimum(last))[..., 0]


def _hypotheses(
    tokens: Tensor, log_probs: Tensor, pad: int, eos: int, settings: SearchSettings
) -> list[list[Hypothesis]]:
    outcomes = []
    for rows, row_log_probs in zip(tokens.tolist(), log_probs.tolist(), strict=True):
        hypotheses = []
        for row, numbers in zip(rows, row_log_probs, strict=True):
            length = row.index(pad) if pad in row else len(row)
            score = normalised(sum(numbers[:length]), length, settings.length_penalty)
            hypotheses.append(Hypothesis(tuple(row[:length]), tuple(numbers[:length]), score, row[length - 1] == eos))
        outcomes.append(sorted(hypotheses, key=lambda hypothesis: -hypothesis.score))
    return outcomes
