"""Lay out sentences in batches: packed rows of one shape, or one sentence per row in at most eight shapes.

A model is compiled once per shape, so there should be few shapes. A padding token costs as much as a real one, so rows
should be full. A layout sees only lengths; the caller selects the pairs and their order.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
MAX_SHAPES = 8
_MULTIPLE = 8  # GPU kernels process eight numbers at once
_ROW = 64  # tokens; in longer rows attention costs more than the saved padding (measured)


@dataclass(frozen=True)
class Shape:
    """The shape of a batch: the number of rows, and of tokens per row on each side (0: the task has no such side)."""

    rows: int
    source: int
    target: int

    @property
    def tokens(self) -> int:
        """Tokens of both sides, including padding."""
        return self.rows * (self.source + self.target)

    def __str__(self) -> str:
        return f"{self.rows} × ({self.source} + {self.target})"


@dataclass(frozen=True, eq=False)
class Plan:
    """The plan of a batch: its pairs, and for each its row and its start in the row on both sides."""

    shape: Shape
    pairs: Counts
    rows: Counts
    source_starts: Counts
    target_starts: Counts
    sentences: Counts  # number of the sentence in its row, counted from 1


class Layout(ABC):
    """A way to arrange pairs of given lengths in batches."""

    shapes: tuple[Shape, ...]
    is_packed: bool
    max_tokens: int = 2**63 - 1  # of a sentence

    @abstractmethod
    def plan(self, source: Counts, target: Counts, random: np.random.Generator) -> list[Plan]:
        """Assign every pair to one batch, by its lengths on both sides; the batches are in random order."""


class PackedLayout(Layout):
    """Several sentences per row: rows of 64 tokens, and wider ones only for longer sentences."""

    is_packed = True

    def __init__(self, source: Counts, target: Counts, batch_tokens: int) -> None:
        self.shapes = tuple(_packed_shapes(source, target, batch_tokens))

    def plan(self, source: Counts, target: Counts, random: np.random.Generator) -> list[Plan]:
        """Fill the widest rows with the pairs that need them; the rest go into their gaps, then into narrower rows."""
        plans: list[Plan] = []
        remaining = np.arange(len(source))
        for number in reversed(range(len(self.shapes))):
            shape = self.shapes[number]
            needs = np.ones(len(remaining), dtype=bool)
            if number:
                narrower = self.shapes[number - 1]
                needs = (source[remaining] > narrower.source) | (target[remaining] > narrower.target)
            row_of, rows = _fill_rows(source[remaining], target[remaining], needs, shape)
            is_placed = row_of >= 0
            plans += _packed_plans(
                remaining[is_placed], random.permutation(rows)[row_of[is_placed]], source, target, shape
            )
            remaining = remaining[~is_placed]
        return [plans[index] for index in random.permutation(len(plans))]


class BucketedLayout(Layout):
    """One sentence per row, with pairs of similar lengths together. Pairs that fit a shape also fit every wider one."""

    is_packed = False

    def __init__(self, source: Counts, target: Counts, batch_tokens: int) -> None:
        longest = np.maximum(source, target)
        shapes = []
        for bound in best_bounds(longest, MAX_SHAPES):
            widths = [int(side[longest <= bound].max(initial=0)) for side in (source, target)]
            shapes.append(Shape(_num_rows(batch_tokens, widths, len(source)), *widths))
        self.shapes = tuple(shapes)

    def plan(self, source: Counts, target: Counts, random: np.random.Generator) -> list[Plan]:
        """Split every bucket into batches; the remainder goes into the next wider bucket."""
        bucket_of = np.maximum(
            np.searchsorted([shape.source for shape in self.shapes], source),
            np.searchsorted([shape.target for shape in self.shapes], target),
        )
        plans: list[Plan] = []
        remaining = np.empty(0, dtype=np.int64)
        for number, shape in enumerate(self.shapes):
            bucket = random.permutation(np.concatenate((np.flatnonzero(bucket_of == number), remaining)))
            full = len(bucket) // shape.rows * shape.rows
            plans += _one_sentence_a_row(shape, bucket[:full])
            remaining = bucket[full:]
        if len(remaining):  # too few for another batch of the widest shape: use the narrowest shape that fits
            shape = self.shapes[int(bucket_of[remaining].max())]
            plans += _one_sentence_a_row(shape, remaining)
        return [plans[index] for index in random.permutation(len(plans))]


def _packed_shapes(source: Counts, target: Counts, batch_tokens: int) -> Iterator[Shape]:
    """Yield shapes with 64, 128, … tokens on the longer side until every pair fits; the other by the text's ratio."""
    totals = float(source.sum()), float(target.sum())
    widest = [_rounded(float(side.max(initial=0))) for side in (source, target)]
    width, num_fit, num_shapes = _ROW, 0, 0
    while num_fit < len(source):
        widths = [_rounded(width * total / max(*totals, 1.0)) for total in totals]
        if width >= 2 * max(widest) or num_shapes == MAX_SHAPES - 1:
            # pairs with a very different length ratio would otherwise need ever wider rows
            widths = [max(pair) for pair in zip(widths, widest, strict=True)]
        num_fit_now = int(((source <= widths[0]) & (target <= widths[1])).sum())
        if num_fit_now > num_fit:
            yield Shape(_num_rows(batch_tokens, widths, len(source)), *widths)
            num_shapes += 1
        width, num_fit = 2 * width, num_fit_now


