"""A line with wrong cells, and whether a wrong rule is proved by the digits of those cells."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clearhead.check.statement import EXACT, JudgedStatement, Statement, fit
from clearhead.check.verdict import Verdict
from clearhead.worksheet.arrays import Array, Mask

AGAINST = 3  # for each wrong cell that a rule does not give to the last digit, it must give this many others

_CHANCE = 1e-5  # that unrelated numbers come so near to the results of a wrong rule


@dataclass(frozen=True, eq=False)
class WrongLine:
    """A line with wrong cells: all writings of one record together, with what the student's own lines give."""

    statement: Statement
    expected: Array
    wrong: Mask
    accepted: Mask

    @property
    def node(self) -> int:
        """The record of the line."""
        return self.statement.node

    @property
    def num_wrong(self) -> int:
        """The number of wrong cells."""
        return int(self.wrong.sum())

    @property
    def is_mostly_wrong(self) -> bool:
        """Whether more than half of the written cells are wrong, masked ones not counted."""
        return 2 * self.num_wrong > self._num_open

    @property
    def is_half_wrong(self) -> bool:
        """Whether several cells are wrong, and at least half of all."""
        return self.num_wrong > 1 and 2 * self.num_wrong >= self._num_open

    @property
    def _num_open(self) -> int:
        return int((self.statement.is_written & np.isfinite(self.expected)).sum())

    @cached_property
    def to_the_last_digit(self) -> Statement:
        """The line with a unit of 1 where written and right numbers are integers: 40 for 50 is not rounded to tens."""
        statement, right = self.statement, self.expected
        with np.errstate(invalid="ignore"):
            is_exact = statement.is_whole & (np.abs(right - np.round(right)) <= EXACT)
        unit = np.where(is_exact, np.minimum(statement.unit, 1.0), statement.unit)
        return replace(statement, unit=unit, unit_inwards=np.minimum(statement.unit_inwards, unit))


def wrong_line(writings: Sequence[JudgedStatement]) -> WrongLine:
    """Return the writings of one record as one line; of a cell that was written twice the first writing counts."""
    first = writings[0]
    statement, expected = first.statement, first.expected
    wrong, accepted = _wrong(first), _accepted(first)
    for other in writings[1:]:
        more = other.statement
        new = more.is_written & ~statement.is_written
        statement = replace(
            statement,
            value=np.where(new, more.value, statement.value),
            unit=np.where(new, more.unit, statement.unit),
            unit_inwards=np.where(new, more.unit_inwards, statement.unit_inwards),
            is_whole=np.where(new, more.is_whole, statement.is_whole),
        )
        expected = np.where(new, other.expected, expected)
        wrong, accepted = wrong | (new & _wrong(other)), accepted | (new & _accepted(other))
    return WrongLine(statement, expected, wrong, accepted)


def _wrong(judged: JudgedStatement) -> Mask:
    return judged.where(Verdict.SLIP, Verdict.TRANSCRIPTION)


def _accepted(judged: JudgedStatement) -> Mask:
    return judged.where(*(verdict for verdict in Verdict if verdict.is_accepted))


@dataclass(frozen=True, eq=False)
class Room:
    """How much the precision of earlier lines may change each cell: for the right rule, and for a wrong rule."""

    near: Array
    exact: Array


def _is_near(line: WrongLine, value: Array, reach: Array) -> Mask:
    """Return the cells that the rule gives if the rounding of the right rule is allowed."""
    statement = line.to_the_last_digit
    fits = fit(statement, value)
    with np.errstate(invalid="ignore"):
        within = np.abs(statement.value - value) <= statement.unit + reach
    return np.asarray(fits.half | fits.cut | fits.near | within)


@dataclass(frozen=True, eq=False)
class Proof:
    """The wrong cells that a rule explains; how many it proves, and how many cells of the line agree with it."""

    explained: Mask
    score: tuple[int, int]


def prove(line: WrongLine, results: list[Array], room: Room, *, is_near_enough: bool = False) -> Proof | None:
    """Judge a wrong rule by the cells in which it differs from the right one; None if it is not proved.

    It must give at least two wrong cells to the last digit, or the only one where nothing speaks against it; no right
    cell of their row may contradict it, and it must explain nearly all wrong cells of the line. Digits that differ by
    no more than the rounding of the lines above are enough if so many cells cannot have them by chance. With
    `is_near_enough`, digits that only come near always count: other choices may give them.
    """
    if not results:
        return None
    statement = line.to_the_last_digit
    fits = [fit(statement, result) for result in results]
    exact = np.logical_or.reduce([one.half | one.cut for one in fits])
    near = np.logical_or.reduce([_is_near(line, result, room.near) for result in results])
    with np.errstate(invalid="ignore"):
        within = [np.abs(statement.value - result) <= statement.unit / 2 + room.exact for result in results]
    if room.exact.any():
        exact = exact | np.logical_or.reduce(within)
    exact = near if is_near_enough else exact
    with np.errstate(invalid="ignore"):
        same = [(result == line.expected) | (np.abs(result - line.expected) < statement.unit) for result in results]
    differs = statement.is_written & ~np.logical_and.reduce(same)
    contrary = (differs & ~near & line.accepted).any(axis=1)
    explained = line.wrong & near & ~contrary[:, None]
    proof = Proof(explained, (int((exact & explained).sum()), int((exact & statement.is_written).sum())))
    if _is_no_coincidence(line, explained, results[0], room):
        return proof
    num_proved = proof.score[0]
    if (line.num_wrong - num_proved) * AGAINST > num_proved:
        return None
    with np.errstate(invalid="ignore"):
        is_clear = differs & ~(np.abs(results[0] - line.expected) < 2.0 * statement.unit)
    if num_proved < 2 and not (num_proved and _is_enough(line, differs, is_clear, exact)):
        return None
    return proof


def _is_no_coincidence(line: WrongLine, explained: Mask, result: Array, room: Room) -> bool:
    """Return whether a rule comes so near to several wrong cells that chance is excluded.

    The chance of a cell is the share of the numbers as far from the right one as the rule's own that are so near to it.
    """
    num_explained = int(explained.sum())
    if num_explained < 2 or (line.num_wrong - num_explained) * AGAINST > num_explained:
        return False
    with np.errstate(invalid="ignore", divide="ignore"):
        chances = (line.to_the_last_digit.unit + room.near) / np.abs(result - line.expected)
    usable = explained & np.isfinite(chances)
    return bool(usable.sum() > 1 and np.prod(np.minimum(chances[usable], 1.0)) <= _CHANCE)


def _is_enough(line: WrongLine, differs: Mask, is_clear: Mask, exact: Mask) -> bool:
    """Return whether one wrong cell is enough, because its line or its row has the digits of the wrong rule.

    It is the only cell of the line in which the rules differ (a ReLU of one negative number), or the other cells of its
    row or of its line that differ clearly are no more than plausible and have the digits of the wrong rule.
    """
    row = np.flatnonzero(line.wrong.any(axis=1))[0]
    if not (is_clear & line.wrong).any():
        return False
    if int(line.statement.is_written.sum()) > 1 and int(differs.sum()) == 1:
        return True
    agrees, clear = exact | ~differs, is_clear & exact
    return bool((agrees[row].all() and clear[row].sum() > 1) or (agrees.all() and clear.sum() > 1))
