"""What one attention head looks at: its kind and confidence, by one definition for a sentence and for a test set.

Padding never counts. The end token of the source is left out, as a query and as a key, except in `end_share`: heads
attend to it when they have nothing to do (Voita et al., 2019). Queries that see fewer than two other keys are left out
too, because their weights are not a choice.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from clearhead.model.heads import AttentionHead
from clearhead.worksheet.arrays import Array

POSITIONAL_SHARE = 0.9  # of the largest weights
SINK_SHARE = 0.5  # of all weight
FREQUENT_SHARE = 0.5  # of the largest weights: the head does this mostly
NEAR_SHARE = 0.75  # of the largest weights
NEAR = 2  # tokens
ALIGNMENT_ERROR = 50.0  # per cent
FOCUSED_CONFIDENCE = 0.5
BROAD_SPREAD = 0.7  # of the entropy of uniform attention
VISIBLE_SHARE = 2 / 3  # of all queries: an offset that fewer of them can look at is not counted
MIXED = "mixed"
_LEAST_QUERIES = 3  # fewer can show a pattern by chance
_NAMES = {-1: "previous token", 0: "same token", 1: "next token"}


@dataclass(frozen=True)
class HeadStatistics:
    """The statistics of one head over `num_queries` queries.

    confidence: mean of a query's largest weight. offset: the most frequent distance from a query to the key with that
    weight (-1: the token before), of the offsets that at least two thirds of all queries can look at; offset_share: how
    often it occurs, of the queries that see a key there. first_share, end_share: mean weight of the first token and of
    the end token (None where there is none: in the decoder's self-attention). diagonal_share: of cross-attention, how
    often the largest weight is within one token of the position that divides the source as the query divides the
    target. near_share: of self-attention, how often it is at most two tokens away, of the queries that see a token
    further away. spread: mean entropy of the weights, divided by that of uniform attention.
    """

    head: AttentionHead
    num_queries: int
    confidence: float
    offset: int
    offset_share: float
    first_share: float
    end_share: float | None
    diagonal_share: float | None = None
    near_share: float | None = None
    spread: float | None = None

    @property
    def is_positional(self) -> bool:
        """Whether at least 90 % of the largest weights are at one offset."""
        return self.offset_share >= POSITIONAL_SHARE

    @property
    def kind(self) -> str:
        """What it does."""
        return kind_of_head(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        values = {name: value for name, value in vars(self).items() if name != "head"}
        return {"head": str(self.head), **values, "kind": self.kind, "is_positional": self.is_positional}


def kind_of_head(row: HeadStatistics, alignment_error: float | None = None) -> str:
    """Return what a head does, by the first rule that holds; `alignment_error` in per cent, where it was measured."""
    diagonal = row.diagonal_share or 0.0
    rules = (
        (row.num_queries < _LEAST_QUERIES, MIXED),
        ((row.end_share or 0.0) >= SINK_SHARE, "end token"),
        (row.first_share >= SINK_SHARE, "first token"),
        (row.is_positional, _offset_name(row)),
        (diagonal >= POSITIONAL_SHARE, "diagonal"),
        (alignment_error is not None and alignment_error <= ALIGNMENT_ERROR, "alignment"),
        (row.offset_share >= FREQUENT_SHARE, f"mostly {_offset_name(row)}"),
        (diagonal >= FREQUENT_SHARE, "mostly diagonal"),
        ((row.near_share or 0.0) >= NEAR_SHARE, "nearby tokens"),
        (row.confidence >= FOCUSED_CONFIDENCE, "focused"),
        ((row.spread or 0.0) >= BROAD_SPREAD, "broad"),
    )
    return next((kind for holds, kind in rules if holds), MIXED)


def _offset_name(row: HeadStatistics) -> str:
    name = None if row.head.kind == "decoder.cross_attention" else _NAMES.get(row.offset)
    return name or f"offset {row.offset:+d}".replace("-", "−")


def sentence_statistics(head: AttentionHead, weights: Array) -> HeadStatistics:
    """Return the statistics of a head from its weights (Q, K) in one sentence, whose last source token is its end."""
    values = torch.from_numpy(weights)[None]
    num_queries, num_keys = weights.shape
    allowed = torch.ones(1, num_queries, num_keys, dtype=torch.bool)
    end = None
    if head.kind == "decoder.self_attention":
        allowed = allowed.tril()
    else:
        end = torch.arange(num_keys)[None] == num_keys - 1
    is_real = torch.ones(1, num_queries, dtype=torch.bool)
    totals = HeadTotals()
    totals.add(CountedPositions.of(head, is_real, allowed, end), values)
    return totals.statistics(head)


@dataclass(frozen=True, eq=False)
class CountedPositions:
    """Which queries and keys of an attention layer count, in one batch."""

    keys: Tensor  # (B, Q, K): the visible keys without the end token
    queries: Tensor  # (B, Q): the queries that count
    end: Tensor | None  # (B, K): True for the end token
    diagonal: Tensor | None  # (B, Q): the position of a diagonal, for cross-attention
    far: Tensor | None  # (B, Q): the queries that see more than the nearby tokens, for self-attention
    num_visible: Tensor  # (B, Q): the number of visible keys, with the end token
    num_rows: list[int]  # the number of real queries of each sentence
    offsets: list[int]  # the number of queries that see a key at each offset, from -Q on

    @staticmethod
    def of(head: AttentionHead, is_real: Tensor, allowed: Tensor, end: Tensor | None) -> "CountedPositions":
        """Return what counts at the place of a head: `is_real` (B, Q) has its queries without padding."""
        keys = allowed if end is None else allowed & ~end[:, None, :]
        keys = keys.expand(len(is_real), -1, -1)
        queries = is_real & (keys.sum(dim=-1) > 1)
        distances, diagonal = _distances(keys), None
        if head.kind.startswith("encoder"):
            assert end is not None
            queries = queries & ~end
        elif head.kind == "decoder.cross_attention":
            slope = (keys[:, 0].sum(dim=-1) - 1) / (is_real.sum(dim=-1) - 1).clamp(min=1)  # (B,)
            diagonal = slope[:, None] * torch.arange(keys.shape[1], device=keys.device)
        is_far = (distances - keys.shape[1]).abs() > NEAR  # (Q, K)
        return CountedPositions(
            keys=keys,
            queries=queries,
            end=end,
            diagonal=diagonal,
            far=queries & (keys & is_far).any(dim=-1) if diagonal is None else None,
            num_visible=allowed.expand_as(keys).sum(dim=-1),
            num_rows=is_real.sum(dim=1).tolist(),
            offsets=torch.bincount(distances.expand_as(keys)[keys & queries[..., None]]).tolist(),
        )


def _distances(keys: Tensor) -> Tensor:
    """Return the offsets (Q, K) from queries to keys plus Q, so that none is negative."""
    num_queries, num_keys = keys.shape[-2:]
    query, key = (torch.arange(size, device=keys.device) for size in (num_queries, num_keys))
    return key[None] - query[:, None] + num_queries


@dataclass
class HeadTotals:
    """Sums over the queries of one head."""

    num_queries: int = 0
    sums: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    counts: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))  # the queries of each sum
    offsets: Counter[int] = field(default_factory=Counter)  # of the largest weights
    possible: Counter[int] = field(default_factory=Counter)  # queries that see a key at the offset

    def add(self, place: CountedPositions, weights: Tensor) -> Tensor:
        """Add the weights (B, Q, K) of a batch; return the positions (B, Q) of the largest, without the end token."""
        counted = place.queries
        largest = weights.masked_fill(~place.keys, -1.0).max(dim=-1)  # (B, Q)
        longest = largest.indices.shape[1]
        distances = largest.indices - torch.arange(longest, device=weights.device)
        entropy = torch.special.entr(weights).sum(dim=-1)  # (B, Q)
        values = {
            "confidence": (largest.values, counted),
            "first": (weights[..., 0], counted),
            "spread": (entropy / place.num_visible.clamp(min=2).log(), counted),
        }
        if place.far is not None:
            values["near"] = (distances.abs() <= NEAR, place.far)
        if place.end is not None:
            values["end"] = ((weights * place.end[:, None, :]).sum(dim=-1), counted)
        if place.diagonal is not None:
            values["diagonal"] = ((largest.indices - place.diagonal).abs() <= 1, counted)
        self._add_sums(values)
        for total, counts in (
            (self.offsets, torch.bincount((distances + longest)[counted]).tolist()),
            (self.possible, place.offsets),
        ):
            total.update({number - longest: count for number, count in enumerate(counts) if count})
        return largest.indices

    def _add_sums(self, values: Mapping[str, tuple[Tensor, Tensor]]) -> None:
        """Add the sums of values (B, Q) over the queries (B, Q) that count for them, with one transfer from a GPU."""
        pairs = [(value.double()[mask].sum(), mask.sum()) for value, mask in values.values()]
        numbers = torch.stack([number.double() for pair in pairs for number in pair]).tolist()
        for name, total, count in zip(values, numbers[::2], numbers[1::2], strict=True):
            self.sums[name] += total
            self.counts[name] += count
        self.num_queries = int(self.counts["confidence"])

    def statistics(self, head: AttentionHead) -> HeadStatistics:
        """Return the means; of two equally frequent offsets, the shorter."""
        offsets = [
            (offset, count)
            for offset, count in self.offsets.items()
            if self.possible[offset] / self.num_queries >= VISIBLE_SHARE
        ]
        offset, count = min(offsets, key=lambda item: (-item[1], abs(item[0])), default=(0, 0))
        means = {name: total / self.counts[name] for name, total in self.sums.items() if self.counts[name]}
        return HeadStatistics(
            head,
            self.num_queries,
            means.get("confidence", 0.0),
            offset,
            count / max(1, self.possible[offset]),
            means.get("first", 0.0),
            means.get("end", 0.0) if "end" in self.sums else None,
            means.get("diagonal", 0.0) if "diagonal" in self.sums else None,
            means.get("near"),
            means.get("spread"),
        )
