"""Students who work a problem by hand: each line is computed from the student's own earlier numbers and then written.

A student without a fault rounds, cuts, skips lines and writes digits as people do. Nothing here looks at the marker.

Habits that are drawn for each sheet or for each line:
- continue with the rounded number, with the full one, or with one digit more than is written (a guard digit);
- keep a line that is not written in full, with the digits of the sheet, or with one more, rounded or cut;
- keep quantities inside a line in full or rounded (see student_rounding);
- write a line whose numbers are exact without trailing zeros (1.4 beside weights with three decimals).

Limits, because no teacher would call the results faultless: a number that is not written is never coarser than the
digits shown (a mean, variance or length never coarser than two decimals, and with two significant figures at least; a
sum of exponentials with three), a number is rounded from its full value and not twice, and the sum in a division, the
sines of a rotation and a normalised number before its gain are computed in full.
"""

import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np

from clearhead.check.working import Working, WrittenLine
from clearhead.steps import Record, Trace
from clearhead.worksheet.pen import in_rows
from clearhead.worksheet.reference import REFERENCE

from student_problems import Exercise  # isort: skip  # beside this file, in benchmarks/
from student_rounding import (  # isort: skip
    CALCULATOR,
    DIVISORS,
    IN_FULL,
    Constants,
    Inner,
    Inputs,
    Precision,
    compute,
    random_inner,
)

MOVES = frozenset({"embed", "split", "append", "join", "pick", "mask", "one_hot", "choose"})
COPIES = frozenset({"embed", "one_hot", "choose"})  # of what was given
MOVED = {"split": ("x",), "append": ("cached", "new"), "join": ("parts",), "pick": ("x",), "mask": ("scores",)}
LARGEST = 1e7  # larger numbers do not occur in work by hand
CARRIES = ("rounded", "full", "guard")


class MeaninglessError(Exception):
    """Rounding changed the rest of the sheet: another word was chosen, or something was divided by 0."""


@dataclass(frozen=True)
class Style:
    """How one student works and writes."""

    precision: Precision
    finest: Precision  # of skipped lines, where they are rounded at all
    varies: bool = False  # another precision from line to line
    carries: str = "rounded"  # what later lines use: "rounded", "full", "guard", or "mixed": drawn for each line
    constants: Constants = CALCULATOR
    root: Precision | None = None  # √d as it is always used; None where it is drawn for each line
    inner: float = 0.0  # the probability that the quantities inside a line are rounded
    skips: float = 0.0
    skips_rows: float = 0.0
    keeps_skipped: str = "full"  # "full", "rounded", or "mixed": drawn for each line
    shortens_exact: bool = False  # a line of exact numbers is written without trailing zeros
    drops_zeros: float = 0.0
    bare: bool = False  # 0 and 1 without decimals
    negative_zero: bool = False
    percent: bool = False
    scientific: float = 0.0
    minus: str = "-"
    drops_leading: bool = False
    infinity: str = "-∞"


EXACT = Precision(15, None)
PLAIN = Style(EXACT, EXACT, carries="full")


