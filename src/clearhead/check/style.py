"""The precision of a written line, as a number of decimals or of significant figures.

An integer does not show its unit: "0" beside 0.99 means 0.00, "12" beside 3.4 and 0.56 is 12 to two figures.
Its unit is inferred from the numbers around it.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clearhead.exercises.check.read.number import WrittenNumber
from clearhead.worksheet.arrays import Array

_DECISIVE = 2  # numbers needed to decide: a slip may have changed one of a line


@dataclass(frozen=True)
class Style:
    """The precision of a line; if its numbers allow decimals and figures, both are stored and the coarser is used."""

    decimals: int | None = None
    figures: int | None = None
    zero: int = 2  # the decimals of a 0 where figures are counted, because a 0 has no figures

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

    def unit_inwards(self, values: Array) -> Array:
        """Return the unit towards 0: with figures, the neighbours of a power of ten are ten times finer there."""
        units = self.unit(values)
        if self.figures is None:
            return units
        size = np.abs(np.where(np.isfinite(values) & (values != 0), values, 3.0))
        is_power = np.abs(np.log10(size) - np.round(np.log10(size))) < 1e-9
        by_decimals = 0.0 if self.decimals is None else 10.0**-self.decimals
        return np.where(is_power, np.maximum(units / 10.0, by_decimals), units)


@dataclass(frozen=True)
class Evidence:
    """The precision shown by the cells of one line that are not integers."""

    decimals: Counter[int]
    figures: Counter[int]
    is_telling: bool = True  # whether any of them was rounded; exact numbers show no precision
    whole_figures: int = 0  # the figures of most integers that are not exact

    @property
    def is_by_decimals(self) -> bool:
        """Whether only decimals can have been counted."""
        return _num_apart(self.decimals) <= _num_apart(self.figures) - _DECISIVE

    @property
    def is_by_figures(self) -> bool:
        """Whether only significant figures can have been counted."""
        return _num_apart(self.figures) <= _num_apart(self.decimals) - _DECISIVE


def _num_apart(counted: Counter[int]) -> int:
    """Return how many differ from the most common one."""
    return counted.total() - max(counted.values(), default=0)


def evidence(cells: Sequence[WrittenNumber], truths: Sequence[float]) -> Evidence:
    """Count the decimals and figures of the numbers that show their unit; exact numbers are separate."""
    decimals: Counter[int] = Counter()
    figures: Counter[int] = Counter()
    shown = [(cell, true) for cell, true in zip(cells, truths, strict=True) if cell.unit > 0 and not cell.is_whole]
    telling = [cell for cell, true in shown if abs(cell.value - true) > 1e-9 * max(1.0, abs(true))]
    for cell in telling or [cell for cell, _ in shown]:
        if cell.figures is not None:
            decimals[round(-math.log10(cell.unit))] += 1
            if cell.value != 0:
                figures[cell.figures] += 1
    wholes = [
        len(str(int(abs(cell.value))).rstrip("0"))
        for cell, true in zip(cells, truths, strict=True)
        if cell.is_whole and abs(cell.value - true) > 1e-9 * max(1.0, abs(true))
    ]
    return Evidence(decimals, figures, bool(telling), _commonest(Counter(wholes)) or 0)


def sheet_style(lines: Sequence[Evidence]) -> str:
    """Return whether the sheet uses "decimals" or "figures"; "" if that is unknown."""
    telling = [line for line in lines if line.is_telling]
    by_decimals = sum(line.is_by_decimals for line in telling)
    by_figures = sum(line.is_by_figures for line in telling)
    if by_decimals > 3 * by_figures:
        return "decimals"
    if by_figures > 3 * by_decimals:
        return "figures"
    # short lines decide nothing one by one, but all of them together can
    decimals = sum((line.decimals for line in telling), Counter[int]())
    together = Evidence(decimals, sum((line.figures for line in telling), Counter[int]()))
    return "decimals" if together.is_by_decimals and len(decimals) == 1 and not by_figures else ""


def line_style(line: Evidence, sheet: str, cells: Sequence[WrittenNumber], around: Sequence[Evidence]) -> Style:
    """Return the style of a line, from its own numbers or else from the sheet."""
    if not line.decimals:
        return _whole_style(line, cells, sheet, around)
    decimals, figures = _commonest(line.decimals), _commonest_figures(line, around)
    if line.is_by_decimals or (sheet == "decimals" and not line.is_by_figures):
        return Style(decimals=decimals)
    if line.is_by_figures or sheet == "figures":
        return Style(figures=figures, zero=decimals or 0)
    return Style(decimals=decimals, figures=figures, zero=decimals or 0)


def _commonest_figures(line: Evidence, around: Sequence[Evidence]) -> int | None:
    """Return the most frequent number of figures; of several, the one that is the most frequent in the sheet."""
    most = max(line.figures.values(), default=0)
    tied = [figures for figures, count in line.figures.items() if count == most]
    everywhere = sum((other.figures for other in around if other.is_telling), Counter[int]())
    return max(tied, key=lambda figures: (everywhere[figures], -figures), default=None)


def _commonest(counted: Counter[int]) -> int | None:
    """Return the most frequent count, the coarsest of several."""
    return max(counted, key=lambda value: (counted[value], -value), default=None)


def _whole_style(line: Evidence, cells: Sequence[WrittenNumber], sheet: str, around: Sequence[Evidence]) -> Style:
    """Return the style of a line of integers: 0 and 1 mean 0.00 and 1.00, others are exact or have their figures."""
    sizes = {abs(cell.value) for cell in cells if cell.is_whole}
    if sizes <= {0.0, 1.0}:
        coarsest = min((min(line_evidence.decimals) for line_evidence in around if line_evidence.decimals), default=2)
        one_figure = None if sheet == "decimals" else 1
        return Style(decimals=min(2, max(coarsest, 1)), figures=one_figure, zero=2)
    if sheet == "decimals":
        return Style(decimals=0)
    return Style(decimals=0, figures=line.whole_figures or None)
