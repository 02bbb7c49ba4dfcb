"""Sampling: draw the next token at random, as likely as the model says, or from the likeliest tokens only.

Every draw takes one number between 0 and 1 from its own sequence, so that the same seed gives the same translation
whatever other sentences are in the batch.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis, normalised
from clearhead.decoding.search.rules import rules_of
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.stepper import Stepper
from clearhead.model import Transformer


def sample(
    model: Transformer,
    source: Tensor,
    limits: Sequence[int],
    settings: SearchSettings,
    constraints: Sequence[Constraints] | None = None,
    numbers: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """Draw `n_best` translations of each sentence, best first; `numbers` name the sentences whose draws these are."""
    constraints = [Constraints()] * len(source) if constraints is None else constraints
    config, rows = model.config, list(range(len(source)))
    rules = rules_of(settings, constraints, config)
    draws = uniform_draws(settings, rows if numbers is None else numbers, max(limits)).to(source.device)  # (B, N, L)
    stepper = Stepper(model, source)
    written = source.new_empty(len(source), 1, 0)
    kept = []
    is_going = torch.ones(len(source), settings.n_best, dtype=torch.bool, device=source.device)
    most = torch.tensor(limits, device=source.device)[:, None]
    while bool(is_going.any()):
        log_probs = stepper.step(written)  # (B, N, V)
        if written.shape[1] == 1 < settings.n_best:  # all translations of a sentence begin alike
            stepper.follow(source.new_zeros(len(source), settings.n_best))
            log_probs = log_probs.expand(-1, settings.n_best, -1).clone()
            written = written.expand(-1, settings.n_best, -1)
        own = log_probs.clone()
        rules.hide(log_probs, written, rows)
        token = draw(log_probs, draws[..., written.shape[-1]], settings)  # (B, N)
        token = torch.where(is_going, token, config.pad)
        kept.append(own.gather(-1, token[..., None])[..., 0])
        written = torch.cat((written, token[..., None]), dim=-1)
        is_going = is_going & (token != config.eos) & (written.shape[-1] < most)
    return _hypotheses(written, torch.stack(kept, dim=-1), config.pad, config.eos, settings)


def uniform_draws(settings: SearchSettings, numbers: Sequence[int], length: int) -> Tensor:
    """Return numbers between 0 and 1, a sequence for each translation of each sentence: (B, N, L)"""
    made = []
    for number in numbers:
        random = torch.Generator().manual_seed(settings.seed * 2**31 + number)
        # drawn step by step, so that a longer limit does not change the first draws
        made.append(torch.rand(length, settings.n_best, generator=random, dtype=torch.float64).T)
    return torch.stack(made)


def draw(log_probs: Tensor, draws: Tensor, settings: SearchSettings) -> Tensor:
    """Return a token (B, N) of each row of log_probs (B, N, V): the first whose share of all is beyond the draw."""
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
    written: Tensor, log_probs: Tensor, pad: int, eos: int, settings: SearchSettings
) -> list[list[Hypothesis]]:
    found = []
    for rows, own in zip(written.tolist(), log_probs.tolist(), strict=True):
        made = []
        for row, numbers in zip(rows, own, strict=True):
            length = row.index(pad) if pad in row else len(row)
            score = normalised(sum(numbers[:length]), length, settings.length_penalty)
            made.append(Hypothesis(tuple(row[:length]), tuple(numbers[:length]), score, row[length - 1] == eos))
        found.append(sorted(made, key=lambda each: -each.score))
    return found