def random_style(seed: int) -> Style:
    """Draw a student."""
    draw = random.Random(f"style {seed}")
    way = draw.choice(["half-up", "half-up", "half-even", "cut"])

    def precision() -> Precision:
        if is_by_figures:
            return Precision(None, draw.choice([1, 2, 3, 3, 4, 5]), way)
        return Precision(draw.choice([1, 2, 2, 3, 3, 4, 5]), None, way)

    is_by_figures = draw.random() < 0.3
    chosen, varies = precision(), draw.random() < 0.15
    most = Precision(*((None, 5) if is_by_figures else (5, None)), way=way)
    has_constants = draw.random() < 0.3
    digits = Precision(draw.choice([2, 2, 3, 4]), None, draw.choice(["half-up", "cut"]))
    return Style(
        precision=chosen,
        finest=most if varies else chosen,
        varies=varies,
        carries=draw.choice(["rounded"] * 6 + ["full"] * 4 + ["guard"] * 3 + ["mixed"] * 5),
        constants=Constants(float(digits.kept(math.e)), float(digits.kept(math.pi))) if has_constants else CALCULATOR,
        root=digits if has_constants else None,
        inner=draw.choice([0.0, 0.0, 0.5, 0.9]),
        skips=draw.choice([0.0, 0.0, 0.2, 0.4, 0.6]),
        skips_rows=draw.choice([0.0, 0.0, 0.0, 0.1, 0.3]),
        keeps_skipped=draw.choice(["full", "full", "rounded", "mixed"]),
        shortens_exact=draw.random() < 0.4 and not is_by_figures,
        drops_zeros=draw.choice([0.0, 0.0, 0.3, 1.0]) if not is_by_figures else 0.0,
        bare=draw.random() < 0.2 and not is_by_figures,
        negative_zero=draw.random() < 0.3,
        percent=draw.random() < 0.07,
        scientific=draw.choice([0.0, 0.0, 0.0, 0.2]),
        minus=draw.choice(["-", "-", "−"]),
        drops_leading=draw.random() < 0.1,
        infinity=draw.choice(["-∞", "−∞", "-inf"]),
    )


@dataclass(frozen=True)
class Habit:
    """How a student works in one line."""

    carries: str = "rounded"
    unwritten: Precision | None = None  # of numbers that are not written; None for in full
    inner: Inner = IN_FULL


def random_habit(draw: random.Random, style: Style, record: Record, precision: Precision, finest: Precision) -> Habit:
    """Draw how a student works in a line of this precision; `finest` is that of numbers that are not written."""
    carries = draw.choice(CARRIES) if style.carries == "mixed" else style.carries
    inner = random_inner(draw, style.inner, precision, np.asarray(record.value))
    if style.root is not None:
        inner = replace(inner, root=style.root)
    if record.step.name in DIVISORS and inner.precision is not None:
        return Habit(carries, inner.precision, inner)
    if style.keeps_skipped == "full" or (style.keeps_skipped == "mixed" and draw.random() < 0.5):
        return Habit(carries, None, inner)
    unwritten = draw.choice([finest, finest, finest.finer, replace(finest, way=draw.choice(["half-up", "cut"]))])
    least = 3 if record.step.name == "row_sum" else 2
    unwritten = replace(unwritten, figures=unwritten.figures and max(least, unwritten.figures))
    if record.step.name in DIVISORS:
        unwritten = replace(unwritten, least=least)
    return Habit(carries, unwritten, inner)


@dataclass
class Written:
    """One line of a student's sheet, tokens as rows: the result, the numbers that later lines use, and the text.

    `full` is what was computed from the student's own numbers, `right` what the right rule gives from the same.
    """

    record: Record
    right: Any
    full: Any
    own: Any
    texts: Any  # of strings, "" where nothing is written
    values: Any  # as they were written
    units: Any  # of the last digit, as this student means it
    precision: Precision
    source: Any = None  # the numbers from which a later line copies
    is_literal: Any = None  # whether a copy repeats these digits as they are

    @property
    def is_written(self) -> bool:
        """Whether any cell is written."""
        return any(text for text in self.texts.flat)


Wrong = Callable[["Desk", int, Inputs, Any], Any]
Spoil = Callable[["Written"], None]


@dataclass(frozen=True)
class Deeds:
    """A student's faults: rules by line, digits spoilt by line, lines omitted; and lines that must be present."""

    wrong: Mapping[int, Wrong] = field(default_factory=dict)
    spoilt: Mapping[int, Spoil] = field(default_factory=dict)
    absent: frozenset[int] = frozenset()
    present: frozenset[int] = frozenset()


