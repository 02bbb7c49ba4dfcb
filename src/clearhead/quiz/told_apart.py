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
class WrongLine:
    """A line calculated by a wrong rule from the right lines above it; `differs` marks the cells that show it."""

    index: int
    misconception: str
    value: Array
    differs: Mask


def wrong_lines(exact: Worksheet, key: Worksheet, indices: Collection[int]) -> list[WrongLine]:
    """Calculate every line in `indices` by every wrong rule; `exact` is the problem solved in full precision."""
    graph, rounding = Graph(exact), key.rounding
    values = [np.asarray(record.value) for record in Graph(key).records]
    fetch = fetch_from(values, Graph(key).givens)
    lines = []
    with np.errstate(all="ignore"):
        images = _compared(graph, values, rounding.shown_decimals).images[True]
        site_graph = Graph(key)
        fetch = fetch_from(values, site_graph.givens)
        for index in sorted(indices):
            unit = 10.0**-rounding.shown_decimals
            image = images.image(index)
            for variant in variants(Site(site_graph, index, fetch), values[index].shape):
                written = rounding.rounded(variant.value)
                is_finite = np.isfinite(written)
                outside = (written - unit > image.high) | (written + unit < image.low)
                differs = np.where(is_finite, outside, written != values[index])
                lines.append(WrongLine(index, variant.name, written, np.asarray(differs, dtype=bool)))
    return lines


def _compared(graph: Graph, values: list[Array], decimals: int) -> SheetComparison:
    """Compare the key as a working in which every line is written to the decimals of the sheet."""
    style, statements = Style(decimals=decimals), {}
    for index, value in enumerate(values):
        number = np.asarray(value, dtype=np.float64)
        unit, nothing = style.unit(number), np.zeros(number.shape, dtype=bool)
        texts = tuple(tuple("" for _ in row) for row in number)
        statements[index] = [Statement(index, index, number, unit, unit, nothing, texts, style, nothing)]
    return compare(SheetInput(graph, statements))
