"""Sheets with faults: slips of arithmetic, slips of the pen, and misconceptions, one or several on a sheet."""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from clearhead.steps import Record
from student_beliefs import ALSO, FORGOTTEN_LINES, RARE, Belief, Finder, beliefs
from student_image import image, large_cells, unit_of
from student_problems import Exercise
from students import (
    MOVES,
    Deeds,
    Desk,
    Inputs,
    MeaninglessError,
    Spoil,
    Style,
    Written,
    Wrong,
    digits_text,
    random_style,
    read_text,
    work,
)

PEN_SLIPS = ("digit changed", "digits swapped", "sign", "decimal slip", "two cells swapped", "rows and columns swapped")
SUM_SLIPS = ("product wrong", "term left out", "term with the wrong sign", "off by some units")


@dataclass(frozen=True)
class Fault:
    """One fault. `cells` (tokens as rows) are the cells that it spoils; `roots` are the lines that show it."""

    name: str
    is_misconception: bool
    index: int
    deeds: Deeds
    is_copied: bool = False  # only the written number is wrong: the work continued from the right one
    is_line_missing: bool = False
    variants: Mapping[int, int] = field(default_factory=dict)  # of a misconception: its index among those of a line

    @property
    def indices(self) -> tuple[int, ...]:
        """The lines in which it occurs: several if a student applies a misconception every time."""
        return tuple(self.variants) or (self.index,)

    @property
    def accepted_names(self) -> tuple[str, ...]:
        """The names that a marker may give it."""
        return (self.name, *ALSO.get(self.name, ()))


@dataclass(frozen=True)
class Spoilt:
    """A sheet with faults: where each shows, and whether it is large."""

    desk: Desk
    faults: tuple[Fault, ...]
    cells: tuple[dict[int, list[tuple[int, int]]], ...]  # for each fault: the spoilt cells of each line that shows it
    is_large: tuple[bool, ...]
    names: tuple[tuple[str, ...], ...]  # the names that a marker may give each fault


# Slips


def random_slip(desk: Desk, draw: random.Random, used: frozenset[int] = frozenset()) -> Fault | None:
    """Draw a slip in a written line of a faultless sheet."""
    written_lines = [
        number
        for number, line in enumerate(desk.lines)
        if line.is_written and number not in used and line.record.step.name not in ("choose", "one_hot")
    ]
    if not written_lines:
        return None
    index = draw.choice(written_lines)
    if draw.random() < 0.5 or desk.lines[index].record.step.name in MOVES:  # copying involves no sums
        return _pen_slip(desk, index, draw)
    return _sum_slip(desk, index, draw)


def _places(line: Written) -> list[tuple[int, int]]:
    return [place for place in np.ndindex(line.texts.shape) if line.texts[place] and np.isfinite(line.values[place])]


def products(record: Record, inputs: Inputs, row: int, column: int) -> list[float]:
    """Return the products that add up to a cell."""
    match record.step.name:
        case "project":
            return list(inputs["x"][row] * inputs["w"][:, column])
        case "transform":
            return list(inputs["x"][row] * inputs["w"][column])
        case "score":
            return list(inputs["q"][row] * inputs["k"][column])
        case "mix":
            return list(inputs["weights"][row] * inputs["v"][:, column])
        case "add":
            both = np.broadcast_arrays(inputs["a"], inputs["b"])
            return [float(part[row, column]) for part in both]
        case _:
            return []


def _sum_slip(desk: Desk, index: int, draw: random.Random) -> Fault | None:
    line = desk.lines[index]
    place = draw.choice(_places(line) or [(0, 0)])
    terms = [term for term in products(line.record, desk.inputs(index), *place) if term and math.isfinite(term)]
    kinds = SUM_SLIPS[:3] if terms else SUM_SLIPS[3:]
    kind = draw.choice(kinds)
    if kind == "product wrong":
        term = draw.choice(terms)
        digits = f"{abs(term):.4f}".rstrip("0").rstrip(".")
        integer_digits, _, decimal_digits = digits.partition(".")
        power = draw.choice([*range(len(integer_digits)), *(-1 - k for k in range(len(decimal_digits)))])
        delta = draw.choice([-1, 1]) * draw.randint(1, 9) * 10.0**power
    elif kind == "term left out":
        delta = -draw.choice(terms)
    elif kind == "term with the wrong sign":
        delta = -2 * draw.choice(terms)
    else:
        delta = draw.choice([-1, 1]) * draw.randint(2, 99) * float(line.units[place] or 0.1)

    def wrong(desk: Desk, index: int, inputs: Inputs, right: Any) -> Any:
        changed = right.copy()
        changed[place] += delta
        return changed

    return Fault(kind, False, index, Deeds(wrong={index: wrong}, present=frozenset({index})))


