"""Searches written a second time, slowly: lists, no cache, one sentence at a time. They share no code with ours."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from clearhead.model import Transformer


@dataclass(frozen=True)
class Found:
    """Tokens and their score."""

    tokens: tuple[int, ...]
    score: float


def next_log_probs(model: Transformer, source: Tensor, written: Sequence[int]) -> list[float]:
    """Return log P of every token after `written`, by reading all of it again; padding and bos are never written."""
    with torch.no_grad():
        read = torch.tensor([[model.config.start_id, *written]])
        made = model.decode(read, model.encode(source[None]))[0, -1].log_softmax(dim=-1)
    made[model.config.pad] = made[model.config.bos] = -math.inf
    return made.tolist()  # type: ignore[no-any-return]


def exhaustive(model: Transformer, source: Tensor, limit: int, alpha: float) -> list[Found]:
    """Return every translation there is, best first."""
    config, found = model.config, []
    known = lru_cache(lambda written: next_log_probs(model, source, written))
    tokens = [token for token in range(config.target_size) if token not in (config.pad, config.bos, config.eos)]
    for length in range(limit + 1):
        for written in itertools.product(tokens, repeat=length):
            # the limit counts the end, and what reaches it is taken as it is
            whole = written if length == limit else (*written, config.eos)
            total = sum(known(whole[:i])[token] for i, token in enumerate(whole))
            found.append(Found(whole, total / len(whole) ** alpha))
    return sorted(found, key=lambda each: -each.score)


def plain_beam(model: Transformer, source: Tensor, limit: int, beam: int, alpha: float) -> list[Found]:
    """Return all that ends among the best `beam` continuations of each step, best first; it never stops early."""
    going: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    ended: list[Found] = []
    for length in range(1, limit + 1):
        continued = [
            ((*written, token), total + own)
            for written, total in going
            for token, own in enumerate(next_log_probs(model, source, written))
            if own > -math.inf
        ]
        continued.sort(key=lambda each: -each[1])
        is_end = [written[-1] == model.config.eos or length == limit for written, _ in continued]
        ended += [
            Found(written, total / length**alpha)
            for (written, total), is_it in zip(continued[:beam], is_end[:beam], strict=True)
            if is_it
        ]
        going = [each for each, is_it in zip(continued, is_end, strict=True) if not is_it][:beam]
    return sorted(ended, key=lambda each: -each.score)
