"""Make batches from a store in an order that depends only on the seed, so that a run can be resumed at any batch.

An epoch is a random order of all pairs, split into blocks. Each block is laid out as batches in random order, and only
the current block is in memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from clearhead.data.layout import BucketedLayout, Counts, Layout, PackedLayout, Plan, Shape, padding_waste
from clearhead.data.store import PairStore, Side
from clearhead.text.byte_spelling import ByteSpelling
from clearhead.text.tokeniser import Vocabularies

Ids = NDArray[np.int64]
NO_LABEL = -100  # of a row without a sentence; PyTorch's loss ignores this value
_BLOCK = 65_536  # pairs
_SIDES: tuple[Side, Side] = ("source", "target")
# separate random streams, so that one does not depend on how much another has drawn
_ORDER, _LAYOUT, _SEGMENTATIONS, _BYTES = range(4)


@dataclass(frozen=True)
class Position:
    """The position of the next batch: epoch, block, and index in the block."""

    epoch: int = 0
    block: int = 0
    batch: int = 0


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """The padded ids of a batch, with the sentence number of each token if rows are packed, and the next position."""

    shape: Shape
    source: Ids
    target: Ids
    source_sentences: Ids | None
    target_sentences: Ids | None
    num_pairs: int
    num_source: int  # tokens, without padding
    num_target: int
    after: Position = Position()


@dataclass(frozen=True, eq=False)
class Rows:
    """The concatenated ids of several sentences."""

    flat: NDArray[Any]
    lengths: Counts

    @property
    def starts(self) -> Counts:
        """The index where each sentence begins."""
        return np.cumsum(self.lengths) - self.lengths


def make_layout(
    store: PairStore,
    batch_tokens: int,
    *,
    batching: Literal["packed", "bucketed"],
    has_labels: bool = False,
    max_tokens: int | None = None,
) -> Layout:
    """Return a layout for the lengths in a store; with `has_labels` only the source is laid out.

    `max_tokens` is the maximum length of a sentence after sampling; by default the longest length in the store.
    """
    source = store.source.lengths
    target = np.zeros(len(store), dtype=np.int64) if has_labels else store.target.lengths
    kind = PackedLayout if batching == "packed" else BucketedLayout
    layout = kind(source, target, batch_tokens)
    layout.max_tokens = max_tokens or int(max(source.max(initial=0), target.max(initial=0)))
    return layout


class BatchStream:
    """The batches of a store, epoch after epoch."""

    def __init__(
        self,
        store: PairStore,
        vocabularies: Vocabularies,
        layout: Layout,
        *,
        weights: Sequence[float] = (),
        seed: int = 1,
        has_labels: bool = False,
    ) -> None:
        self.store, self.vocabularies, self.layout = store, vocabularies, layout
        self.seed, self.has_labels = seed, has_labels
        self._weights = list(weights) or [1.0] * (int(store.corpus.max(initial=0)) + 1)
        self._samples_segmentations = vocabularies.source.config.sampling > 0 and store.target_texts is not None

    @property
    def pairs_per_epoch(self) -> int:
        """The number of pairs per epoch, given the weights of the corpora."""
        counts = np.bincount(self.store.corpus, minlength=len(self._weights)).tolist()
        return sum(
            int(weight) * n + _num_extra_pairs(weight, n) for weight, n in zip(self._weights, counts, strict=True)
        )

    @property
    def batches_per_epoch(self) -> float:
        """The number of batches in the first epoch, estimated from its first block if there are several."""
        indices = self._order(0)[:_BLOCK]
        plans, _, _ = self._block(indices, 0, 0)
        return len(plans) * self.pairs_per_epoch / len(indices)

    @property
    def padding(self) -> float:
        """The share of padding in the batches of the first block, with the tokens of the store."""
        indices = self._order(0)[:_BLOCK]
        source, target = (
            side.offsets[indices + 1] - side.offsets[indices] for side in (self.store.source, self.store.target)
        )
        target = np.zeros_like(target) if self.has_labels else target
        return padding_waste(self.layout.plan(source, target, self._random(0, _LAYOUT, 0)), source, target)

    def batches(self, start: Position = Position()) -> Iterator[TokenBatch]:
        """Yield batches from a position on, endlessly."""
        epoch, block, batch = start.epoch, start.block, start.batch
        while True:
            order = self._order(epoch)
            for number in range(block, -(-len(order) // _BLOCK)):
                indices = order[number * _BLOCK : (number + 1) * _BLOCK]
                is_last = (number + 1) * _BLOCK >= len(order)
                plans, source, target = self._block(indices, epoch, number)
                for index in range(batch, len(plans)):
                    after = Position(epoch, number, index + 1)
                    if index + 1 == len(plans):
                        after = Position(epoch + 1) if is_last else Position(epoch, number + 1)
                    yield self._fill_batch(plans[index], source, target, after)
                batch = 0
            epoch, block = epoch + 1, 0

    def once(self) -> Iterator[TokenBatch]:
        """Yield the batches of one epoch."""
        for batch in self.batches():
            yield batch
            if batch.after.epoch:
                return

    def _random(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *key])

    def _order(self, epoch: int) -> Counts:
        """Return the pairs of an epoch: each corpus repeated according to its weight, shuffled together."""
        random = self._random(epoch, _ORDER)
        chosen = []
        for corpus, weight in enumerate(self._weights):
            own = np.flatnonzero(self.store.corpus == corpus)
            chosen += [own] * int(weight)
            if rest := _num_extra_pairs(weight, len(own)):
                chosen.append(random.choice(own, rest, replace=False))
        return random.permutation(np.concatenate(chosen))

    def _block(self, indices: Counts, epoch: int, number: int) -> tuple[list[Plan], Rows, Rows]:
        source, target = Rows(*self.store.source.gather(indices)), Rows(*self.store.target.gather(indices))
        if self._samples_segmentations:
            source, target = self._sample_segmentations(indices, (source, target), (epoch, number))
        width = np.zeros_like(target.lengths) if self.has_labels else target.lengths
        return self.layout.plan(source.lengths, width, self._random(epoch, _LAYOUT, number)), source, target

    def _sample_segmentations(
        self, indices: Counts, stored: tuple[Rows, Rows], block: tuple[int, int]
    ) -> tuple[Rows, Rows]:
        """Sample new tokens for a block; a pair that would become too long keeps the tokens of the store."""
        stored_rows = [np.split(side.flat, side.starts[1:]) for side in stored]
        rows = [list(side) for side in stored_rows]
        has_text = (True, not self.has_labels)  # a label is no text, and a language model has no source
        sides = [side for side in range(2) if has_text[side] and stored[side].lengths.any()]
        tokenisers = [(self.vocabularies.source, self.vocabularies.target)[side] for side in sides]
        spelling = ByteSpelling(tokenisers, self.vocabularies.source.config.byte_share)
        seed = int(self._random(block[0], _BYTES, block[1]).integers(2**31))
        marked = spelling.mark([self.store.texts(_SIDES[side], indices) for side in sides], seed)
        for index, (side, tokeniser) in enumerate(zip(sides, tokenisers, strict=True)):
            seed = int(self._random(block[0], _SEGMENTATIONS, block[1], side).integers(2**31))
            sampled = tokeniser.sample(marked.sides[index], seed)
            spelling.restore(sampled, marked, index)
            rows[side] = [np.array([*ids, tokeniser.eos]) for ids in sampled]
        widest = self.layout.shapes[-1]
        max_widths = [min(self.layout.max_tokens, width) for width in (widest.source, widest.target)]
        for index, (source, target) in enumerate(zip(*rows, strict=True)):
            if len(source) > max_widths[0] or (len(target) > max_widths[1] and not self.has_labels):
                for side in range(2):
                    rows[side][index] = stored_rows[side][index]
        return _concatenate(rows[0]), _concatenate(rows[1])

    def _fill_batch(self, plan: Plan, source: Rows, target: Rows, after: Position) -> TokenBatch:
        """Write the ids of a batch into padded arrays."""
        shape, pads = plan.shape, (self.vocabularies.source.pad, self.vocabularies.target.pad)
        source_ids, source_sentences = _scatter(plan, source, plan.source_starts, (shape.rows, shape.source), pads[0])
        if self.has_labels:
            target_ids, target_sentences = np.full(shape.rows, NO_LABEL, dtype=np.int64), None
            target_ids[plan.rows] = target.flat[target.starts[plan.pairs]]
        else:
            target_ids, target_sentences = _scatter(
                plan, target, plan.target_starts, (shape.rows, shape.target), pads[1]
            )
        is_packed = self.layout.is_packed
        return TokenBatch(
            shape, source_ids, target_ids,
            source_sentences if is_packed else None, target_sentences if is_packed else None, len(plan.pairs),
            int(source.lengths[plan.pairs].sum()), int(target.lengths[plan.pairs].sum()), after,
        )  # fmt: skip


def _num_extra_pairs(weight: float, number: int) -> int:
    """Return how many pairs an epoch reads in addition to full passes; a weight below 1 gives at least one."""
    return max(round(weight % 1 * number), int(weight < 1 and number > 0))


def _concatenate(rows: list[NDArray[Any]]) -> Rows:
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return Rows(np.concatenate(rows), lengths)


def _scatter(plan: Plan, rows: Rows, starts: Counts, size: tuple[int, int], pad: int) -> tuple[Ids, Ids]:
    """Return the padded ids of one side, and the sentence number of each token."""
    ids, sentences = np.full(size, pad, dtype=np.int64), np.zeros(size, dtype=np.int64)
    lengths = rows.lengths[plan.pairs]
    steps = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    positions = np.repeat(plan.rows * size[1] + starts, lengths) + steps
    ids.reshape(-1)[positions] = rows.flat[np.repeat(rows.starts[plan.pairs], lengths) + steps]
    sentences.reshape(-1)[positions] = np.repeat(plan.sentences, lengths)
    return ids, sentences
