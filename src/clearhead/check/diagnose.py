"""Name a root error, where its cause can be seen: a misconception, a slip of the pen, or a wrong product in a sum.

A cause is named only if it gives the student's own digits. Where most of a line is wrong and no rule gives it, the line
is reported as one that does not follow.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clearhead.check.claims import Claim, best_claim, student_sum
from clearhead.check.comparison import SheetComparison
from clearhead.check.exchanges import exchanged_cells
from clearhead.check.invariants import broken_invariants
from clearhead.check.products import failing_product
from clearhead.check.statement import JudgedStatement
from clearhead.check.transcription import pen_slip
from clearhead.check.verdict import Verdict
from clearhead.check.wrong_line import WrongLine, wrong_line
from clearhead.worksheet.arrays import Mask

Cell = tuple[int, int]
_ALONE = 4  # wrong cells of one line that are reported one by one; more are reported together
_REWRITTEN = {  # the digits of the right number; of a number that was calculated, they only suggest the cause
    "digit swap": "as if two digits were swapped",
    "decimal slip": "as if the decimal point were misplaced",
}
_WEIGHT, _SCORE = "a masked key must have weight 0", "a masked score must be -∞"


@dataclass(frozen=True, eq=False)
class RootError:
    """A root error: its cells (tokens as rows), its name, and the record in which the rule was wrong.

    `broken` is a property that the cells must have, if that is all that is known.
    """

    judged: JudgedStatement
    cells: tuple[Cell, ...]
    verdict: Verdict
    name: str = ""
    site: int | None = None
    student_sum: str = ""
    broken: str = ""


def diagnose(comparison: SheetComparison) -> list[RootError]:
    """Name every root error and set the verdict of its cells."""
    writings: dict[int, list[JudgedStatement]] = {}
    for judged in comparison.judged:
        if judged.copy is None:
            writings.setdefault(judged.statement.node, []).append(judged)
    roots: list[RootError] = []
    for judged in comparison.judged:
        if judged.copy is not None:
            roots += _pen_roots(judged, judged.where(Verdict.TRANSCRIPTION))
        elif judged is writings[judged.statement.node][0]:
            roots += _record_roots(comparison, writings[judged.statement.node])
    return roots


def _record_roots(comparison: SheetComparison, writings: Sequence[JudgedStatement]) -> Iterator[RootError]:
    """Name the root errors of one record, in all its writings."""
    for judged in writings:
        for sentence, cells in broken_invariants(comparison, judged):
            yield RootError(judged, cells, Verdict.INVARIANT, sentence)
    line = wrong_line(writings)
    if line.wrong.any():
        claim = best_claim(comparison, line)
        if claim is not None:
            yield from _claim_roots(comparison, writings, claim)
            line = replace(line, wrong=line.wrong & ~claim.explained)
    for judged in writings:
        yield from _line_roots(comparison, judged, line)


def _line_roots(comparison: SheetComparison, judged: JudgedStatement, line: WrongLine) -> Iterator[RootError]:
    if not judged.has(Verdict.TRANSCRIPTION, Verdict.SLIP):
        return
    miscopied = judged.where(Verdict.TRANSCRIPTION)
    slips = judged.where(Verdict.SLIP) & line.wrong
    if not miscopied.any() and not slips.any():
        return
    exchange = exchanged_cells(line)
    if exchange is not None:
        own = tuple(cell for cell in exchange.cells if (slips | miscopied)[cell])
        if own:
            _set_verdict(judged, own, Verdict.TRANSCRIPTION)
            yield RootError(judged, own, Verdict.TRANSCRIPTION, exchange.name)
        return
    yield from _pen_roots(judged, miscopied)
    yield from _slip_roots(comparison, judged, slips, line)


def _set_verdict(judged: JudgedStatement, cells: Sequence[Cell], verdict: Verdict) -> None:
    for row, column in cells:
        judged.verdicts[row][column] = verdict


def _claim_roots(comparison: SheetComparison, writings: Sequence[JudgedStatement], claim: Claim) -> Iterator[RootError]:
    """Name the wrong rule of a line, in each of its writings that it explains."""
    verdict = Verdict.SLIP if claim.is_slip else Verdict.MISCONCEPTION
    for judged in writings:
        own = claim.explained & judged.where(Verdict.SLIP, Verdict.TRANSCRIPTION)
        cells = _cells(own)
        if cells:
            shown = student_sum(comparison, wrong_line([judged]), claim, cells[0])
            _set_verdict(judged, cells, verdict)
            yield RootError(judged, cells, verdict, claim.name, claim.site, shown)


def _cells(mask: Mask) -> tuple[Cell, ...]:
    return tuple((row, column) for row, column in np.argwhere(mask).tolist())


def _pen_roots(judged: JudgedStatement, wrong: Mask) -> list[RootError]:
    """Name the cells that were copied, or that later lines show to be miscopied."""
    cells = _cells(wrong)
    if len(cells) > _ALONE:
        return [RootError(judged, cells, Verdict.TRANSCRIPTION, "miscopied line")]
    roots = []
    for row, column in cells:
        name = pen_slip(judged.statement.texts[row][column], float(judged.expected[row, column])) or "miscopied"
        roots.append(RootError(judged, ((row, column),), Verdict.TRANSCRIPTION, name))
    return roots


def _slip_roots(
    comparison: SheetComparison, judged: JudgedStatement, slips: Mask, line: WrongLine
) -> Iterator[RootError]:
    cells = _cells(slips)
    plain: list[Cell] = []
    for cell in cells:
        root = _named_slip(comparison, judged, cell, line)
        if root is None:
            plain.append(cell)
            continue
        _set_verdict(judged, root.cells, root.verdict)
        yield root
    masked = _masked_cells(comparison, judged)
    rows = {row for row, column in plain if masked[row, column]}
    if rows:
        together = tuple(cell for cell in plain if cell[0] in rows)
        is_weight = comparison.graph.records[judged.statement.node].step.name == "softmax"
        yield RootError(judged, together, Verdict.SLIP, broken=_WEIGHT if is_weight else _SCORE)
        plain = [cell for cell in plain if cell[0] not in rows]
    if len(plain) > _ALONE or (len(plain) > 1 and line.is_mostly_wrong):
        yield RootError(judged, tuple(plain), Verdict.SLIP)
        return
    for cell in plain:
        yield RootError(judged, (cell,), Verdict.SLIP)


def _masked_cells(comparison: SheetComparison, judged: JudgedStatement) -> Mask:
    """Return the cells of masked keys, in a line of masked scores or of weights."""
    graph, node = comparison.graph, judged.statement.node
    if graph.records[node].step.name == "mask":
        return np.asarray(np.isneginf(judged.expected))
    is_below_mask = any(graph.records[parent].step.name == "mask" for parent in graph.parents[node])
    return np.asarray(judged.expected == 0.0) & (graph.records[node].step.name == "softmax" and is_below_mask)


def _named_slip(comparison: SheetComparison, judged: JudgedStatement, cell: Cell, line: WrongLine) -> RootError | None:
    """Return the slip in one cell with its cause, or None: no cause is seen, or most of the line is wrong."""
    row, column = cell
    node, is_alone = judged.statement.node, line.num_wrong == 1
    slip = pen_slip(judged.statement.texts[row][column], float(judged.expected[row, column]))
    is_used_right = node in comparison.culprits  # a later line was worked from the right number
    is_copied = comparison.graph.is_move[node]
    if is_alone and slip and (is_used_right or (is_copied and slip in _REWRITTEN)):
        return RootError(judged, (cell,), Verdict.TRANSCRIPTION, slip)
    if is_alone and slip in _REWRITTEN:
        return RootError(judged, (cell,), Verdict.SLIP, _REWRITTEN[slip])
    if line.is_mostly_wrong:
        return None
    if is_copied:
        return None if line.is_half_wrong else RootError(judged, (cell,), Verdict.TRANSCRIPTION, slip or "miscopied")
    product = failing_product(comparison, judged, row, column)
    if product is not None:
        return RootError(judged, (cell,), Verdict.SLIP, product.name, None, product.student_sum)
    if slip == "sign" and is_alone:
        return RootError(judged, (cell,), Verdict.SLIP, "as if the result had the other sign")
    return None