def _pen_slip(desk: Desk, index: int, draw: random.Random) -> Fault | None:
    line = desk.lines[index]
    kinds = [kind for kind in PEN_SLIPS if kind != PEN_SLIPS[5] or line.texts.shape[0] == line.texts.shape[1] > 1]
    kind, is_copied = draw.choice(kinds), draw.random() < 0.5
    token = draw.random()  # the slip is drawn with this, so that it is the same on every sheet

    def spoil(line: Written) -> None:
        _spoil(line, kind, random.Random(token), is_copied, desk.style)

    return Fault(kind, False, index, Deeds(spoilt={index: spoil}, present=frozenset({index})), is_copied)


def _spoil(line: Written, kind: str, draw: random.Random, is_copied: bool, style: Style) -> None:
    places = _places(line)
    if not places:
        return
    changes: dict[tuple[int, int], tuple[int, int]] = {}
    if kind == "rows and columns swapped":
        changes = {place: (place[1], place[0]) for place in np.ndindex(line.texts.shape)}
    elif kind == "two cells swapped":
        row = draw.choice(places)[0]
        there = [place for place in places if place[0] == row]
        if len(there) > 1:
            one, other = draw.sample(there, 2)
            changes = {one: other, other: one}
    if changes:
        texts, values, units, own = (part.copy() for part in (line.texts, line.values, line.units, line.own))
        for place, other in changes.items():
            line.texts[place], line.values[place], line.units[place] = texts[other], values[other], units[other]
            if not is_copied:
                line.own[place] = line.source[place] = own[other]
        return
    place = draw.choice(places)
    text = _slipped(line.texts[place], kind, draw, style, line, place)
    line.texts[place], line.values[place] = text, read_text(text)
    if not is_copied:
        line.own[place] = line.source[place] = line.values[place]
        line.is_literal[place] = True


def _slipped(text: str, kind: str, draw: random.Random, style: Style, line: Written, place: tuple[int, int]) -> str:
    end = next((number for number, mark in enumerate(text) if mark in "e×\\*%"), len(text))
    digits = [number for number in range(end) if text[number].isdigit()]
    if kind == "digit changed":
        at = draw.choice(digits)
        other = draw.choice([digit for digit in "0123456789" if digit != text[at]])
        return text[:at] + other + text[at + 1 :]
    if kind == "digits swapped":
        pairs = [(a, b) for a, b in pairwise(digits) if text[a] != text[b]]
        if not pairs:
            return text
        a, b = draw.choice(pairs)
        swapped = list(text)
        swapped[a], swapped[b] = swapped[b], swapped[a]
        return "".join(swapped)
    if kind == "sign":
        return text[1:] if text[0] in "-−" else f"{style.minus}{text}"
    rounded = line.precision.kept(float(line.values[place]))
    moved = rounded.scaleb(draw.choice([-1, 1]))
    return digits_text(moved, replace(style, percent=False, drops_zeros=0.0), draw)


def random_belief(desk: Desk, draw: random.Random, used: frozenset[int] = frozenset()) -> Fault | None:
    """Draw a misconception that applies; those that rarely apply are drawn more often where they do."""
    beliefs_by_name: dict[str, list[Belief]] = {}
    for belief in beliefs(desk):
        if belief.index not in used and not belief.absent & used:
            beliefs_by_name.setdefault(belief.name, []).append(belief)
    if not beliefs_by_name:
        return None
    names = sorted(beliefs_by_name)
    name = draw.choices(names, [8 if belief_name in RARE else 1 for belief_name in names])[0]
    held = beliefs_by_name[name] if draw.random() < 0.3 else [draw.choice(beliefs_by_name[name])]
    held = list({belief.index: belief for belief in held}.values())
    is_missing = name in FORGOTTEN_LINES and draw.random() < 0.25
    lines = frozenset(belief.index for belief in held)
    absent = frozenset(index for belief in held for index in belief.absent) | (lines if is_missing else frozenset())
    if absent & lines and not is_missing:
        return None
    deeds = Deeds({belief.index: belief.wrong for belief in held}, absent=absent, present=lines - absent)
    variants = {belief.index: belief.variant for belief in held}
    return Fault(name, True, held[0].index, deeds, is_line_missing=is_missing, variants=variants)


# Sheets with faults