@dataclass
class Desk:
    """A student at work on an exercise."""

    exercise: Exercise
    trace: Trace  # tokens as rows
    style: Style
    seed: int
    lines: list[Written]
    own: dict[int, Any]

    def mine(self, value: Any) -> Any:
        """Return the student's own numbers for an input of the exact working."""
        if isinstance(value, tuple):
            return tuple(self.mine(part) for part in value)
        return self.own.get(id(value), value)

    def inputs(self, index: int) -> Inputs:
        """Return the inputs of a line as the student has them."""
        return {name: self.mine(value) for name, value in self.trace[index].inputs.items()}

    def copied(self, value: Any, part: str) -> Any:
        """Return the `source` or `is_literal` of an input; what was given is copied as it is."""
        if isinstance(value, tuple):
            return tuple(self.copied(element, part) for element in value)
        for line in self.lines:
            if line.record.value is value:
                return np.asarray(getattr(line, part), dtype=np.float64)
        return np.asarray(value if part == "source" else np.ones(np.shape(value)), dtype=np.float64)

    def working(self) -> Working:
        """Return the sheet as it is handed in, in the layout of the problem."""
        is_turned = self.exercise.sheet.layout == "columns"
        lines = []
        for line in self.lines:
            if line.is_written:
                texts = line.texts.T if is_turned else line.texts
                cells = tuple(tuple(str(text) for text in row) for row in texts)
                lines.append(WrittenLine(line.record.symbol, cells, where=line.record.where))
        return Working(problem=self.exercise.data, lines=tuple(lines))


def work(exercise: Exercise, style: Style, seed: int, deeds: Deeds | None = None) -> Desk:
    """Work an exercise from the first line to the last."""
    deeds = deeds or Deeds()
    desk = Desk(exercise, in_rows(exercise.sheet.trace), style, seed, [], {})
    for index, record in enumerate(desk.trace):
        draw = random.Random(f"{seed} line {index}")
        is_skipped = draw.random() < style.skips and index not in deeds.present
        desk.lines.append(_line(desk, index, record, deeds, draw, is_skipped or index in deeds.absent))
        desk.own[id(record.value)] = desk.lines[-1].own
    if not any(line.is_written for line in desk.lines):
        raise MeaninglessError("nothing is written")
    return desk


def _line(desk: Desk, index: int, record: Record, deeds: Deeds, draw: random.Random, is_skipped: bool) -> Written:
    style, inputs = desk.style, desk.inputs(index)
    precision = _varied(style.precision, draw) if style.varies else style.precision
    finest = unwritten_precision(desk, record)
    habit = random_habit(draw, style, record, finest if is_skipped else precision, finest)
    right = compute(record, inputs, style.constants, habit.inner)
    full = deeds.wrong[index](desk, index, inputs, right) if index in deeds.wrong else right
    _check(record, inputs, full)
    rows = np.zeros(full.shape[0], dtype=bool) if is_skipped else np.ones(full.shape[0], dtype=bool)
    if not is_skipped and index not in deeds.present and full.shape[0] > 1 and draw.random() < style.skips_rows:
        rows[draw.randrange(full.shape[0])] = False
    line = Written(record, right, full, full.copy(), None, None, None, precision)
    if style.shortens_exact:
        line.precision = _shortened(precision, full, record.value)
    line.source, line.is_literal = _copied(desk, record, full, index in deeds.wrong)
    _write(line, style, habit, rows, draw)
    if index in deeds.spoilt:
        deeds.spoilt[index](line)
    return line


def _shortened(precision: Precision, full: Any, exact: Any) -> Precision:
    """The precision of a line without trailing zeros, if all its numbers are exact."""
    numbers, known = full[np.isfinite(full)], np.asarray(exact, dtype=np.float64)[np.isfinite(full)]
    if precision.figures is not None or not numbers.size or np.any(np.abs(numbers - known) > 1e-12):
        return precision
    for decimals in range(precision.decimals or 0):
        if np.all(np.abs(numbers - np.round(numbers, decimals)) < 1e-12):
            return replace(precision, decimals=decimals)
    return precision


