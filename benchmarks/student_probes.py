"""Sheets that test one goal of the marker: single slips, random lines, wrong answers alone, unstated conventions.

Each function marks the sheets of one seed and returns a Probe for every number (or sheet) that counts.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from clearhead.check.marker import mark
from clearhead.check.working import Working, WrittenLine
from clearhead.errors import ClearheadError
from clearhead.worksheet.solver import solve
from student_beliefs import beliefs
from student_image import image, unit_of
from student_problems import Exercise, random_exercise
from student_rounding import DIVISORS
from students import MOVES, Deeds, Desk, MeaninglessError, Spoil, Written, digits_text, random_style, work

ATTENTION = ("self-attention", "masked-self-attention", "cross-attention")
EXACT_KINDS = (*ATTENTION, "seq2seq-attention", "add-and-norm", "add-and-norm")
SHORT = ("self-attention", "cross-attention")
NOT_ENOUGH = "not enough working"
TICK_TOCK = {  # examples/workings/scheme.yaml
    "kind": "self-attention",
    "scale": "sqrt(d_k)",
    "X": [[1, 2], [3, 1]],
    "W_Q": [[0.5, 0], [0.25, 1]],
    "W_K": [[0.2, 0.4], [0.3, -0.1]],
    "W_V": [[1, 2], [0, 1]],
}
LEAST_SLIP, LARGEST_SLIP = 3, 40  # units of the last digit
SLIPS = 3  # on different sheets of one exercise
Place = tuple[int, int]


@dataclass(frozen=True)
class Probe:
    """One number or sheet that the marker judged: the mode, the group in its table, and the result."""

    seed: int
    mode: str
    group: tuple[str, ...]
    result: str
    detail: str = ""


# Reading a report


def verdict_at(report: Any, desk: Desk, index: int, place: Place) -> Any:
    """Return the mark of one cell (tokens as rows), or None if it was not marked."""
    record = desk.trace[index]
    row, column = place[::-1] if desk.exercise.sheet.layout == "columns" else place
    for line in report.lines:
        if (line.symbol, line.where) == (record.symbol, record.where) and row < len(line.cells):
            return line.cells[row][column] if column < len(line.cells[row]) else None
    return None


def result_of(cell: Any) -> str:
    """Return the result in the table of a cell's mark."""
    if cell is None:
        return "not marked"
    return "error" if cell.verdict.is_error else str(cell.verdict.value)


def result_of_sheet(report: Any) -> str:
    """Return whether a report has an error, too little working, or neither."""
    cells = [cell for line in report.lines for cell in line.marked]
    if any(cell.verdict.is_error for cell in cells):
        return "error"
    if not cells:
        return "not marked"
    return NOT_ENOUGH if any(cell.verdict.value == NOT_ENOUGH for cell in cells) else "no error"


def marked(working: Working) -> Any:
    """Mark a working; a crash is a result, not the end of the run."""
    try:
        return mark(working)
    except Exception as problem:
        return f"crash: {type(problem).__name__}: {problem}"


# The lines above a line


def above(desk: Desk, index: int) -> str:
    """Return whether the lines above a line are all exact, some rounded, or the next ones omitted."""
    source = {id(record.value): number for number, record in enumerate(desk.trace)}
    is_omitted, is_rounded = False, False
    waiting, visited = [(index, True)], {index}
    while waiting:
        current, is_next = waiting.pop()
        for value in desk.trace[current].inputs.values():
            for part in value if isinstance(value, tuple) else (value,):
                number = source.get(id(part))
                if number is None or number in visited:
                    continue
                visited.add(number)
                line = desk.lines[number]
                is_written = bool(np.all(line.texts != ""))
                if not is_written and line.record.step.name not in MOVES | DIVISORS:
                    is_omitted |= is_next
                is_rounded |= not _is_exact(line)
                waiting.append((number, is_next and not is_written))
    return "omitted" if is_omitted else "rounded" if is_rounded else "exact"


def _is_exact(line: Written) -> bool:
    written = (line.texts != "") & np.isfinite(line.values)
    return bool(np.all(np.abs(line.values[written] - line.record.value[written]) < 1e-9))


# Spoiling a line


def rewrite(line: Written, desk: Desk, place: Place, value: float) -> None:
    """Write another number in the format of a cell; the work continues with it."""
    unit = unit_of(line, place)
    exponent = round(np.log10(unit))
    number = Decimal(round(value / unit)).scaleb(int(exponent))
    pen = replace(desk.style, drops_zeros=0.0, scientific=0.0, bare=False)
    is_weight = line.record.step.name in ("softmax", "divide")
    line.texts[place] = digits_text(number, pen, random.Random(0), is_weight=is_weight)
    line.values[place] = line.own[place] = line.source[place] = float(number)
    line.is_literal[place] = True


