"""Greedy and beam search in NumPy: the same choices and scores as `beam.py`, without constraints.

The model is anything that encodes sentences and reads a token at a time: the NumPy Transformer, or ONNX graphs.

At each step every hypothesis is extended by every token, and the best `beam` of them are kept. Hypotheses that end go
into a pool. A beam of 1 is greedy search.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from clearhead.decoding.search.hypothesis import Hypothesis, Pool, is_finished, normalised
from clearhead.decoding.search.settings import SearchSettings
from clearhead.model.config import ModelConfig
from clearhead.model.numpy_transformer import Array, Ids, log_softmax


class StepwiseCache(Protocol):
    """What a decoder has computed for B sentences with K hypotheses each."""

    def follow(self, parents: Ids) -> None:
        """Continue with new hypotheses (B, K′), each with the past of its parent."""

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only the sentences at `rows`."""


C = TypeVar("C", bound=StepwiseCache)


class StepwiseModel(Protocol[C]):
    """A model that encodes sentences once and then reads one token of every hypothesis at a time."""

    @property
    def config(self) -> ModelConfig:
        """The config of the model."""

    def encode(self, source: Ids) -> C:
        """Encode sentences (B, S), padded on the right."""

    def step(self, tokens: Ids, cache: C) -> Array:
        """Read the last token of every hypothesis (B, K); return the logits of the next one: (B, K, V)."""


def numpy_search(
    model: StepwiseModel[C],
    source: Ids,
    limits: Sequence[int],
    settings: SearchSettings,
    hidden: Sequence[int] = (),
    is_wanted: Callable[[int], bool] = lambda number: True,
) -> list[list[Hypothesis]]:
    """Return the `n_best` best hypotheses of each sentence of `source` (B, S), best first.

    `limits` are the maximum lengths, including eos; a hypothesis that reaches its limit is returned as it is.
    `hidden` are tokens of other scripts than that of the target language, whose probability is 0. The search of a
    sentence stops after the step in which `is_wanted` returns False for its number.
    """
    hidden_logits = np.zeros(model.config.target_size, dtype=np.float32)
    hidden_logits[list(hidden)] = -np.inf
    pools = [Pool(settings.beam) for _ in source]
    cache = model.encode(source)
    beams = _Beams.start(len(source))
    while beams.numbers:
        last = beams.tokens[..., -1] if beams.length else np.full((len(beams.numbers), 1), model.config.start_id)
        logits = model.step(last, cache)  # (B, K, V)
        if hidden:
            logits += hidden_logits
        log_probs = log_softmax(logits)
        log_probs[..., list(model.config.never_written)] = -np.inf
        if beams.length < settings.min_length:
            log_probs[..., model.config.eos] = -np.inf
        candidates = _best_candidates(beams, log_probs, 2 * settings.beam)
        at_limit = np.array([limits[number] <= beams.length + 1 for number in beams.numbers])[:, None]
        is_ended = (candidates.tokens == model.config.eos) | at_limit  # (B, C)
        _set_aside(pools, beams, candidates, is_ended, settings, model.config.eos)
        # the best that have not ended; where there are fewer than `beam`, the rest have no chance
        choice = np.argsort(is_ended, axis=1, kind="stable")[:, : settings.beam]  # (B, K)
        beams = _extended(beams, candidates, choice, is_ended)
        cache.follow(np.take_along_axis(candidates.parents, choice, axis=1))
        going = [
            row
            for row, (number, best) in enumerate(zip(beams.numbers, beams.totals[:, 0].tolist(), strict=True))
            if is_wanted(number) and not is_finished(pools[number], best, beams.length, limits[number], settings)
        ]
        if len(going) < len(beams.numbers):
            beams = beams.only(going)
            cache.keep(going)
    return [pool.best[: settings.n_best] for pool in pools]


@dataclass(frozen=True, eq=False)
class _Beams:
    """Unfinished hypotheses, best first; `totals` are their log P, -∞ where a sentence has fewer than `beam`."""

    tokens: Ids  # (B, K, T)
    log_probs: Array  # (B, K, T), of each token
    totals: Array  # (B, K)
    numbers: list[int]  # the sentence of each row

    @staticmethod
    def start(size: int) -> "_Beams":
        nothing = np.zeros((size, 1, 0), dtype=np.float32)
        return _Beams(nothing.astype(np.int64), nothing, np.zeros((size, 1), dtype=np.float32), list(range(size)))

    @property
    def length(self) -> int:
        return int(self.tokens.shape[-1])

    def only(self, rows: list[int]) -> "_Beams":
        numbers = [self.numbers[row] for row in rows]
        return _Beams(self.tokens[rows], self.log_probs[rows], self.totals[rows], numbers)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Continuations of the hypotheses at `parents` by tokens, best first: each (B, C)."""

    parents: Ids
    tokens: Ids
    log_probs: Array  # of the token
    totals: Array  # log P of the hypothesis with the token


def _best_candidates(beams: _Beams, log_probs: Array, number: int) -> _Candidates:
    """Return the best `number` continuations: up to `beam` of them can end, and `beam` others must remain."""
    vocabulary = log_probs.shape[-1]
    totals = (beams.totals[..., None] + log_probs).reshape(len(log_probs), -1)  # (B, K·V)
    number = min(number, totals.shape[1])
    some = np.argpartition(-totals, number - 1, axis=1)[:, :number]  # the best ones, in no order
    order = np.argsort(-np.take_along_axis(totals, some, axis=1), axis=1, kind="stable")
    best = np.take_along_axis(some, order, axis=1)
    own = np.take_along_axis(log_probs.reshape(len(log_probs), -1), best, axis=1)
    return _Candidates(best // vocabulary, best % vocabulary, own, np.take_along_axis(totals, best, axis=1))


def _set_aside(
    pools: Sequence[Pool],
    beams: _Beams,
    candidates: _Candidates,
    is_ended: npt.NDArray[np.bool_],
    settings: SearchSettings,
    eos: int,
) -> None:
    """Put candidates that end into the pools, if they are among the best `beam` of all candidates."""
    is_kept = is_ended[:, : settings.beam] & (candidates.totals[:, : settings.beam] > -np.inf)
    for row, place in np.argwhere(is_kept).tolist():
        score = normalised(float(candidates.totals[row, place]), beams.length + 1, settings.length_penalty)
        pool = pools[beams.numbers[row]]
        if pool.would_take(score):
            parent, token = candidates.parents[row, place], int(candidates.tokens[row, place])
            tokens = (*beams.tokens[row, parent].tolist(), token)
            log_probs = (*beams.log_probs[row, parent].tolist(), float(candidates.log_probs[row, place]))
            pool.add(Hypothesis(tokens, log_probs, score, has_ended=token == eos))


def _extended(beams: _Beams, candidates: _Candidates, choice: Ids, is_ended: npt.NDArray[np.bool_]) -> _Beams:
    """Return the candidates at `choice` (B, K) as hypotheses; ended ones get log P = -∞."""
    parents, tokens, log_probs, totals, has_ended = (
        np.take_along_axis(part, choice, axis=1)
        for part in (candidates.parents, candidates.tokens, candidates.log_probs, candidates.totals, is_ended)
    )
    rows = np.arange(len(choice))[:, None]
    return _Beams(
        np.concatenate((beams.tokens[rows, parents], tokens[..., None]), axis=-1),
        np.concatenate((beams.log_probs[rows, parents], log_probs[..., None]), axis=-1),
        np.where(has_ended, np.float32(-np.inf), totals),
        beams.numbers,
    )