def faulty(exercise: Exercise, seed: int, count: int = 1) -> Spoilt | None:
    """Return a sheet with `count` independent faults, or None if no fault could be made."""
    style, draw = random_style(seed), random.Random(f"faults {seed}")
    clean = work(exercise, style, seed)
    for _ in range(10):
        faults: list[Fault] = []
        used: frozenset[int] = frozenset()
        for _ in range(count):
            pick = random_belief if draw.random() < 0.5 else random_slip
            fault = pick(clean, draw, used)
            if fault is None:
                break
            faults.append(fault)
            used |= set(fault.indices) | fault.deeds.absent
        if len(faults) < count:
            continue
        try:
            spoilt = _sheet(exercise, style, seed, faults)
        except MeaninglessError:
            continue
        if spoilt is not None:
            return spoilt
    return None


def _sheet(exercise: Exercise, style: Style, seed: int, faults: list[Fault]) -> Spoilt | None:
    wrong: dict[int, Wrong] = {}
    spoilt: dict[int, Spoil] = {}
    absent: frozenset[int] = frozenset()
    present: frozenset[int] = frozenset()
    for fault in faults:
        wrong |= {index: _fresh(fault, index) for index in fault.deeds.wrong}
        spoilt |= fault.deeds.spoilt
        absent, present = absent | fault.deeds.absent, present | fault.deeds.present
    desk = work(exercise, style, seed, Deeds(wrong, spoilt, absent, present - absent))
    cells, sizes = [], []
    for fault in faults:
        showing = sorted({index for fault_index in fault.indices for index in _showing(desk, fault_index)})
        changed = {index: _changed(desk, fault, index) for index in showing}
        changed = {index: places for index, places in changed.items() if places}
        if not changed:
            return None
        large = {index: large_cells(desk, index, places) for index, places in changed.items()}
        needed = 2 if fault.is_misconception else 1  # a single cell does not show a rule
        cells.append(changed)
        sizes.append(max(len(places) for places in large.values()) >= needed)
    names = [fault.accepted_names + _same_digits(desk, fault) for fault in faults]
    return Spoilt(desk, tuple(faults), tuple(cells), tuple(sizes), tuple(names))


def _same_digits(desk: Desk, fault: Fault) -> tuple[str, ...]:
    """The other misconceptions that give the same digits: nobody could distinguish them."""
    names: set[str] = set()
    for index in fault.indices if fault.is_misconception else ():
        line = desk.lines[index]
        for belief in Finder(desk).of(index, desk.trace[index]):
            try:
                value = belief.wrong(desk, index, desk.inputs(index), line.right)
            except MeaninglessError:
                continue
            near = np.isclose(np.where(np.isfinite(value), value, 0), np.where(np.isfinite(line.full), line.full, 0),
                              rtol=0, atol=float(line.units.max() or 0.01))  # fmt: skip
            if value.shape == line.full.shape and np.all(near & (np.isinf(value) == np.isinf(line.full))):
                names |= {belief.name, *ALSO.get(belief.name, ())}
    return tuple(sorted(names - {fault.name}))


def _fresh(fault: Fault, index: int) -> Wrong:
    """A rule that looks up its own inputs at the desk must use the desk of this sheet, not the one it was found at."""
    if not fault.is_misconception:
        return fault.deeds.wrong[index]

    def wrong(desk: Desk, number: int, inputs: Inputs, right: Any) -> Any:
        return Finder(desk).of(number, desk.trace[number])[fault.variants[number]].wrong(desk, number, inputs, right)

    return wrong


def _showing(desk: Desk, index: int) -> list[int]:
    """The lines that show a fault: its own and, if that was not written in full, the first ones after it."""
    showing = {index} if desk.lines[index].is_written else set()
    if np.all(desk.lines[index].texts != ""):
        return [index]
    target = desk.trace[index].value
    for number, record in enumerate(desk.trace):
        parts = [part for value in record.inputs.values() for part in (value if isinstance(value, tuple) else (value,))]
        if any(part is target for part in parts):
            showing |= set(_showing(desk, number))
    return sorted(showing)


def _changed(desk: Desk, fault: Fault, index: int) -> list[tuple[int, int]]:
    """The written cells that differ from the result of the right rule by more than about half a unit."""
    line = desk.lines[index]
    centre = line.right if index in fault.indices else image(desk, index)[0]
    places = []
    for place in np.ndindex(line.texts.shape):
        if line.texts[place] and line.values[place] != centre[place]:
            unit = unit_of(line, place)
            if (
                math.isinf(line.values[place])
                or math.isinf(centre[place])
                or abs(line.values[place] - centre[place]) > unit * (1.0 if line.precision.way == "cut" else 0.5001)
            ):
                places.append(place)
    return places
