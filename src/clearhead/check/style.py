"""How precisely a line was written: to so many decimals, or to so many significant figures.

A whole number does not show its unit: "0" beside 0.99 means 0.00, "12" beside 3.4 and 0.56 is 12 to two figures.
The numbers around it tell.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from clearhead.check.number import Written
from clearhead.worksheet.arrays import Array


@dataclass(frozen=True)
class Style:
    """The precision of a line; where its numbers allow both readings, both are kept and the coarser one counts."""

    decimals: int | None = None
    figures: int | None = None
    zero: int = 2  # the decimals of a 0 where figures are counted: a 0 has none

    def unit(self, values: Array) -> Array:
        """Return the unit of numbers of this size in this style."""
        units = np.zeros(np.shape(values))
        if self.decimals is not None:
            units = np.maximum(units, 10.0**-self.decimals)
        if self.figures is not None:
            size = np.abs(np.where(np.isfinite(values), values, 0.0))
            exponent = np.floor(np.log10(np.where(size > 0, size, 1.0)))
            by_figures = np.where(size > 0, 10.0 ** (exponent + 1 - self.figures), 10.0**-self.zero)
            units = np.maximum(units, by_figures)
        return units


@dataclass(frozen=True)
class Evidence:
    """What the cells of one line that are not whole say about its precision."""

    decimals: Counter[int]
    figures: Counter[int]

    @property
    def is_by_decimals(self) -> bool:
        """Whether only decimals can have been counted."""
        return len(self.decimals) == 1 and len(self.figures) > 1

    @property
    def is_by_figures(self) -> bool:
        """Whether only significant figures can have been counted."""
        return len(self.figures) == 1 and len(self.decimals) > 1


def evidence(cells: Iterable[Written]) -> Evidence:
    """Collect decimals and figures of the numbers that show their unit."""
    decimals: Counter[int] = Counter()
    figures: Counter[int] = Counter()
    for cell in cells:
        if cell.unit > 0 and not cell.is_whole and cell.figures is not None:
            decimals[round(-np.log10(cell.unit))] += 1
            if cell.value != 0:
                figures[cell.figures] += 1
    return Evidence(decimals, figures)


def sheet_style(lines: Sequence[Evidence]) -> str:
    """Say whether the sheet as a whole counts "decimals" or "figures"; "" if it does not tell."""
    by_decimals = sum(line.is_by_decimals for line in lines)
    by_figures = sum(line.is_by_figures for line in lines)
    if by_decimals and not by_figures:
        return "decimals"
    return "figures" if by_figures and not by_decimals else ""


def line_style(line: Evidence, sheet: str, cells: Sequence[Written], around: Sequence[Evidence]) -> Style:
    """Return the style of a line, by its own numbers, then by the sheet's."""
    if not line.decimals:
        return _whole_style(cells, sheet, around)
    commonest = line.decimals.most_common(1)[0][0]
    most_figures = max(line.figures, default=None)
    if line.is_by_decimals or (sheet == "decimals" and len(line.decimals) == 1):
        return Style(decimals=commonest)
    if line.is_by_figures or (sheet == "figures" and len(line.figures) == 1):
        return Style(figures=most_figures, zero=commonest)
    return Style(decimals=commonest if len(line.decimals) == 1 else max(line.decimals), figures=most_figures, zero=commonest)


def _whole_style(cells: Sequence[Written], sheet: str, around: Sequence[Evidence]) -> Style:
    """A line of whole numbers: 0 and 1 stand for 0.00 and 1.00, others for themselves, or for the sheet's figures."""
    seen = {abs(cell.value) for cell in cells if cell.is_whole}
    if sheet == "figures":
        return Style(figures=max((max(line.figures) for line in around if line.figures), default=1))
    if seen <= {0.0, 1.0}:
        coarsest = min((min(line.decimals) for line in around if line.is_by_decimals), default=2)
        return Style(decimals=min(2, max(coarsest, 1)))
    return Style(decimals=0)