def places_of(line: Written) -> list[Place]:
    """Return the cells of a line that hold a written number."""
    return [
        place
        for place in np.ndindex(line.texts.shape)
        if line.texts[place] and np.isfinite(line.values[place]) and unit_of(line, place) > 0
    ]


def random_numbers(line: Written, draw: random.Random) -> dict[Place, float]:
    """Draw other numbers of the same size for a line; for weights, numbers between 0 and 1."""
    places = places_of(line)
    values = [float(line.values[place]) for place in places]
    low, high = min(values), max(values)
    span = max(high - low, abs(high), 0.5) / 2
    if line.record.step.name in ("softmax", "divide"):
        return {place: draw.uniform(0, 1) for place in places}
    return {place: draw.uniform(low - span, high + span) for place in places}


def spoiler(desk: Desk, numbers: dict[Place, float]) -> Spoil:
    """Return the fault that writes other numbers in a line."""

    def spoil(line: Written) -> None:
        for place, value in numbers.items():
            if line.texts[place]:
                rewrite(line, desk, place, value)

    return spoil


def respoilt(desk: Desk, index: int, numbers: dict[Place, float], absent: Iterable[int] = ()) -> Desk:
    """Return the same student's sheet with other numbers in one line."""
    deeds = Deeds(spoilt={index: spoiler(desk, numbers)}, absent=frozenset(absent))
    return work(desk.exercise, desk.style, desk.seed, deeds)


def outside(desk: Desk, index: int) -> set[Place]:
    """Return the written cells that no faultless rounding reaches, with one unit to spare."""
    line = desk.lines[index]
    _, (low, high) = image(desk, index)
    return {
        place
        for place in places_of(line)
        if line.values[place] + unit_of(line, place) < low[place]
        or line.values[place] - unit_of(line, place) > high[place]
    }


# The modes


def slips(seed: int, kinds: tuple[str, ...] = ()) -> list[Probe]:
    """One cell is 3 to 40 units off: is it called an error?"""
    desk = work(random_exercise(seed, kinds), random_style(seed), seed)
    by_step: dict[str, list[int]] = {}
    for index, line in enumerate(desk.lines):
        if line.is_written and places_of(line) and line.record.step.name not in ("choose", "one_hot"):
            by_step.setdefault(line.record.step.name, []).append(index)
    return _slips(desk, by_step, "slips")


def exact_slips(seed: int, kinds: tuple[str, ...] = ()) -> list[Probe]:
    """Weights, norms and other rounded lines below lines that are exact and written without trailing zeros."""
    style = replace(random_style(seed), skips=0.0, skips_rows=0.0, shortens_exact=True, varies=False)
    desk = work(random_exercise(seed, EXACT_KINDS), style, seed)
    by_step: dict[str, list[int]] = {}
    for index, line in enumerate(desk.lines):
        if places_of(line) and not _is_exact(line) and above(desk, index) == "exact":
            by_step.setdefault(line.record.step.name, []).append(index)
    return _slips(desk, by_step, "exact slips")


def _slips(desk: Desk, by_step: dict[str, list[int]], mode: str) -> list[Probe]:
    seed = desk.seed
    draw = random.Random(f"{mode} {seed}")
    probes = []
    for name in draw.sample(sorted(by_step), min(SLIPS, len(by_step))):
        index = draw.choice(by_step[name])
        line = desk.lines[index]
        place = draw.choice(places_of(line))
        units = draw.choice([-1, 1]) * draw.randint(LEAST_SLIP, LARGEST_SLIP)
        value = float(line.values[place]) + units * unit_of(line, place)
        if name in ("softmax", "divide") and not 0 <= value <= 1:
            continue  # any marker finds these
        try:
            spoilt = respoilt(desk, index, {place: value})
        except MeaninglessError:
            continue
        report = marked(spoilt.working())
        cell = None if isinstance(report, str) else verdict_at(report, spoilt, index, place)
        result = report if isinstance(report, str) else result_of(cell)
        where = "outside" if place in outside(spoilt, index) else "inside"
        record = line.record
        detail = (
            f"{record.symbol} @ {record.where} {place} '{spoilt.lines[index].texts[place]}' for {line.texts[place]}"
        )
        probes.append(Probe(seed, mode, (name, above(spoilt, index), where), result, detail))
    return probes


