"""The wrong rules that a sheet tells apart: calculated by the rules of the marker, at the rounding of the sheet.

A cell tells a wrong rule apart if no rounding of the lines above it can lead from the right rule to its digits, so that
the marker reports an error there.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from clearhead.check.compare import compare
from clearhead.check.comparison import SheetComparison, SheetInput
from clearhead.check.graph import Graph, fetch_from
from clearhead.check.misconceptions import variants
from clearhead.check.statement import Statement
from clearhead.check.style import Style
from clearhead.check.wrong_rule import Site
from clearhead.worksheet.arrays import Array, Mask
from clearhead.worksheet.worksheet import Worksheet

_SAME = 1e-9
_SLACK = 1e-6  # of a unit: float64 must not decide a tie, because its last digit depends on the processor


@dataclass(frozen=True)
class ToldApart:
    """A wrong rule that gives other digits, and the line where it shows first.

    `num_cells` is the number of cells to fill in whose digits differ.
    """

    misconception: str
    symbol: str
    where: str
    num_cells: int


@dataclass(frozen=True, eq=False)
class WrongRuleLine:
    """A line calculated by a wrong rule from the right lines above it.

    `changes` marks the cells that the rule changes at all, and `differs` those that show it at the sheet's rounding.
    """

    index: int
    misconception: str
    value: Array
    changes: Mask
    differs: Mask


def wrong_lines(exact: Worksheet, key: Worksheet, indices: Collection[int]) -> list[WrongRuleLine]:
    """Calculate every line in `indices` by every wrong rule; `exact` is the problem solved in full precision."""
    graph, rounding = Graph(exact), key.rounding
    key_graph = Graph(key)
    values = [np.asarray(record.value) for record in key_graph.records]
    fetch = fetch_from(values, key_graph.givens)
    unit, lines = 10.0**-rounding.shown_decimals, []
    margin = unit * (1.0 + _SLACK)
    with np.errstate(all="ignore"):
        images = _compared(graph, [rounding.rounded(value) for value in values], rounding.shown_decimals).images[True]
        for index in sorted(indices):
            image, right = images.image(index), key_graph.work(index, fetch)
            for variant in variants(Site(key_graph, index, fetch), values[index].shape):
                changes = ~_is_same(variant.value, right)
                if not changes.any():  # not wrong here: KQᵀ of a symmetric product, for example
                    continue
                digits = rounding.rounded(variant.value)
                is_finite = np.isfinite(digits)
                outside = (digits - margin > image.high) | (digits + margin < image.low)
                differs = np.where(is_finite, outside, digits != values[index])
                lines.append(
                    WrongRuleLine(index, variant.name, digits, changes, np.asarray(differs, dtype=bool) & changes)
                )
    return lines


def _is_same(first: Array, second: Array) -> Mask:
    return np.asarray((first == second) | (np.abs(first - second) < _SAME))


def _compared(graph: Graph, values: list[Array], decimals: int) -> SheetComparison:
    """Compare the key as a working in which every line is written to the decimals of the sheet."""
    style, statements = Style(decimals=decimals), {}
    for index, value in enumerate(values):
        number = np.asarray(value, dtype=np.float64)
        unit, nothing = style.unit(number), np.zeros(number.shape, dtype=bool)
        texts = tuple(tuple("" for _ in row) for row in number)
        statements[index] = [Statement(index, index, number, unit, unit, nothing, texts, style, nothing)]
    return compare(SheetInput(graph, statements))
