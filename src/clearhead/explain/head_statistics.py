"""What every attention head of a model looks at, measured on sentences: confidence, offsets and sinks.

Padding never counts. The end token of the source is left out, as a query and as a key, except in `end_share`: heads
attend to it when they have nothing to do (Voita et al., 2019). Queries that see fewer than two other keys are left out
too, because their weights are not a choice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clearhead.errors import DataError
from clearhead.explain.attention_reader import AttentionReader
from clearhead.explain.token_pairs import Advance, TokenPair, batch_of, batch_tokens, batches_of, no_progress
from clearhead.model import Batch, SequenceModel
from clearhead.model.heads import AttentionHead, every_head
from clearhead.model.modes import evaluation_mode

POSITIONAL_SHARE = 0.9


@dataclass(frozen=True)
class HeadStatistics:
    """The statistics of one head over `num_queries` queries.

    confidence: mean of a query's largest weight. offset: the most frequent distance from a query to the key with that
    weight (-1: the token before), offset_share: how often it occurs. first_share, end_share: mean weight of the first
    token and of the end token (None where there is none: in the decoder's self-attention).
    """

    head: AttentionHead
    num_queries: int
    confidence: float
    offset: int
    offset_share: float
    first_share: float
    end_share: float | None

    @property
    def is_positional(self) -> bool:
        """Whether at least 90 % of the largest weights are at one offset."""
        return self.offset_share >= POSITIONAL_SHARE

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        values = {name: value for name, value in vars(self).items() if name != "head"}
        return {"head": str(self.head), **values, "is_positional": self.is_positional}


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
    totals = {head: _Totals() for head in heads}
    peaks: dict[AttentionHead, list[NDArray[np.int64]]] = {
        head: [np.empty(0, dtype=np.int64)] * len(pairs) for head in heads if "cross" in head.kind
    }
    with evaluation_mode(model), torch.inference_mode():
        num_done = 0
        for indices in batches_of(pairs, batch_tokens(model)):
            advance(num_done, len(pairs))
            batch = batch_of([pairs[index] for index in indices], model.config, model.device)
            _read_batch(model, batch, totals, {head: (rows, indices) for head, rows in peaks.items()})
            num_done += len(indices)
    if not any(total.num_queries for total in totals.values()):
        raise DataError("no sentence has two tokens, so that attention has nothing to choose. Give longer sentences.")
    return AttentionSummary(tuple(total.statistics(head) for head, total in totals.items()), peaks)


Peaks = Mapping[AttentionHead, tuple[list[NDArray[np.int64]], list[int]]]


def _read_batch(model: SequenceModel, batch: Batch, totals: Mapping[AttentionHead, "_Totals"], peaks: Peaks) -> None:
    places: dict[str, _Place] = {}

    def receive(head: AttentionHead, weights: Tensor, allowed: Tensor) -> None:
        if head.where not in places:
            places.clear()
            places[head.where] = _Place.of(head, batch, allowed, model)
        place = places[head.where]
        largest = weights.masked_fill(~place.keys, -1.0).max(dim=-1)  # (B, Q)
        totals[head].add(place, weights, largest.values, largest.indices)
        if head in peaks:
            rows, indices = peaks[head]
            positions = largest.indices.cpu().numpy()
            for index, row, length in zip(indices, positions, place.num_rows, strict=True):
                rows[index] = row[:length]

    reader = AttentionReader(receive)
    memory = None if batch.source is None else model.encode(batch.source, trace=reader)
    if batch.target is not None:
        model.decode_states(model.shifted(batch.target), memory, trace=reader)


@dataclass(frozen=True, eq=False)
class _Place:
    """Which queries and keys of an attention layer count, in one batch."""

    keys: Tensor  # (B, Q, K): the visible keys without the end token
    queries: Tensor  # (B, Q): the queries that count
    end: Tensor | None  # (B, K): True for the end token
    num_rows: list[int]  # the number of real queries of each sentence

    @staticmethod
    def of(head: AttentionHead, batch: Batch, allowed: Tensor, model: SequenceModel) -> "_Place":
        """Return what counts at the place of a head."""
        query_ids = batch.source if head.kind.startswith("encoder") else batch.target
        key_ids = None if head.kind == "decoder.self_attention" else batch.source
        assert query_ids is not None
        is_real = query_ids != model.config.pad
        end = None if key_ids is None else (key_ids == model.config.eos)
        keys = allowed if end is None else allowed & ~end[:, None, :]
        keys = keys.expand(len(query_ids), -1, -1)
        queries = is_real & (keys.sum(dim=-1) > 1)
        if head.kind.startswith("encoder"):
            assert end is not None
            queries = queries & ~end
        return _Place(keys, queries, end, is_real.sum(dim=1).tolist())


@dataclass
class _Totals:
    """Sums over the queries of one head."""

    num_queries: int = 0
    confidence: float = 0.0
    first: float = 0.0
    end: float | None = None
    offsets: dict[int, int] = field(default_factory=dict)

    def add(self, place: _Place, weights: Tensor, largest: Tensor, positions: Tensor) -> None:
        """Add the weights (B, Q, K) of a batch; `largest` and `positions` (B, Q) are those of the largest weights."""
        counted = place.queries
        sums = [counted.sum(), largest.double()[counted].sum(), weights[..., 0].double()[counted].sum()]
        if place.end is not None:
            on_end = (weights * place.end[:, None, :]).sum(dim=-1)
            sums.append(on_end.double()[counted].sum())
        numbers = torch.stack([number.double() for number in sums]).tolist()
        self.num_queries += int(numbers[0])
        self.confidence += numbers[1]
        self.first += numbers[2]
        if place.end is not None:
            self.end = (self.end or 0.0) + numbers[3]
        distances = positions - torch.arange(positions.shape[1], device=positions.device)
        longest = positions.shape[1]
        for number, count in enumerate(torch.bincount(distances[counted] + longest).tolist()):
            if count:
                self.offsets[number - longest] = self.offsets.get(number - longest, 0) + count

    def statistics(self, head: AttentionHead) -> HeadStatistics:
        """Return the means; of two equally frequent offsets, the shorter."""
        number = max(1, self.num_queries)
        offset, count = min(self.offsets.items(), key=lambda item: (-item[1], abs(item[0])), default=(0, 0))
        end = None if self.end is None else self.end / number
        return HeadStatistics(
            head, self.num_queries, self.confidence / number, offset, count / number, self.first / number, end
        )
