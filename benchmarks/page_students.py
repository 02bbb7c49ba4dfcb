"""Students at the page of a practice sheet: faultless ones who round in ten ways, and ones with a single slip.

They fill in the blank cells, and use the printed ones as they are printed. See students.py for how they work.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from clearhead.quiz import QuizSheet
from clearhead.quiz.page.sheet_data import script_data
from clearhead.worksheet.rounding import read_shown
from student_image import image
from student_problems import Exercise
from student_rounding import Constants, Precision
from students import MOVES, Deeds, Desk, MeaninglessError, Style, Written, random_style, work

Texts = list[list[list[str]]]
ROOT = Precision(2, None)
SHORT = Constants(euler=2.72, pi=3.14)


def ten_ways(decimals: int, seed: int) -> Mapping[str, Style]:
    """Return ten ways of rounding on a sheet that asks for a number of decimals."""
    plain = Style(Precision(decimals, None), Precision(decimals, None))
    more, figures = Precision(decimals + 1, None), Precision(None, decimals + 2)
    cut = Precision(decimals, None, "cut")
    even = Precision(decimals, None, "half-even")
    return {
        "rounded, rounded numbers used": plain,
        "rounded, full numbers used": replace(plain, carries="full"),
        "rounded, one more digit used": replace(plain, carries="guard"),
        "rounded half to even": replace(plain, precision=even, finest=even),
        "cut, cut numbers used": replace(plain, precision=cut, finest=cut),
        "one decimal more than asked": replace(plain, precision=more, finest=more, drops_zeros=0.3),
        "significant figures": replace(plain, precision=figures, finest=figures, carries="mixed"),
        "inner numbers and constants shortened": replace(plain, inner=0.9, constants=SHORT, root=ROOT),
        "lines and rows left out": replace(plain, skips=0.4, skips_rows=0.3, keeps_skipped="mixed", carries="mixed"),
        "any habit": random_style(seed),
    }


@dataclass(frozen=True, eq=False)
class SheetAtDesk:
    """A sheet with the data of its page, and the cells that are printed (None: to fill in), tokens as rows."""

    sheet: QuizSheet
    data: dict[str, Any]

    @property
    def shown(self) -> list[list[list[str | None]]]:
        """The printed cells of every line."""
        return [record["shown"] for record in self.data["records"]]


def at_desk(sheet: QuizSheet) -> SheetAtDesk:
    """Return a sheet as students get it."""
    return SheetAtDesk(sheet, script_data(sheet))


def fill_in(place: SheetAtDesk, style: Style, seed: int, deeds: Deeds | None = None) -> Desk:
    """Work a sheet; printed cells are used as they are printed."""
    deeds = deeds or Deeds()
    exercise = Exercise(dict(place.sheet.problem), place.sheet.worksheet)

    def spoil(index: int) -> Any:
        def use_printed(line: Written) -> None:
            for i, row in enumerate(place.shown[index]):
                for j, text in enumerate(row):
                    if text is not None:
                        number = float(read_shown(text))
                        line.own[i, j] = line.source[i, j] = number
                        line.texts[i, j] = ""
                        line.is_literal[i, j] = True
            if index in deeds.spoilt:
                deeds.spoilt[index](line)

        return use_printed

    everywhere = {index: spoil(index) for index in range(len(place.shown))}
    return work(exercise, style, seed, replace(deeds, spoilt=everywhere))


def faultless_at(place: SheetAtDesk, style: Style, seed: int) -> Desk | None:
    """Return the work of a student without a fault; None if rounding changes more than digits on this sheet."""
    try:
        return fill_in(place, style, seed)
    except MeaninglessError:
        return None


def typed_texts(desk: Desk) -> Texts:
    """Return what a student typed, as the script takes it."""
    return [[[str(text) for text in row] for row in line.texts] for line in desk.lines]


@dataclass(frozen=True)
class Slip:
    """A number that was typed wrongly and used: where, by how many units, and whether no rounding explains it."""

    index: int
    place: tuple[int, int]
    step: str
    units: int
    is_outside: bool


def slip(place: SheetAtDesk, style: Style, seed: int) -> tuple[Desk, Slip] | None:
    """Return the work of a student who types one number 2 to 30 units off and uses it; None if no cell allows that."""
    draw = random.Random(f"slip {seed}")
    right = fill_in(place, style, seed)
    candidates = [
        (index, cell)
        for index, line in enumerate(right.lines)
        for cell in np.ndindex(line.full.shape)
        if line.texts[cell] and line.record.step.name not in MOVES and np.isfinite(line.full[cell])
    ]
    if not candidates:
        return None
    index, cell = draw.choice(candidates)
    units, sign = draw.choice([2, 3, 5, 9, 30]), draw.choice([-1, 1])

    def wrong(line: Written) -> None:
        shift = Decimal(sign * units) * Decimal(repr(float(line.units[cell])))
        number = Decimal(repr(float(line.values[cell]))) + shift
        digits = max(0, -int(Decimal(repr(float(line.units[cell]))).normalize().as_tuple().exponent))
        line.texts[cell] = f"{number:.{digits}f}"
        line.values[cell] = line.own[cell] = line.source[cell] = float(line.texts[cell])

    desk = fill_in(place, style, seed, Deeds(spoilt={index: wrong}, present=frozenset({index})))
    line = desk.lines[index]
    if not line.texts[cell]:
        return None
    low, high = image(desk, index)[1]
    unit = float(line.units[cell])
    gap = max(low[cell] - line.values[cell], line.values[cell] - high[cell])
    return desk, Slip(index, cell, line.record.step.name, units, bool(gap > unit))
