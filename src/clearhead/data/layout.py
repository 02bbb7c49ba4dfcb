"""Where each sentence goes in a batch: packed rows of one shape, or one sentence a row in at most eight shapes.

A compiled model is compiled once for every shape, so that shapes are few; a padded token costs as much as a real one,
so that rows are full. A layout sees lengths only; which pairs it is given, and in what order, is settled before it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
MAX_SHAPES = 8
_MULTIPLE = 8  # GPU kernels move eight numbers at once
_ROW = 64  # tokens: attention in longer rows costs more than the padding that it saves (measured)
_WINDOW = 4096  # pairs that are packed together: more would fill a little better and take longer


@dataclass(frozen=True)
class Shape:
    """The shape of a batch: so many rows, of so many tokens on each side (0: the task has no such side)."""

    rows: int
    source: int
    target: int

    @property
    def tokens(self) -> int:
        """Tokens of both sides, padding included."""
        return self.rows * (self.source + self.target)

    def __str__(self) -> str:
        return f"{self.rows} × ({self.source} + {self.target})"


@dataclass(frozen=True, eq=False)
class Plan:
    """A batch to be filled: which pairs, and for each its row and where in the row it starts on either side."""

    shape: Shape
    pairs: Counts
    rows: Counts
    source_starts: Counts
    target_starts: Counts
    sentences: Counts  # number of the sentence in its row, from 1


class Layout(ABC):
    """How pairs of given lengths become batches."""

    shapes: tuple[Shape, ...]
    is_packed: bool

    @abstractmethod
    def plan(self, source: Counts, target: Counts, random: np.random.Generator) -> list[Plan]:
        """Put every pair, by its lengths on both sides, into one batch; the batches are in random order."""


class PackedLayout(Layout):
    """Several sentences in each row: rows of 64 tokens, and wider ones only for what does not fit."""

    is_packed = True

    def __init__(self, source: Counts, target: Counts, batch_tokens: int) -> None:
        self.shapes = tuple(_packed_shapes(source, target, batch_tokens))

    def plan(self, source: Counts, target: Counts, random: np.random.Generator) -> list[Plan]:
        """Fill the widest rows with what needs them, their gaps and then narrower rows with the rest."""
        plans: list[Plan] = []
        left = np.arange(len(source))
        for number in reversed(range(len(self.shapes))):
            shape = self.shapes[number]
            needs = np.ones(len(left), dtype=bool)
            if number:
                narrower = self.shapes[number - 1]
                needs = (source[left] > narrower.source) | (target[left] > narrower.target)
            row_of, rows = _first_fit(source[left], target[left], needs, shape)
            is_placed = row_of >= 0
            plans += _packed_plans(left[is_placed], random.permutation(rows)[row_of[is_placed]], source, target, shape)
            left = left[~is_placed]
        return [plans[at] for at in random.permutation(len(plans))]


class BucketedLayout(Layout):
    """One sentence a row; pairs of like lengths together."""

    is_packed = False

    def __init__(self, source: Counts, target: Counts, batch_tokens: int) -> None:
        longest = np.maximum(source, target)
        self.bounds = best_bounds(longest, MAX_SHAPES)
        shapes, below = [], 0
        for bound in self.bounds:
            is_in = (longest > below) & (longest <= bound)
            widths = tuple(int(side[is_in].max(initial=0)) for side in (source, target))
            shapes.append(Shape(max(1, batch_tokens // max(widths[1] or widths[0], 1)), *widths))
            below = bound
        self.shapes = tuple(shapes)

    def plan(self, source: Counts, target: Counts, random: np.random.Generator) -> list[Plan]:
        """Cut every bucket into batches; what is left over goes into the next wider bucket."""
        bucket_of = np.searchsorted(self.bounds, np.maximum(source, target))
        plans, left = [], np.empty(0, dtype=np.int64)
        for number, shape in enumerate(self.shapes):
            fits = (source[left] <= shape.source) & (target[left] <= shape.target)
            here = np.concatenate((np.flatnonzero(bucket_of == number), left[fits]))
            left = left[~fits]
            here = random.permutation(here)
            is_last = number == len(self.shapes) - 1
            full = len(here) // shape.rows * shape.rows
            plans += [_one_a_row(shape, here[at : at + shape.rows]) for at in range(0, full, shape.rows)]
            left = np.concatenate((left, here[full:]))
            if is_last:
                plans += self._leftovers(left, source, target)
        return [plans[at] for at in random.permutation(len(plans))]

    def _leftovers(self, left: Counts, source: Counts, target: Counts) -> Iterator[Plan]:
        """Yield batches that are not full: each in the smallest shape that holds its pairs."""
        while len(left):
            for shape in self.shapes:
                fits = (source[left] <= shape.source) & (target[left] <= shape.target)
                if fits.sum() >= min(len(left), shape.rows) or shape is self.shapes[-1]:
                    taken = np.flatnonzero(fits)[: shape.rows]
                    yield _one_a_row(shape, left[taken])
                    left = np.delete(left, taken)
                    break


def _packed_shapes(source: Counts, target: Counts, batch_tokens: int) -> Iterator[Shape]:
    """Yield rows of 64, 128, … tokens on the longer side, until every pair fits; the other side by the text's ratio."""
    totals = float(source.sum()), float(target.sum())
    width, fits = _ROW, np.zeros(len(source), dtype=bool)
    while True:
        widths = [_rounded(width * total / max(*totals, 1.0)) for total in totals]
        fits_now = (source <= widths[0]) & (target <= widths[1])
        if (fits_now & ~fits).any() or fits_now.all():
            yield Shape(max(1, batch_tokens // (widths[1] or widths[0])), *widths)
        if fits_now.all():
            return
        width, fits = 2 * width, fits_now


def _rounded(width: float) -> int:
    return -(-int(width) // _MULTIPLE) * _MULTIPLE


def _packed_plans(pairs: Counts, row_of: Counts, source: Counts, target: Counts, shape: Shape) -> Iterator[Plan]:
    """Yield the batches of pairs whose rows are settled."""
    if not len(pairs):
        return
    order = np.argsort(row_of, kind="stable")
    row_of, pairs = row_of[order], pairs[order]
    source_starts, _ = _starts(row_of, source[pairs])
    target_starts, sentences = _starts(row_of, target[pairs])
    cuts = np.searchsorted(row_of, np.arange(0, int(row_of[-1]) + 1, shape.rows)[1:])
    parts = [np.split(each, cuts) for each in (pairs, row_of % shape.rows, source_starts, target_starts, sentences)]
    yield from (Plan(shape, *part) for part in zip(*parts, strict=True))


def _first_fit(source: Counts, target: Counts, needs: NDArray[np.bool_], shape: Shape) -> tuple[Counts, int]:
    """Return the row of every pair (-1: none), and how many rows there are; windows of pairs share no row."""
    row_of, rows = np.empty(len(source), dtype=np.int64), 0
    for start in range(0, len(source), _WINDOW):
        part = slice(start, start + _WINDOW)
        found, used = _fill_window(source[part], target[part], needs[part], shape)
        row_of[part] = np.where(found >= 0, found + rows, -1)
        rows += used
    return row_of, rows


def _fill_window(source: Counts, target: Counts, needs: NDArray[np.bool_], shape: Shape) -> tuple[Counts, int]:
    """Put the longest pairs first, each into the first row with room on both sides; those that need it open rows."""
    share = np.maximum(source / max(shape.source, 1), target / max(shape.target, 1)) + needs
    order = np.argsort(-share, kind="stable")
    room = np.empty((2, int(needs.sum())), dtype=np.int64)  # what is left on either side of each row
    row_of, rows, first = np.full(len(order), -1, dtype=np.int64), 0, 0
    least = int(source.min()), int(target.min())
    wanted = (order.tolist(), source[order].tolist(), target[order].tolist(), needs[order].tolist())
    for pair, length, width, opens in zip(*wanted, strict=True):
        fits = (room[0, first:rows] >= length) & (room[1, first:rows] >= width)
        row = first + int(fits.argmax()) if rows > first else rows
        if row == rows or not fits[row - first]:
            if not opens:
                if rows == first:
                    break  # no row has any room
                continue
            row = rows
            room[0, row], room[1, row] = shape.source, shape.target
            rows += 1
        room[0, row] -= length
        room[1, row] -= width
        row_of[pair] = row
        while first < rows and (room[0, first] < least[0] or room[1, first] < least[1]):
            first += 1  # full rows at the front need no second look
    return row_of, rows


def _starts(row_of: Counts, lengths: Counts) -> tuple[Counts, Counts]:
    """Return where each sentence starts in its row, and which of the row it is; rows are in order."""
    begun = np.concatenate(([0], np.cumsum(lengths)[:-1])) if len(lengths) else np.empty(0, dtype=np.int64)
    is_first = np.concatenate(([True], row_of[1:] != row_of[:-1])) if len(row_of) else np.empty(0, dtype=bool)
    first_at = np.flatnonzero(is_first)[np.cumsum(is_first) - 1] if len(row_of) else np.empty(0, dtype=np.int64)
    return begun - begun[first_at], np.arange(len(row_of)) - first_at + 1


def _one_a_row(shape: Shape, pairs: Counts) -> Plan:
    zeros = np.zeros(len(pairs), dtype=np.int64)
    return Plan(shape, pairs, np.arange(len(pairs)), zeros, zeros, zeros + 1)


def best_bounds(lengths: Counts, number: int) -> Counts:
    """Return at most `number` upper bounds of length that pad the least, by dynamic programming."""
    values, counts = np.unique(lengths, return_counts=True)
    before = np.concatenate(([0], np.cumsum(counts)))  # how many are shorter
    number = min(number, len(values))
    cost = np.full((number + 1, len(values) + 1), np.inf)
    cost[0, 0] = 0.0
    choice = np.zeros((number + 1, len(values) + 1), dtype=np.int64)
    for used in range(1, number + 1):
        for end in range(1, len(values) + 1):
            tried = cost[used - 1, :end] + values[end - 1] * (before[end] - before[:end])
            choice[used, end] = int(tried.argmin())
            cost[used, end] = tried[choice[used, end]]
    bounds, end = [], len(values)
    for used in range(number, 0, -1):
        bounds.append(int(values[end - 1]))
        end = int(choice[used, end])
    return np.array(bounds[::-1], dtype=np.int64)


def padding_waste(plans: Sequence[Plan], source: Counts, target: Counts) -> float:
    """Return the share of all tokens of the batches that are padding."""
    given = sum(plan.shape.tokens for plan in plans)
    real = sum(int(source[plan.pairs].sum() + target[plan.pairs].sum()) for plan in plans)
    return 1.0 - real / given if given else 0.0
