"""Greedy and beam search in NumPy: the same choices and scores as `beam.py`, without constraints.

The model is anything that encodes sentences and reads a token at a time: the NumPy Transformer, or an export to ONNX.

At each step every hypothesis is extended by every token, and the best `beam` of them are kept. Hypotheses that end go
into a pool. A beam of 1 is greedy search.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.record_reader import IS_ENDED, LOG_PROB, PARENT, TOKEN, TOTAL, Numbers, RecordReader
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
    config = model.config
    hidden_logits = np.zeros(config.target_size, dtype=np.float32)
    hidden_logits[list(hidden)] = -np.inf
    reader = RecordReader(limits, settings, config.eos, is_wanted)
    cache = model.encode(source)
    numbers = np.arange(len(source))  # the sentence of each row
    tokens = np.full((len(source), 1), config.start_id)  # (B, K), the last of each hypothesis
    totals = np.zeros((len(source), 1), dtype=np.float32)  # (B, K), log P, -∞ where a sentence has fewer than `beam`
    length = 0
    while len(numbers):
        logits = model.step(tokens, cache)  # (B, K, V)
        if hidden:
            logits += hidden_logits
        log_probs = log_softmax(logits)
        log_probs[..., list(config.never_written)] = -np.inf
        if length < settings.min_length:
            log_probs[..., config.eos] = -np.inf
        length += 1
        candidates = _best_candidates(totals, log_probs, 2 * settings.beam)  # (B, C, 5)
        at_limit = np.array([limits[number] <= length for number in numbers.tolist()])[:, None]
        candidates[..., IS_ENDED] = (candidates[..., TOKEN] == config.eos) | at_limit
        record = np.zeros((len(limits), *candidates.shape[1:]))
        record[numbers] = candidates
        survivors = reader.read(record)[numbers]
        tokens, totals = survivors[..., TOKEN].astype(np.int64), survivors[..., TOTAL].astype(np.float32)
        cache.follow(survivors[..., PARENT].astype(np.int64))
        if len(reader.going) < len(numbers):
            going = np.flatnonzero(np.isin(numbers, reader.going))
            numbers, tokens, totals = numbers[going], tokens[going], totals[going]
            cache.keep(going.tolist())
    return reader.best


def _best_candidates(totals: Array, log_probs: Array, number: int) -> Numbers:
    """Return the best `number` continuations: up to `beam` of them can end, and `beam` others must remain."""
    vocabulary = log_probs.shape[-1]
    sums = (totals[..., None] + log_probs).reshape(len(log_probs), -1)  # (B, K·V)
    number = min(number, sums.shape[1])
    some = np.argpartition(-sums, number - 1, axis=1)[:, :number]  # the best ones, in no order
    order = np.argsort(-np.take_along_axis(sums, some, axis=1), axis=1, kind="stable")
    best = np.take_along_axis(some, order, axis=1)
    candidates = np.zeros((*best.shape, 5))
    candidates[..., PARENT], candidates[..., TOKEN] = np.divmod(best, vocabulary)
    candidates[..., LOG_PROB] = np.take_along_axis(log_probs.reshape(len(log_probs), -1), best, axis=1)
    candidates[..., TOTAL] = np.take_along_axis(sums, best, axis=1)
    return candidates