def _copied(desk: Desk, record: Record, full: Any, is_wrong: bool) -> tuple[Any, Any]:
    """Return the numbers from which a line is written, and whether its digits are copied from another line."""
    names = MOVED.get(record.step.name)
    if names is None or is_wrong:
        return full, np.full(full.shape, record.step.name in MOVES)
    move = REFERENCE[record.step.name]
    sources = {name: desk.copied(record.inputs[name], "source") for name in names}
    literal = {name: desk.copied(record.inputs[name], "is_literal") for name in names}
    rest = dict(record.inputs)
    return move(**{**rest, **sources}), np.asarray(move(**{**rest, **literal}) == 1.0)


def unwritten_precision(desk: Desk, record: Record) -> Precision:
    """Return the rounding of a number that is not written: the student's, or that of the finest line above it."""
    finest, above = desk.style.finest, {id(value) for value in record.inputs.values()}
    shown = [line.precision.figures for line in desk.lines if id(line.record.value) in above and line.is_written]
    if finest.figures is None:
        return finest
    return replace(finest, figures=max([finest.figures, *(figures for figures in shown if figures)]))


def _varied(precision: Precision, draw: random.Random) -> Precision:
    digits = draw.choice([2, 3, 4, 5])
    is_by_figures = precision.figures is not None
    return replace(precision, figures=digits) if is_by_figures else replace(precision, decimals=digits)


def _check(record: Record, inputs: Inputs, full: Any) -> None:
    """Raise MeaninglessError if rounding changed more than digits."""
    finite = full[~np.isneginf(full)] if record.step.name == "mask" else full
    if not np.all(np.isfinite(finite)) or np.any(np.abs(finite) > LARGEST):
        raise MeaninglessError("a number is out of bounds")
    if record.step.name == "choose" and not np.array_equal(full, record.value):
        raise MeaninglessError("another word was chosen")
    if record.step.name == "divide":
        totals, sizes = inputs["scores"].sum(axis=-1), np.abs(inputs["scores"]).sum(axis=-1)
        exact = np.asarray(record.inputs["scores"]).sum(axis=-1)
        if np.any((np.abs(totals) <= 1e-9 * sizes) & (np.abs(exact) > 1e-12)):
            raise MeaninglessError("divided by a rounded 0")
    for name in ("variance", "lengths", "deviation", "rms", "total"):
        if name in inputs and np.any((np.asarray(inputs[name]) == 0.0) & (np.asarray(record.inputs[name]) != 0.0)):
            raise MeaninglessError("divided by a rounded 0")
    if record.step.name == "loss" and np.any(full > 600):
        raise MeaninglessError("the logarithm of 0")


def _write(line: Written, style: Style, habit: Habit, rows: Any, draw: random.Random) -> None:
    """Fill in the texts, the values as written and the values that later lines use."""
    shape = line.full.shape
    line.texts, line.values = np.full(shape, "", dtype=object), np.full(shape, np.nan)
    line.units = np.zeros(shape)
    written_out = replace(style, drops_zeros=0.0, bare=False)
    source, is_literal = line.source.copy(), line.is_literal.copy()
    for pen, more in ((style, 0), (written_out, 0), (written_out, 2)):
        state = draw.getstate()
        line.source, line.is_literal = source.copy(), is_literal.copy()
        if more and line.precision.figures is not None:
            line.precision = replace(line.precision, figures=line.precision.figures + more)
        for place in np.ndindex(shape):
            _cell(line, place, pen, habit, bool(rows[place[0]]), draw)
        texts = {text for text in line.texts.flat if text}
        # A line of only 0 and ±1 is taken to be exact to 0.01, so a coarser one is written in full.
        if not texts <= {"0", "1", "-0", "−0", "-1", "−1"} or np.all(line.units[line.texts != ""] <= 0.01):
            return
        draw.setstate(state)