def random_lines(seed: int, kinds: tuple[str, ...] = ()) -> list[Probe]:
    """One line has random numbers: is a cause claimed?"""
    draw = random.Random(f"random line {seed}")
    desk = work(random_exercise(seed, kinds), random_style(seed), seed)
    lines = [
        index
        for index, line in enumerate(desk.lines)
        if line.record.step.name not in MOVES and len(places_of(line)) >= 4
    ]
    if not lines:
        return []
    index = draw.choice(lines)
    spoilt = respoilt(desk, index, random_numbers(desk.lines[index], draw))
    name, places = desk.trace[index].step.name, places_of(spoilt.lines[index])
    if len(outside(spoilt, index)) < len(places) / 2:
        return []  # too many are right by chance
    report = marked(spoilt.working())
    if isinstance(report, str):
        return [Probe(seed, "random line", (name,), report)]
    causes = [finding.name for finding in report.findings if finding.name or finding.student_sum]
    is_error = any(finding.verdict.is_error for finding in report.findings)
    result = "cause named" if causes else "error" if is_error else "no error"
    record = desk.trace[index]
    return [Probe(seed, "random line", (name,), result, f"{record.symbol} @ {record.where}: {'; '.join(causes)}")]


def answers_alone(seed: int, kinds: tuple[str, ...] = ()) -> list[Probe]:
    """Only the final answer is written, and it is wrong: one cell is 3 to 40 units off, or all are random."""
    draw = random.Random(f"answer {seed}")
    exercise = random_exercise(seed, SHORT)
    last = len(exercise.sheet.trace) - 1
    style = replace(random_style(seed), skips_rows=0.0)
    deeds = Deeds(absent=frozenset(range(last)), present=frozenset({last}))
    desk = work(exercise, style, seed, deeds)
    line = desk.lines[last]
    if not places_of(line) or line.record.step.name in MOVES:
        return []
    given = "Q, K, V" if "Q" in exercise.data else "X and weights"
    probes = []
    for kind in ("one cell", "all cells"):
        numbers = random_numbers(line, draw)
        if kind == "one cell":
            place = draw.choice(places_of(line))
            units = draw.choice([-1, 1]) * draw.randint(LEAST_SLIP, LARGEST_SLIP)
            numbers = {place: float(line.values[place]) + units * unit_of(line, place)}
        spoilt = work(exercise, style, seed, replace(deeds, spoilt={last: spoiler(desk, numbers)}))
        where = "outside" if outside(spoilt, last) & set(numbers) else "inside"
        report = marked(spoilt.working())
        result = report if isinstance(report, str) else result_of_sheet(report)
        if result == "error" and kind == "one cell" and not isinstance(report, str):
            result = "error" if result_of(verdict_at(report, spoilt, last, place)) == "error" else "another cell blamed"
        probes.append(Probe(seed, "answer alone", (given, kind, where), result, line.record.symbol))
    return probes


def nonsense(seed: int, kinds: tuple[str, ...] = ()) -> list[Probe]:
    """Random whole numbers as the only output, random one-decimal numbers as the only weights: is that "no error"?"""
    draw = random.Random(f"nonsense {seed}")
    probes = _nonsense(seed, draw, random_exercise(seed, ATTENTION), "random problem")
    return probes + _nonsense(seed, draw, Exercise(TICK_TOCK, solve(TICK_TOCK)), "the example scheme")


def _nonsense(seed: int, draw: random.Random, exercise: Exercise, source: str) -> list[Probe]:
    trace = exercise.sheet.trace
    softmaxes = [record for record in trace if record.step.name == "softmax"]
    choices = [("whole numbers as output", trace[len(trace) - 1], lambda: str(draw.randint(-9, 9)))]
    if softmaxes:
        choices.append(("one-decimal weights", softmaxes[-1], lambda: f"{draw.randint(0, 10) / 10:.1f}"))
    probes = []
    for name, record, number in choices:
        shape = np.shape(record.value)
        cells = tuple(tuple(number() for _ in range(shape[1])) for _ in range(shape[0]))
        gaps = np.abs(np.array(cells, dtype=float) - record.value)
        if np.max(gaps) < (1.0 if name.startswith("whole") else 0.1):
            continue  # right by chance
        report = marked(Working(exercise.data, (WrittenLine(record.symbol, cells, where=record.where),)))
        result = report if isinstance(report, str) else result_of_sheet(report)
        probes.append(Probe(seed, "nonsense alone", (source, name), result, f"{record.symbol}: {cells}"))
    return probes


def conventions(seed: int, kinds: tuple[str, ...] = ()) -> list[Probe]:
    """A convention is not stated, and one line is wrong: are its wrong cells still reported?"""
    probes: list[Probe] = []
    for name, case in _CASES.items():
        probes += _unstated(seed, name, *case)
    return probes


def _random_line(step: str) -> Callable[[Desk, random.Random], Deeds | None]:
    def deeds(desk: Desk, draw: random.Random) -> Deeds | None:
        for index, line in enumerate(desk.lines):
            if line.record.step.name == step and places_of(line):
                later = range(index + 1, len(desk.lines)) if draw.random() < 0.5 else ()
                spoilt = {index: spoiler(desk, random_numbers(line, draw))}
                return Deeds(spoilt=spoilt, absent=frozenset(later), present=frozenset(range(index + 1)))
        return None

    return deeds


