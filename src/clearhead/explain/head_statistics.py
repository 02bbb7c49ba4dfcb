"""What every attention head of a model looks at, measured on sentences in batches."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clearhead.errors import DataError
from clearhead.explain.head_kind import CountedPositions, HeadStatistics, HeadTotals
from clearhead.explain.token_pairs import Advance, TokenPair, no_progress, read_batches
from clearhead.model import Batch, SequenceModel
from clearhead.model.heads import AttentionHead, every_head
from clearhead.model.modes import evaluation_mode
from clearhead.model.probe import Probe
from clearhead.steps import Step, Trace

Receive = Callable[[AttentionHead, Tensor, Tensor], None]


class AttentionReader(Trace):
    """A trace that records nothing, and hands the weights (B, Q, K) of each head to `receive`, so that no second
    computation can differ from them.

    The third argument is the mask (B or 1, Q, K) of the head: True where a query can see a key.
    """

    def __init__(self, receive: Receive) -> None:
        super().__init__()
        self._receive = receive
        self._masks: dict[str, Tensor] = {}  # of the last attention layer, by its place

    def give(self, name: str, value: Any, **labels: Any) -> None:
        """Remember a mask, and ignore other values."""
        if name == "M":
            self._masks.clear()
            self._masks[self.where] = value

    def record(self, step: Step, value: Any, *, symbol: str = "", **inputs: Any) -> None:
        """Hand on attention weights, and ignore other steps."""
        where, is_head, number = self.where.rpartition(".head.")
        if step.name == "softmax" and is_head:
            self._receive(AttentionHead(where, int(number)), value, self._masks[where])


@dataclass(frozen=True, eq=False)
class AttentionSummary:
    """The statistics of all heads, and where cross-attention is largest.

    `peaks` has for each cross-attention head and each pair the source position with the largest weight (end token left
    out), for every row of the decoder: row t reads token t - 1 and predicts token t.
    """

    statistics: tuple[HeadStatistics, ...]
    peaks: Mapping[AttentionHead, Sequence[NDArray[np.int64]]]


def measure_attention(
    model: SequenceModel, pairs: Sequence[TokenPair], advance: Advance = no_progress
) -> AttentionSummary:
    """Measure what the heads of a model look at when it reads pairs; in batches, without a complete trace."""
    heads = every_head(model.config)
    totals = {head: HeadTotals() for head in heads}
    peaks: dict[AttentionHead, list[NDArray[np.int64]]] = {
        head: [np.empty(0, dtype=np.int64)] * len(pairs) for head in heads if "cross" in head.kind
    }
    with evaluation_mode(model), torch.inference_mode():
        for indices, batch in read_batches(model, pairs, advance):
            _read_batch(model, batch, totals, {head: (rows, indices) for head, rows in peaks.items()})
    if not any(total.num_queries for total in totals.values()):
        raise DataError("no sentence has two tokens, so that attention has nothing to choose. Give longer sentences.")
    return AttentionSummary(tuple(total.statistics(head) for head, total in totals.items()), peaks)


Peaks = Mapping[AttentionHead, tuple[list[NDArray[np.int64]], list[int]]]


def _read_batch(model: SequenceModel, batch: Batch, totals: Mapping[AttentionHead, HeadTotals], peaks: Peaks) -> None:
    places: dict[str, CountedPositions] = {}

    def receive(head: AttentionHead, weights: Tensor, allowed: Tensor) -> None:
        if head.where not in places:
            places.clear()
            places[head.where] = _counted(head, batch, allowed, model)
        place = places[head.where]
        positions = totals[head].add(place, weights)
        if head in peaks:
            rows, indices = peaks[head]
            for index, row, length in zip(indices, positions.cpu().numpy(), place.num_rows, strict=True):
                rows[index] = row[:length]

    reader = AttentionReader(receive)
    memory = None if batch.source is None else model.encode(batch.source, probe=Probe(reader))
    assert batch.target is not None
    model.decode_states(model.shifted(batch.target), memory, probe=Probe(reader))


def _counted(head: AttentionHead, batch: Batch, allowed: Tensor, model: SequenceModel) -> CountedPositions:
    query_ids = batch.source if head.kind.startswith("encoder") else batch.target
    key_ids = None if head.kind == "decoder.self_attention" else batch.source
    assert query_ids is not None
    end = None if key_ids is None else key_ids == model.config.eos
    return CountedPositions.of(head, query_ids != model.config.pad, allowed, end)
