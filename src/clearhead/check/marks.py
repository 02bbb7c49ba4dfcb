"""Give marks: M for the method of a line, A for its accuracy, A-ft where an earlier error is carried forward.

A teacher's scheme sets the marks of each line. Without one, a matrix is worth M1 A1, with A split by row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from clearhead.check.comparison import SheetComparison
from clearhead.check.diagnose import RootError
from clearhead.check.report import LineMarks
from clearhead.check.statement import JudgedStatement
from clearhead.check.verdict import ROUNDING_FAULTS, Verdict
from clearhead.worksheet.arrays import Array


class LineScheme(BaseModel):
    """The marks of one line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    M: float = Field(1.0, strict=True, ge=0, le=1000, description="marks for the method: right operands, right shape")
    A: float = Field(1.0, strict=True, ge=0, le=1000, description="marks for accuracy, split by row")


class Scheme(BaseModel):
    """How a working is marked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    problem: Any = Field(
        None, description="the exercise of all workings: a gallery id, a problem file, or the exercise itself"
    )
    marks: float | None = Field(
        None, strict=True, gt=0, le=10000, description="scale the total to this number of marks"
    )
    default: LineScheme = Field(default_factory=LineScheme, description="the marks of a line that is not in lines")
    lines: Mapping[str, LineScheme] = Field(
        default_factory=dict,
        description="the marks of single lines, by name (Q, weights, 'cross: A'); they count even if not written",
    )
    only_these: bool = Field(False, description="lines that are not named in lines earn no marks")
    strict_rounding: bool = Field(False, description="truncated and badly rounded numbers are errors")
    follow_through: bool = Field(
        True, description="a line that carries an earlier error forward earns its accuracy marks"
    )
    trivial_follow_through: bool = Field(
        False, description="allow follow-through even if the error made the rest trivial (all zero, identity, uniform)"
    )
    charge_repeats: bool = Field(False, description="deduct marks for the same error every time instead of once")


@dataclass(frozen=True, eq=False)
class MarkingContext:
    """The comparison, root errors and scheme that marks are based on.

    `charged` are the root errors that already cost the marks of a line that was not written.
    """

    comparison: SheetComparison
    roots: Sequence[RootError]
    scheme: Scheme
    charged: Sequence[RootError] = ()


def line_marks(
    ledger: MarkingContext, writings: Sequence[JudgedStatement], worth: LineScheme, *, asks_all: bool = False
) -> LineMarks:
    """Return the marks of one record, written once or in several parts (row by row, or repeated).

    With `asks_all`, a row that was not written earns nothing; otherwise only written rows count.
    """
    scheme = ledger.scheme
    merged = _merged_verdicts(writings)
    num_asked = sum(any(verdict is not Verdict.PRINTED for verdict in row) for row in merged)
    grid: Grid = [[None if verdict is Verdict.PRINTED else verdict for verdict in row] for row in merged]
    if num_asked < len(grid) and not any(verdict for row in grid for verdict in row):
        return LineMarks(0.0, worth.M, 0.0, worth.A, because="not written" if worth.M or worth.A else "")
    repeated = set() if scheme.charge_repeats else _repeated(ledger, writings)
    rows = [row for row in range(len(grid)) if any(grid[row])]
    verdicts = [verdict for row in grid for verdict in row if verdict is not None]
    if verdicts and all(verdict is Verdict.UNCHECKED for verdict in verdicts):
        return _unchecked_marks(ledger, worth)
    reasons = [_why_no_method(ledger, writings, grid, repeated)]
    method = 0.0 if reasons[0] else worth.M
    no_follow = _trivial_above(ledger, writings[0])
    good = num_followed = 0
    for row in rows:
        cells = [(row, column) for column, verdict in enumerate(grid[row]) if verdict is not None]
        is_good = all(_earns(grid[i][j], scheme, no_follow) or (i, j) in repeated for i, j in cells)
        good += is_good
        num_followed += is_good and any(grid[i][j] is Verdict.CARRIED for i, j in cells)
    count = num_asked if asks_all else len(rows)
    accuracy = worth.A * good / count if count else 0.0
    if good == len(rows) < count:
        reasons.append(f"{good} of {count} rows {'was' if good == 1 else 'were'} written")
    elif good < count:
        followed = f" ({num_followed} by follow-through)" if num_followed else ""
        reasons.append(
            f"{good} of {count} rows {'is' if good == 1 else 'are'} right{followed}"
            if count > 1
            else "the row is wrong"
        )
    reasons.append(_unchecked_rows(grid))
    if any(root.judged in writings for root in ledger.charged):
        reasons.append("the error costs marks only once, in the line that was not written")
    elif repeated:
        reasons.append("a repeated error costs marks only once")
    if no_follow and any(v is Verdict.CARRIED for v in verdicts):
        reasons.append("no follow-through, because an earlier error made this line trivial")
    return LineMarks(
        method, worth.M, accuracy, worth.A, num_followed > 0, "; ".join(reason for reason in reasons if reason)
    )


def _unchecked_marks(ledger: MarkingContext, worth: LineScheme) -> LineMarks:
    """Return the marks of a line that could not be checked: none, and with an unknown input it does not count."""
    if ledger.comparison.graph.has_unknown_input:
        return LineMarks(0.0, 0.0, 0.0, 0.0, because="not checked and not counted, because the input is unknown")
    return LineMarks(0.0, worth.M, 0.0, worth.A, because="the numbers could not be checked")


def _unchecked_rows(grid: "Grid") -> str:
    number = sum(Verdict.UNCHECKED in row for row in grid)
    return f"{number} {'row' if number == 1 else 'rows'} could not be checked" if number else ""


def _why_no_method(
    ledger: MarkingContext, writings: Sequence[JudgedStatement], grid: "Grid", repeated: set[tuple[int, int]]
) -> str:
    """Return why a line loses its method mark; empty if it does not."""
    verdicts = [verdict for row in grid for verdict in row if verdict is not None]
    if not verdicts:
        return ""
    if any(v is Verdict.MISCONCEPTION for v in _charged_verdicts(grid, repeated)):
        return "the method is wrong"
    if all(v is Verdict.TRUE for v in verdicts):
        return "the numbers do not follow from the previous line"
    if len(verdicts) > 1 and all(v in _NONSENSE for v in verdicts) and not _is_named(ledger, writings):
        return "none of the numbers follows from the previous line"
    if not any(v.is_accepted for v in verdicts) and Verdict.UNSUPPORTED in verdicts:
        return "there is not enough working"
    if all(v is Verdict.UNREADABLE for v in verdicts):
        return "the line cannot be read"
    return ""


def _earns(verdict: Verdict | None, scheme: Scheme, no_follow: bool) -> bool:
    if verdict is Verdict.CARRIED:
        return scheme.follow_through and not no_follow
    if scheme.strict_rounding and verdict in ROUNDING_FAULTS:
        return False
    return verdict is not None and verdict.is_accepted


Grid = list[list[Verdict | None]]
_NONSENSE = frozenset({Verdict.SLIP, Verdict.TRANSCRIPTION, Verdict.INVARIANT})
_UNNAMED = ("", "miscopied", "miscopied line")  # names of slips that do not explain a number


def _merged_verdicts(writings: Sequence[JudgedStatement]) -> Grid:
    """Return one verdict for each cell of the record: an error in any of its writings, otherwise the first verdict."""
    grid: Grid = [list(row) for row in writings[0].verdicts]
    for again in writings[1:]:
        for i, row in enumerate(again.verdicts):
            for j, verdict in enumerate(row):
                before = grid[i][j]
                if before is None or (verdict is not None and verdict.is_error and not before.is_error):
                    grid[i][j] = verdict
    return grid


def _charged_verdicts(grid: Grid, repeated: set[tuple[int, int]]) -> list[Verdict | None]:
    return [verdict for i, row in enumerate(grid) for j, verdict in enumerate(row) if (i, j) not in repeated]


def _is_named(ledger: MarkingContext, writings: Sequence[JudgedStatement]) -> bool:
    """Return whether the cause of an error of this line is known; a broken invariant is none."""
    return any(
        root.judged is judged and root.name not in _UNNAMED and root.verdict is not Verdict.INVARIANT
        for root in ledger.roots
        for judged in writings
    )


def _repeated(ledger: MarkingContext, writings: Sequence[JudgedStatement]) -> set[tuple[int, int]]:
    """Return the cells of this record with a slip that has already cost marks in an earlier line."""
    mine = {id(judged) for judged in writings}
    first = min(judged.statement.line for judged in writings)
    charged = {
        _same_slip(root) for root in ledger.roots if id(root.judged) not in mine and root.judged.statement.line < first
    }
    return {
        cell
        for root in ledger.roots
        if id(root.judged) in mine and (root in ledger.charged or _same_slip(root) in charged)
        for cell in root.cells
    }


def _same_slip(root: RootError) -> Any:
    if root.verdict is Verdict.MISCONCEPTION:
        return root.name
    if len(root.cells) != 1:
        return id(root)
    row, column = root.cells[0]
    text, right = root.judged.statement.texts[row][column], float(root.judged.expected[row, column])
    return (root.verdict, text, round(right, 9))


def _trivial_above(ledger: MarkingContext, judged: JudgedStatement) -> bool:
    """Return whether an earlier error made a line all zero, uniform or the identity where it should not be."""
    comparison = ledger.comparison
    if ledger.scheme.trivial_follow_through or not any(failed is not None for failed in comparison.failed):
        return False
    todo, visited = [*comparison.graph.parents[judged.statement.node]], set()
    while todo:
        node = todo.pop()
        if node in visited:
            continue
        visited.add(node)
        is_trivial = _is_trivial(comparison.x[node]) and not _is_trivial(comparison.right[node])
        if comparison.failed[node] is not None and is_trivial:
            return True
        todo += comparison.graph.parents[node]
    return False


def _is_trivial(value: Array) -> bool:
    if value.size < 2:
        return False
    is_identity = value.shape[0] == value.shape[1] and np.array_equal(value, np.eye(value.shape[0]))
    return bool(np.all(value == value.flat[0])) or is_identity