def _num_rows(batch_tokens: int, widths: Sequence[int], num_pairs: int) -> int:
    """Return the number of rows of a batch, from its number of tokens: target tokens, if there is a target."""
    return max(1, min(batch_tokens // max(widths[1] or widths[0], 1), num_pairs))


def _rounded(width: float) -> int:
    return -(-int(width) // _MULTIPLE) * _MULTIPLE


def _packed_plans(pairs: Counts, row_of: Counts, source: Counts, target: Counts, shape: Shape) -> Iterator[Plan]:
    """Yield the batches of pairs with known rows."""
    if not len(pairs):
        return
    order = np.argsort(row_of, kind="stable")
    row_of, pairs = row_of[order], pairs[order]
    source_starts, _ = _sentence_starts(row_of, source[pairs])
    target_starts, sentences = _sentence_starts(row_of, target[pairs])
    cuts = np.searchsorted(row_of, np.arange(0, int(row_of[-1]) + 1, shape.rows)[1:])
    parts = [np.split(array, cuts) for array in (pairs, row_of % shape.rows, source_starts, target_starts, sentences)]
    yield from (Plan(shape, *part) for part in zip(*parts, strict=True))


def _fill_rows(source: Counts, target: Counts, needs: NDArray[np.bool_], shape: Shape) -> tuple[Counts, int]:
    """Return the row of every pair (-1: none), and the number of rows.

    Pairs are placed from the longest to the shortest, each into the row that it fills best. Only pairs that need this
    shape open a new row; other pairs do so only if the last batch has empty rows.
    """
    longest = np.maximum(source, target)
    order = np.argsort(-(longest + needs * longest.max(initial=0)), kind="stable")
    rows, row_of = _OpenRows(shape), [-1] * len(order)
    wanted = (order.tolist(), source[order].tolist(), target[order].tolist(), needs[order].tolist())
    for pair, length, width, opens in zip(*wanted, strict=True):
        row_of[pair] = rows.place(length, width, opens or rows.number % shape.rows > 0)
    return np.array(row_of, dtype=np.int64), rows.number


class _OpenRows:
    """Rows indexed by their free space on both sides, so that a search does not depend on the number of rows.

    Bit `source_space` of `space_bits[target_space]` is set if a row has that much space on either side.
    """

    def __init__(self, shape: Shape) -> None:
        self.number = 0
        self.size = shape.source, shape.target
        self.space_bits = [0] * (shape.target + 1)
        self.rows_by_space: dict[tuple[int, int], list[int]] = {}

    def place(self, length: int, width: int, opens: bool) -> int:
        """Put a pair into the row with the least sufficient space, else into a new row, or return -1."""
        for target_space in range(width, len(self.space_bits)):
            fitting = self.space_bits[target_space] >> length
            if fitting:
                source_space = length + (fitting & -fitting).bit_length() - 1  # the lowest bit
                rows = self.rows_by_space[source_space, target_space]
                row = rows.pop()
                if not rows:
                    self.space_bits[target_space] ^= 1 << source_space
                self._add(row, source_space - length, target_space - width)
                return row
        if not opens:
            return -1
        self._add(self.number, self.size[0] - length, self.size[1] - width)
        self.number += 1
        return self.number - 1

    def _add(self, row: int, source_space: int, target_space: int) -> None:
        rows = self.rows_by_space.setdefault((source_space, target_space), [])
        if not rows:
            self.space_bits[target_space] |= 1 << source_space
        rows.append(row)


def _sentence_starts(row_of: Counts, lengths: Counts) -> tuple[Counts, Counts]:
    """Return the start of each sentence in its row, and its number in the row; rows are in order."""
    starts = np.cumsum(lengths) - lengths
    is_first = np.concatenate(([True], row_of[1:] != row_of[:-1]))
    first_at = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    return starts - starts[first_at], np.arange(len(row_of)) - first_at + 1


def _one_sentence_a_row(shape: Shape, pairs: Counts) -> Iterator[Plan]:
    """Yield batches of the pairs, of which the last may have rows without a pair."""
    for start in range(0, len(pairs), shape.rows):
        own = pairs[start : start + shape.rows]
        zeros = np.zeros(len(own), dtype=np.int64)
        yield Plan(shape, own, np.arange(len(own)), zeros, zeros, zeros + 1)


def best_bounds(lengths: Counts, number: int) -> Counts:
    """Return at most `number` bucket lengths with the least padding, by dynamic programming."""
    values, counts = np.unique(lengths, return_counts=True)
    before = np.concatenate(([0], np.cumsum(counts)))  # number of shorter ones
    number = min(number, len(values))
    cost = np.full((number + 1, len(values) + 1), np.inf)
    cost[0, 0] = 0.0
    choice = np.zeros((number + 1, len(values) + 1), dtype=np.int64)
    for used in range(1, number + 1):
        for end in range(1, len(values) + 1):
            costs = cost[used - 1, :end] + values[end - 1] * (before[end] - before[:end])
            choice[used, end] = int(costs.argmin())
            cost[used, end] = costs[choice[used, end]]
    bounds, end = [], len(values)
    for used in range(number, 0, -1):
        bounds.append(int(values[end - 1]))
        end = int(choice[used, end])
    return np.array(bounds[::-1], dtype=np.int64)


def padding_waste(plans: Sequence[Plan], source: Counts, target: Counts) -> float:
    """Return the share of padding among all tokens of the batches."""
    num_slots = sum(plan.shape.tokens for plan in plans)
    num_tokens = sum(int(source[plan.pairs].sum() + target[plan.pairs].sum()) for plan in plans)
    return 1.0 - num_tokens / num_slots if num_slots else 0.0
