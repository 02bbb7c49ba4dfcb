"""A second, slow implementation of searches: lists, no cache, one sentence at a time. It shares no code with ours."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from clearhead.model import Transformer


@dataclass(frozen=True)
class RankedTranslation:
    """Tokens and their score."""

    tokens: tuple[int, ...]
    score: float


def next_log_probs(model: Transformer, source: Tensor, tokens: Sequence[int]) -> list[float]:
    """Return log P of every token after `tokens`, by reading all of it again; padding and bos are never written."""
    with torch.no_grad():
        ids = torch.tensor([[model.config.start_id, *tokens]])
        log_probs = model.decode(ids, model.encode(source[None]))[0, -1].log_softmax(dim=-1)
    log_probs[model.config.pad] = log_probs[model.config.bos] = -math.inf
    return log_probs.tolist()  # type: ignore[no-any-return]


def exhaustive(model: Transformer, source: Tensor, limit: int, alpha: float) -> list[RankedTranslation]:
    """Return every possible translation, best first."""
    config, translations = model.config, []
    cached_log_probs = lru_cache(lambda body: next_log_probs(model, source, body))
    words = [token for token in range(config.target_size) if token not in (config.pad, config.bos, config.eos)]
    for length in range(limit + 1):
        for body in itertools.product(words, repeat=length):
            # the limit counts the end token, and a translation that reaches it is accepted
            complete = body if length == limit else (*body, config.eos)
            total = sum(cached_log_probs(complete[:i])[token] for i, token in enumerate(complete))
            translations.append(RankedTranslation(complete, total / len(complete) ** alpha))
    return sorted(translations, key=lambda translation: -translation.score)


def plain_beam(model: Transformer, source: Tensor, limit: int, beam: int, alpha: float) -> list[RankedTranslation]:
    """Return all hypotheses that end among the best `beam` continuations of each step, best first; never stop early."""
    going: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    ended: list[RankedTranslation] = []
    for length in range(1, limit + 1):
        continued = [
            ((*tokens, token), total + own)
            for tokens, total in going
            for token, own in enumerate(next_log_probs(model, source, tokens))
            if own > -math.inf
        ]
        continued.sort(key=lambda path: -path[1])
        is_end = [tokens[-1] == model.config.eos or length == limit for tokens, _ in continued]
        ended += [
            RankedTranslation(tokens, total / length**alpha)
            for (tokens, total), is_it in zip(continued[:beam], is_end[:beam], strict=True)
            if is_it
        ]
        going = [path for path, is_it in zip(continued, is_end, strict=True) if not is_it][:beam]
    return sorted(ended, key=lambda translation: -translation.score)