def _cell(
    line: Written, place: tuple[int, ...], style: Style, habit: Habit, is_written: bool, draw: random.Random
) -> None:
    value, source, is_literal = float(line.full[place]), float(line.source[place]), bool(line.is_literal[place])
    is_moved = line.record.step.name in MOVES
    if math.isinf(value):
        line.own[place], line.values[place] = value, value
        line.texts[place] = style.infinity if is_written else ""
        return
    if not is_written:
        rounded = (habit.unwritten or style.finest).kept(value)
        line.units[place] = 10.0 ** int(rounded.as_tuple().exponent)
        if habit.unwritten is not None and not is_moved:  # numbers that are only looked up are not rounded
            line.own[place] = line.source[place] = float(rounded)
            line.is_literal[place] = True
        return
    rounded = line.precision.kept(source)
    if is_literal and _decimals(source) <= 6:
        exact = Decimal(f"{source:.12e}").normalize()
        is_longer = -int(exact.as_tuple().exponent) > -int(rounded.as_tuple().exponent)
        if is_longer or line.precision.figures:
            rounded = exact.quantize(Decimal(1).scaleb(-_decimals(source)))
    truth = float(line.record.value[place])
    if line.precision.figures and math.isfinite(truth) and _decimals(truth):
        rounded = _with_zeros(rounded, line.precision.figures)
    line.units[place] = 10.0 ** int(rounded.as_tuple().exponent)
    line.texts[place] = digits_text(rounded, style, draw, is_weight=line.record.step.name in ("softmax", "divide"))
    line.values[place] = float(rounded)
    if habit.carries == "rounded":
        line.own[place] = line.source[place] = float(rounded)
        line.is_literal[place] = True
    elif habit.carries == "guard" and not is_moved:
        line.own[place] = float(line.precision.finer.kept(value))


def _with_zeros(rounded: Decimal, figures: int) -> Decimal:
    """A whole number is written without decimals only if it is exact: 1.00, not 1, for a weight of 0.995."""
    missing = figures - 1 - rounded.adjusted()
    is_whole = bool(rounded) and int(rounded.as_tuple().exponent) == 0
    return rounded.quantize(Decimal(1).scaleb(-missing)) if is_whole and missing > 0 else rounded


def _decimals(value: float) -> int:
    return max(0, -int(Decimal(f"{value:.12e}").normalize().as_tuple().exponent))


def digits_text(rounded: Decimal, style: Style, draw: random.Random, *, is_weight: bool = False) -> str:
    """Write a number down as this student does."""
    exponent = int(rounded.as_tuple().exponent)
    size = rounded.copy_abs()
    if style.percent and is_weight and -8 <= exponent <= -2:
        text = f"{size.scaleb(2):f}%"
    elif size and (
        size < Decimal("1e-6")
        or exponent > 0  # 20 would look exact to the unit, 2×10^1 does not
        or (size < Decimal("0.01") and draw.random() < style.scientific)
    ):
        text = _scientific(size, draw)
    else:
        text = f"{size:f}"
        if "." in text and draw.random() < style.drops_zeros:
            text = text.rstrip("0").rstrip(".")
        if style.bare and size in (0, 1):
            text = f"{int(size)}"
        if style.drops_leading and text.startswith("0."):
            text = text[1:]
    is_negative = rounded.is_signed() and (bool(size) or style.negative_zero)
    return f"{style.minus}{text}" if is_negative else text


def _scientific(size: Decimal, draw: random.Random) -> str:
    power = size.adjusted()
    mantissa = f"{size.scaleb(-power):f}"
    form = draw.choice(["{}e{}", "{}×10^{}", "{}\\times10^{{{}}}", "{}*10^{}"])
    return form.format(mantissa, power)


def read_text(text: str) -> float:
    """Read back what `digits_text` wrote."""
    plain = text.replace("−", "-").replace("∞", "inf")
    scale = 0.01 if plain.endswith("%") else 1.0
    match = re.fullmatch(r"(.*?)(?:e|(?:×|\*|\\times)10\^\{?)(-?\d+)\}?", plain) if "inf" not in plain else None
    if match:
        return float(f"{match[1]}e{match[2]}")
    return float(plain.rstrip("%")) * scale


def faultless(exercise: Exercise, seed: int) -> Desk:
    """Return the sheet of a student without a fault."""
    return work(exercise, random_style(seed), seed)
