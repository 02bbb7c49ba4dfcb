"""A matched line: the cells that were written of one record, their precision, and how they compare."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from clearhead.check.graph import FromGiven, FromRecord
from clearhead.check.style import Style
from clearhead.check.verdict import Verdict
from clearhead.check.working import Note
from clearhead.exercises.check.read.number import WrittenNumber
from clearhead.worksheet.arrays import Array, Mask

SLACK = 1e-9  # the slack of every comparison, in units
NOISE = 1e-12  # the relative error of float64 after a few steps
_AS_GOOD_AS_NONE = -1000.0  # a score below this counts as masked
EXACT = 1e-9  # how near an exact number must be


@dataclass(frozen=True, eq=False)
class Statement:
    """A matched line: the written cells of one record, tokens as rows; the value is nan where nothing is written."""

    line: int
    node: int
    value: Array
    unit: Array  # for integers, the unit of their style
    unit_inwards: Array  # the same towards 0
    is_whole: Mask
    texts: tuple[tuple[str, ...], ...]
    style: Style
    unreadable: Mask
    is_telling: bool = True  # whether it shows how the student rounds; exact numbers do not

    @cached_property
    def is_written(self) -> Mask:
        """Where a number was written."""
        return ~np.isnan(self.value)

    @property
    def shows_precision(self) -> bool:
        """Whether the line shows how many digits are kept: a number is rounded, or ends with 0 as in 1.00."""
        return self.is_telling or any("." in text and text.endswith("0") for row in self.texts for text in row)

    @property
    def rounding_style(self) -> Style:
        """The precision of the line; integers show none, and nobody rounds weights to 0 or 1."""
        is_integer = bool(np.all(self.is_whole | ~self.is_written))
        return Style(decimals=1) if is_integer else self.style


@dataclass(frozen=True, eq=False)
class Copy:
    """A record or given copied as a factor into record `user` (None: into every record that uses it)."""

    line: int
    source: FromRecord | FromGiven
    statement: Statement
    user: int | None = None


@dataclass
class JudgedStatement:
    """The verdicts of one statement or copy, cell by cell; None where nothing was written."""

    statement: Statement
    verdicts: list[list[Verdict | None]]
    expected: Array  # what the student's own lines give
    copy: Copy | None = None

    def set(self, cells: Mask, verdict: Verdict) -> None:
        """Set the verdict of all marked cells."""
        if cells.any():
            for row, column in zip(*(places.tolist() for places in cells.nonzero()), strict=True):
                self.verdicts[row][column] = verdict

    def where(self, *verdicts: Verdict) -> Mask:
        """Return the cells with one of these verdicts."""
        return np.array([[verdict in verdicts for verdict in row] for row in self.verdicts], dtype=bool)

    def has(self, *verdicts: Verdict) -> bool:
        """Return whether any cell has one of these verdicts."""
        return any(verdict in verdicts for row in self.verdicts for verdict in row)


@dataclass(frozen=True, eq=False)
class Fit:
    """How each cell of a written line compares with one reference."""

    half: Mask  # within half a unit
    cut: Mask  # the reference cut at the unit
    near: Mask  # within a unit

    def __or__(self, other: "Fit") -> "Fit":
        return Fit(self.half | other.half, self.cut | other.cut, self.near | other.near)


def fit(statement: Statement, reference: Array) -> Fit:
    """Compare the written numbers with a reference value."""
    y, unit = statement.value, statement.unit
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(reference)
        if statement.unit_inwards is not unit:
            unit = np.where(size < np.abs(y), statement.unit_inwards, unit)
        if statement.is_whole.any():
            unit = np.where(statement.is_whole & (np.abs(reference - np.round(reference)) <= EXACT), 0.0, unit)
        gap, is_infinite = np.abs(y - reference), np.isinf(reference)
        noise = NOISE * np.where(is_infinite, 0.0, size)
        room = SLACK * unit + noise
        if not unit.all():
            room = room + np.where(unit == 0.0, EXACT * np.maximum(1.0, np.abs(y)), 0.0)
        half, near = (gap <= unit / 2 + room) & np.isfinite(gap), gap < unit * (1.0 - SLACK) - noise
        if is_infinite.any():  # -1000 and similar numbers mean the -∞ of a mask
            half |= is_infinite & ((y == reference) | ((y <= _AS_GOOD_AS_NONE) & (reference < 0)))
        cut = near & (np.abs(y) <= size + room) & (y * reference >= 0)
        return Fit(half, cut, near)


@dataclass(frozen=True, eq=False)
class WrongShape:
    """A line of a known record, but with a shape that does not fit."""

    line: int
    node: int
    sentence: str


@dataclass
class Placing:
    """The result of matching: statements by record, copies, lines of the wrong shape or without a record, and notes."""

    statements: dict[int, list[Statement]] = field(default_factory=dict)
    copies: list[Copy] = field(default_factory=list)
    misshapen: list[WrongShape] = field(default_factory=list)
    unplaced: list[int] = field(default_factory=list)  # lines with a name that no record has
    notes: list[Note] = field(default_factory=list)
    doubtful: dict[int, list[int]] = field(
        default_factory=dict
    )  # ambiguous lines, and the other records that they can mean


def make_statement(
    line: int,
    node: int,
    cells: Sequence[Sequence[WrittenNumber | None]],
    style: Style,
    *,
    turned: bool,
    is_telling: bool,
) -> Statement:
    """Return the statement of a grid of read cells (None: not written), transposed where tokens are columns."""
    grid = [list(row) for row in (zip(*cells, strict=True) if turned else cells)]
    shape = (len(grid), len(grid[0]))
    flat = [cell for row in grid for cell in row]
    is_read = [cell is not None and not cell.problem for cell in flat]
    numbers = [(cell.value, cell.unit, cell.is_whole) for cell in flat if cell is not None and not cell.problem]
    value, unit, is_whole = np.full(shape, np.nan), np.zeros(shape), np.zeros(shape, dtype=bool)
    if numbers:
        where = np.array(is_read).reshape(shape)
        value[where], unit[where], is_whole[where] = (np.array(column) for column in zip(*numbers, strict=True))
    unreadable = np.array([cell is not None and bool(cell.problem) for cell in flat], dtype=bool).reshape(shape)
    inwards = unit
    if is_whole.any():
        own = _own_units(value)  # 45 was not rounded to tens
        inwards = np.where(is_whole, np.minimum(style.unit_inwards(value), own), unit)
        unit = np.where(is_whole, np.minimum(style.unit(value), own), unit)
    texts = tuple(tuple("" if cell is None else cell.text for cell in row) for row in grid)
    return Statement(line, node, value, unit, inwards, is_whole, texts, style, unreadable, is_telling)


def _own_units(value: Array) -> Array:
    """Return the place value of the last nonzero digit of integers: 1 for 45, 100 for 1200."""
    units = np.ones(value.shape)
    for power in range(1, 16):
        is_round = (value != 0) & (value % 10.0**power == 0)
        if not is_round.any():
            break
        units = np.where(is_round, 10.0**power, units)
    return units