def _masked_with_zero(desk: Desk, draw: random.Random) -> Deeds | None:
    for belief in beliefs(desk):
        if belief.name == "mask with 0 instead of −∞":
            return Deeds(wrong={belief.index: belief.wrong}, present=frozenset(range(len(desk.lines))))
    return None


Case = tuple[tuple[str, ...], str, Callable[[Desk, random.Random], Deeds | None]]
_CASES: dict[str, Case] = {
    "scale unstated, scaled scores wrong": (ATTENTION, "scale", _random_line("scale")),
    "normaliser unstated, mask with 0": (("masked-self-attention",), "normaliser", _masked_with_zero),
    "layout unstated, weights wrong": (ATTENTION, "layout", _random_line("softmax")),
    "norm unstated, norm wrong": (("add-and-norm",), "norm", _random_line("normalise")),
}


def _unstated(
    seed: int, name: str, kinds: tuple[str, ...], key: str, choose: Callable[[Desk, random.Random], Deeds | None]
) -> list[Probe]:
    draw = random.Random(f"{name} {seed}")
    exercise = random_exercise(seed, kinds)
    problem = {other: value for other, value in exercise.data.items() if other != key}
    style = replace(random_style(seed), skips=0.0, skips_rows=0.0)
    try:
        if not _is_same(exercise, solve(problem).trace):
            return []
        desk = work(exercise, style, seed)
        deeds = choose(desk, draw)
        if deeds is None:
            return []
        spoilt = work(exercise, style, seed, deeds)
    except (ClearheadError, MeaninglessError):
        return []
    (index,) = (*deeds.spoilt, *deeds.wrong)
    line = spoilt.lines[index]
    if deeds.spoilt:
        wrong = outside(spoilt, index)
    else:
        wrong = {place for place in np.ndindex(line.texts.shape) if line.right[place] != line.full[place]}
    if not wrong:
        return []
    report = marked(replace(spoilt.working(), problem=problem))
    if isinstance(report, str):
        return [Probe(seed, "convention", (name,), report)]
    note = "; ".join(note.sentence for note in report.notes if note.kind == "convention")
    return [
        Probe(seed, "convention", (name,), result_of(verdict_at(report, spoilt, index, place)), note)
        for place in sorted(wrong)
    ]


def _is_same(exercise: Exercise, trace: Any) -> bool:
    """Return whether a problem has the same working without one of its statements."""
    own = exercise.sheet.trace
    if [(record.symbol, record.where) for record in own] != [(record.symbol, record.where) for record in trace]:
        return False
    return all(np.array_equal(a.value, b.value) for a, b in zip(own, trace, strict=True))


def sums_off(seed: int, kinds: tuple[str, ...] = ()) -> list[Probe]:
    """A weight is changed so that its row no longer sums to 1: is an error reported in the row?"""
    draw = random.Random(f"sum {seed}")
    desk = work(random_exercise(seed, ATTENTION), random_style(seed), seed)
    for index, line in enumerate(desk.lines):
        if line.record.step.name != "softmax" or not places_of(line):
            continue
        row = draw.choice(places_of(line))[0]
        places = [place for place in places_of(line) if place[0] == row]
        if len(places) != line.texts.shape[1]:
            continue
        place, count = draw.choice(places), len(places)
        unit = max(unit_of(line, place) for place in places)
        excess = draw.choice([-1, 1]) * max((count + 2) * unit, draw.choice([0.03, 0.05, 0.1, 0.2]))
        value = float(line.values[place]) + excess
        total = sum(float(line.values[other]) for other in places) + excess
        if not 0 <= value <= 1 or abs(total - 1) < (count + 1) * unit:
            continue
        spoilt = respoilt(desk, index, {place: value})
        report = marked(spoilt.working())
        if isinstance(report, str):
            return [Probe(seed, "sum off", (above(spoilt, index),), report)]
        results = [result_of(verdict_at(report, spoilt, index, other)) for other in places]
        result = "error" if "error" in results else result_of(verdict_at(report, spoilt, index, place))
        return [Probe(seed, "sum off", (above(spoilt, index),), result, f"row {row} sums to {total:.3f}")]
    return []


MODES: dict[str, Callable[..., list[Probe]]] = {
    "slips": slips,
    "exact": exact_slips,
    "random": random_lines,
    "answers": answers_alone,
    "nonsense": nonsense,
    "conventions": conventions,
    "sums": sums_off,
}


def probe(seed: int, mode: str, kinds: tuple[str, ...] = ()) -> list[Probe]:
    """Return the probes of one seed; none if the student's rounding makes no sense."""
    try:
        return MODES[mode](seed, kinds)
    except MeaninglessError:
        return []
