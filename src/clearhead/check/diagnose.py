"""Name a root error: a misconception, a transcription error, or a wrong product in a sum.

A misconception is claimed only if it gives at least two cells, or an entire row, of the student's own digits, and the
right rule does not.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from clearhead.check.compare import SheetComparison
from clearhead.check.invariants import broken_invariants
from clearhead.check.misconceptions import variants
from clearhead.check.products import failing_product
from clearhead.check.statement import EXACT, JudgedStatement, Statement, fit
from clearhead.check.transcription import pen_slip
from clearhead.check.verdict import Verdict
from clearhead.check.wrong_rule import Site
from clearhead.worksheet.arrays import Array, Mask

Cell = tuple[int, int]
_MAX_SITES = 12  # unwritten lines above a wrong one that are searched for a misconception
_MAX_CLAIMS = 3  # misconceptions of one line
_MAX_EXCHANGED = 200  # wrong rows, and wrong cells, of one line among which two that were exchanged are searched for
_ALONE = 4  # wrong cells of one line that are reported one by one; more are reported together


@dataclass(frozen=True, eq=False)
class RootError:
    """A root error: its cells (tokens as rows), its name, and the record in which the rule was wrong."""

    judged: JudgedStatement
    cells: tuple[Cell, ...]
    verdict: Verdict
    name: str = ""
    site: int | None = None
    student_sum: str = ""


def diagnose(comparison: SheetComparison) -> list[RootError]:
    """Name every root error and set the verdict of its cells."""
    roots: list[RootError] = []
    for judged in comparison.judged:
        if judged.copy is None:
            roots += _line_roots(comparison, judged)
        else:
            roots += _pen_roots(judged, judged.where(Verdict.TRANSCRIPTION))
    return roots


def _line_roots(comparison: SheetComparison, judged: JudgedStatement) -> list[RootError]:
    roots = [
        RootError(judged, cells, Verdict.INVARIANT, sentence)
        for sentence, cells in broken_invariants(comparison, judged)
    ]
    miscopied = judged.where(Verdict.TRANSCRIPTION)
    slips = judged.where(Verdict.SLIP)
    if not miscopied.any() and not slips.any():
        return roots
    if slips.any():
        roots += _claims(comparison, judged, slips)
        slips = judged.where(Verdict.SLIP)
    for cells, name in _exchanges(judged, slips | miscopied):
        _set_verdict(judged, cells, Verdict.TRANSCRIPTION)
        roots.append(RootError(judged, cells, Verdict.TRANSCRIPTION, name))
        for row, column in cells:
            slips[row, column] = miscopied[row, column] = False
    roots += _pen_roots(judged, miscopied)
    return roots + _slip_roots(comparison, judged, slips)


def _set_verdict(judged: JudgedStatement, cells: tuple[Cell, ...], verdict: Verdict) -> None:
    for row, column in cells:
        judged.verdicts[row][column] = verdict


# Misconceptions


@dataclass(frozen=True, eq=False)
class _Claim:
    name: str
    site: int
    explained: Mask
    score: tuple[int, int, int]  # explained cells, cells of the line that agree, and cells that agree to the last digit


def _claims(comparison: SheetComparison, judged: JudgedStatement, slips: Mask) -> Iterator[RootError]:
    for _ in range(_MAX_CLAIMS):
        best: _Claim | None = None
        for claim in _hypotheses(comparison, judged, slips):
            if best is None or claim.score > best.score:
                best = claim
        if best is None:
            return
        cells = tuple((row, column) for row, column in np.argwhere(best.explained).tolist())
        _set_verdict(judged, cells, Verdict.MISCONCEPTION)
        slips = slips & ~best.explained
        yield RootError(judged, cells, Verdict.MISCONCEPTION, best.name, best.site)
        if not slips.any():
            return


def _hypotheses(comparison: SheetComparison, judged: JudgedStatement, slips: Mask) -> Iterator[_Claim]:
    index = judged.statement.node
    sites = [index, *sorted(comparison.unwritten_above(index), reverse=True)[:_MAX_SITES]]
    sources = [comparison.x]
    if any(not np.array_equal(comparison.x[node], comparison.hat[node]) for node in comparison.written_above(index)):
        sources.append(comparison.hat)
    reach = comparison.rounding_radius(index)
    for values in sources:
        for node in sites:
            site = Site(comparison.graph, node, comparison.fetch(values))
            for variant in variants(site, comparison.graph.records[node].value.shape):
                value = variant.value
                if node != index:
                    changed = list(values)
                    changed[node] = value
                    value = comparison.reworked(index, changed, {node})
                claim = _claim(judged, slips, _Hypothesis(variant.name, node, value, reach))
                if claim is not None:
                    yield claim


@dataclass(frozen=True, eq=False)
class _Hypothesis:
    """The values that a misconception gives at a record, and how much rounding of its inputs may have changed them."""

    name: str
    site: int
    value: Array
    reach: Array


def _claim(judged: JudgedStatement, slips: Mask, idea: _Hypothesis) -> _Claim | None:
    statement, value = _to_the_last_digit(judged), idea.value
    fits = fit(statement, value)
    with np.errstate(invalid="ignore"):
        good = fits.half | fits.cut | fits.near | (np.abs(statement.value - value) <= statement.unit + idea.reach)
    if int((good & slips).sum()) < min(2, int(slips.sum())):
        return None
    is_written = statement.is_written
    rows = np.all(good | ~is_written, axis=1)
    explained = slips & rows[:, None]
    number = int(explained.sum())
    is_whole_row = any(explained[row].any() and is_written[row].sum() >= 2 for row in range(len(rows)))
    if number == 0 or not (number >= 2 or is_whole_row):
        return None
    # A wrong rule that hardly differs from the right one can explain a single slip by chance: require a second cell.
    apart = explained & ~fit(statement, judged.expected).near
    if int(apart.sum()) < 2 and not _is_telling(judged, value, explained):
        return None
    agree = int((good & is_written).sum())
    return _Claim(idea.name, idea.site, explained, (number, agree, int((fits.half & explained).sum())))


def _to_the_last_digit(judged: JudgedStatement) -> Statement:
    """Use a unit of 1 where the written and the right numbers are integers: 40 for 50 was not rounded to tens."""
    statement, right = judged.statement, judged.expected
    with np.errstate(invalid="ignore"):
        is_exact = statement.is_whole & (np.abs(right - np.round(right)) <= EXACT)
    unit = np.where(is_exact, np.minimum(statement.unit, 1.0), statement.unit)
    return replace(statement, unit=unit, unit_inwards=np.minimum(statement.unit_inwards, unit))


def _is_telling(judged: JudgedStatement, value: Array, explained: Mask) -> bool:
    """Return whether the rule changes other cells of the row by a unit or more and they agree with it."""
    rows = np.asarray(explained.any(axis=1))
    unit = np.maximum(judged.statement.unit, 1e-12)
    with np.errstate(invalid="ignore"):
        differs = np.abs(value - judged.expected) >= unit
    return bool((differs & rows[:, None] & judged.statement.is_written).sum() >= 2)


# Transcription errors


def _exchanges(judged: JudgedStatement, wrong: Mask) -> Iterator[tuple[tuple[Cell, ...], str]]:
    """Find right numbers in the wrong place: a transposed matrix, two swapped rows or two swapped cells."""
    cells: list[Cell] = [(row, column) for row, column in np.argwhere(wrong).tolist()]
    if len(cells) < 2:
        return
    statement, right = judged.statement, judged.expected
    everywhere = statement.is_written
    if right.shape[0] == right.shape[1] and right.shape[0] > 1:
        turned = fit(statement, right.T)
        if len(cells) >= 2 and np.all((turned.half | turned.cut) | ~everywhere) and _differ(judged, right.T, wrong):
            yield tuple(cells), "rows and columns exchanged"
            return
    rows = sorted({row for row, _ in cells})
    for first, second in combinations(rows, 2) if len(rows) <= _MAX_EXCHANGED and right.shape[1] > 1 else ():
        pair, other = [first, second], [second, first]
        swapped = fit(_rows_of(statement, pair), right[other])
        if np.all(swapped.half | swapped.cut | ~everywhere[pair]):
            inside = tuple(cell for cell in cells if cell[0] in pair)
            if len(inside) >= 2:
                yield inside, "two rows exchanged"
                return
    for number, (i, j) in enumerate(cells if len(cells) <= _MAX_EXCHANGED else ()):
        for k, m in cells[number + 1 :]:
            if _is_number(judged, (i, j), right[k, m]) and _is_number(judged, (k, m), right[i, j]):
                yield ((i, j), (k, m)), "two numbers exchanged"
                return


def _rows_of(statement: Statement, rows: list[int]) -> Statement:
    """Return some rows of a statement, without their texts."""
    return replace(
        statement,
        value=statement.value[rows],
        unit=statement.unit[rows],
        unit_inwards=statement.unit_inwards[rows],
        is_whole=statement.is_whole[rows],
        unreadable=statement.unreadable[rows],
        texts=(),
    )


def _differ(judged: JudgedStatement, other: Array, wrong: Mask) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(np.any((np.abs(other - judged.expected) > judged.statement.unit) & wrong))


def _is_number(judged: JudgedStatement, cell: Cell, number: float) -> bool:
    unit = judged.statement.unit[cell] or 1e-9
    return bool(abs(judged.statement.value[cell] - number) <= unit / 2 * (1 + 1e-9))


def _pen_roots(judged: JudgedStatement, wrong: Mask) -> list[RootError]:
    roots = []
    for row, column in np.argwhere(wrong).tolist():
        name = pen_slip(judged.statement.texts[row][column], float(judged.expected[row, column])) or "miscopied"
        roots.append(RootError(judged, ((row, column),), Verdict.TRANSCRIPTION, name))
    if len(roots) > _ALONE:
        return [RootError(judged, tuple(root.cells[0] for root in roots), Verdict.TRANSCRIPTION, "miscopied line")]
    return roots


def _slip_roots(comparison: SheetComparison, judged: JudgedStatement, slips: Mask) -> list[RootError]:
    if not slips.any():
        return []
    index = judged.statement.node
    roots: list[RootError] = []
    for row, column in np.argwhere(slips).tolist():
        text, right = judged.statement.texts[row][column], float(judged.expected[row, column])
        slip = pen_slip(text, right)
        product = (
            None if slip in ("sign", "decimal slip", "digit swap") else failing_product(comparison, judged, row, column)
        )
        if product is not None:
            roots.append(RootError(judged, ((row, column),), Verdict.SLIP, product.name, None, product.student_sum))
        elif slip or comparison.graph.is_move[index]:
            judged.verdicts[row][column] = Verdict.TRANSCRIPTION
            roots.append(RootError(judged, ((row, column),), Verdict.TRANSCRIPTION, slip or "miscopied"))
        else:
            roots.append(RootError(judged, ((row, column),), Verdict.SLIP))
    named = [root for root in roots if root.verdict is not Verdict.SLIP or root.name]
    plain = [root for root in roots if root.verdict is Verdict.SLIP and not root.name]
    if len(plain) > _ALONE:
        return [*named, RootError(judged, tuple(root.cells[0] for root in plain), Verdict.SLIP)]
    return roots
