"""Find workings that look copied: the same wrong numbers, or the numbers of another variant of the same sheet.

A teacher decides what a resemblance means; the table only says how many numbers two workings share.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from clearhead.check.verdict import Verdict

if TYPE_CHECKING:
    from clearhead.check.classroom import StudentResult

_ALIKE = 0.9  # the share of wrong numbers that two workings must have in common to be reported
_LEAST_ALIKE = 2  # the fewest wrong numbers in common
_LEAST_COPIED = 4  # the fewest different numbers that come from another variant: fewer can be equal by chance

CellKey = tuple[int, str, str, int, int]  # exercise, part of the model, symbol, row and column


@dataclass(frozen=True)
class LookAlike:
    """Two workings with nearly the same wrong numbers.

    With `is_other_variant`, the two sheets differ, and the wrong numbers of `first` are the ones that `second` wrote.
    """

    first: str
    second: str
    num_shared: int
    num_wrong: int
    is_other_variant: bool = False

    @property
    def sentence(self) -> str:
        """What the two workings share."""
        if self.is_other_variant:
            return (
                f"{self.num_shared} of {self.num_wrong} wrong numbers of {self.first} are the numbers of "
                f"{self.second}, who has another variant of the sheet"
            )
        return (
            f"{self.first} and {self.second} share {self.num_shared} of {self.num_wrong} numbers that differ from the "
            "solution"
        )


@dataclass(frozen=True)
class _Numbers:
    """The numbers of one working, all of them, the wrong ones and the student's own slips."""

    student: str
    sheet: str
    texts: dict[CellKey, str]
    wrong: frozenset[CellKey]
    slips: frozenset[CellKey]


def look_alikes(results: "Sequence[StudentResult]") -> tuple[LookAlike, ...]:
    """Return pairs of workings with nearly the same wrong numbers; a shared misconception alone does not count.

    Workings of different variants have different right numbers, so they are compared only for numbers that one student
    took from the other's sheet.
    """
    workings = [_numbers(result) for result in results if result.reports]
    pairs = [_same_errors(one, other) for one, other in combinations(workings, 2) if one.sheet == other.sheet]
    pairs += [
        _other_variant(one, other)
        for one, other in permutations(workings, 2)
        if one.sheet and other.sheet and one.sheet != other.sheet
    ]
    return tuple(pair for pair in pairs if pair is not None)


def _same_errors(one: _Numbers, other: _Numbers) -> LookAlike | None:
    either = one.wrong | other.wrong
    shared = {key for key in one.wrong & other.wrong if one.texts[key] == other.texts[key]}
    is_alike = len(shared) >= max(_LEAST_ALIKE, _ALIKE * len(either)) and bool(shared & one.slips & other.slips)
    return LookAlike(one.student, other.student, len(shared), len(either)) if is_alike else None


def _other_variant(one: _Numbers, other: _Numbers) -> LookAlike | None:
    wrong = one.wrong & other.texts.keys()
    shared = {key for key in wrong if one.texts[key] == other.texts[key]}
    num_different = len({one.texts[key] for key in shared})
    is_alike = num_different >= _LEAST_COPIED and len(shared) >= _ALIKE * len(wrong)
    return LookAlike(one.student, other.student, len(shared), len(wrong), is_other_variant=True) if is_alike else None


def _numbers(result: "StudentResult") -> _Numbers:
    cells = list(_cells(result))
    return _Numbers(
        result.student,
        " ".join(report.sheet for report in result.reports).strip(),
        {key: text for key, text, _ in cells},
        frozenset(key for key, _, verdict in cells if verdict.is_error or verdict is Verdict.CARRIED),
        frozenset(key for key, _, verdict in cells if verdict in (Verdict.SLIP, Verdict.TRANSCRIPTION)),
    )


def _cells(result: "StudentResult") -> Iterator[tuple[CellKey, str, Verdict]]:
    for number, report in enumerate(result.reports):
        for line in report.lines:
            symbol = f"{line.symbol} in {line.copy_of}" if line.copy_of else line.symbol
            for cell in line.marked:
                yield (number, line.where, symbol, cell.row, cell.column), cell.text, cell.verdict
