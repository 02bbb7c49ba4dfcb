"""The seven rules: compare every written cell with what the student's own earlier lines give.

f(x) is calculated from the parents' digits as written. f(x̂) is calculated from what those digits represent: the
unrounded value of an accepted parent, the written digits of a failed one. The first rule that fits gives the verdict.
A cell that fits no rule is a root error, because its parents were taken as the student wrote them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from clearhead.check.comparison import SheetComparison, SheetInput
from clearhead.check.graph import FromGiven, FromRecord
from clearhead.check.image import SHORTENED
from clearhead.check.reach import Reach
from clearhead.check.record_image import RecordImages
from clearhead.check.statement import Copy, Fit, JudgedStatement, Statement, fit
from clearhead.check.verdict import Verdict
from clearhead.worksheet.arrays import Array, Mask

PROVED = (Verdict.CORRECT, Verdict.ROUNDED, Verdict.TRUNCATED)
_SURE = 3  # with this number of right cells, a line shows how its inner numbers were kept
_MAX_RUNS = 4  # a sheet is compared again when a number turns out to be only miscopied


def compare(sheet: SheetInput) -> SheetComparison:
    """Judge every written cell; again if numbers may have been cut, or turn out to be only miscopied."""
    with np.errstate(all="ignore"):  # infinities and 0/0 come from masked scores and empty rows, which are handled
        done = _Judge(sheet).run()
        if done.num_wrong and done.is_cutter:
            done = _Judge(replace(sheet, miscopied=frozenset(), may_cut=True)).run()
        for _ in range(_MAX_RUNS):
            if done.culprits <= done.sheet.miscopied:
                break
            other = _Judge(replace(done.sheet, miscopied=done.sheet.miscopied | done.culprits)).run()
            if other.num_wrong > done.num_wrong:  # some lines did use the wrong number
                return _Judge(replace(done.sheet, is_lenient=False)).run()
            done = other
        return done


class _Judge:
    """Judge a sheet, record by record."""

    def __init__(self, sheet: SheetInput) -> None:
        self.sheet, self.done = sheet, SheetComparison(sheet)

    def run(self) -> SheetComparison:
        """Judge every written cell, in the order of the sheet."""
        for copy in self.done.copies:
            if isinstance(copy.source, FromGiven):
                self._judge_copy(copy)
        for index in range(len(self.done.graph)):
            self._judge_record(index)
            for copy in self.done.copies:
                if copy.source == FromRecord(index):
                    self._judge_copy(copy)
        return self.done

    # One record

    def _judge_record(self, index: int) -> None:
        own = self.done.statements.get(index, ())
        hat = self.done.graph.work(index, self.done.fetch(self.done.hat))
        as_written = self.done.graph.work(index, self.done.fetch(self.done.x))
        is_below = self._any_bad_above(index)
        right = self.done.graph.work(index, self.done.fetch(self.done.right)) if is_below else hat
        right_x = self.done.graph.work(index, self.done.fetch(self.done.right_x)) if is_below else as_written
        tainted, unknown = (
            self.done.affected_cells(index, self.done.bad),
            self.done.affected_cells(index, self.done.unknown),
        )
        if (index in self.sheet.blind and not own) or self.done.graph.has_unknown_input:
            unknown = np.ones(hat.shape, dtype=bool)
        self.done.x.append(as_written)
        self.done.hat.append(hat)
        self.done.right.append(right)
        self.done.right_x.append(right_x)
        self.done.bad.append(tainted)
        self.done.failed.append(None)
        self.done.unknown.append(unknown)
        before = np.zeros(hat.shape, dtype=bool)
        for statement in own:
            if statement.line in self.sheet.printed:
                self._take_printed(index, statement)
            else:
                self._judge(index, statement, _References(as_written, hat), before)
            before = before | statement.is_written

    def _take_printed(self, index: int, statement: Statement) -> None:
        """Take the numbers that a practice sheet prints: they are right, whatever the student wrote above them."""
        done, cells, value = self.done, statement.is_written, self.done.graph.records[index].value
        truth = np.where(fit(statement, value).half, value, statement.value)
        judged = JudgedStatement(statement, _blank(cells), truth)
        judged.set(cells, Verdict.PRINTED)
        done.judged.append(judged)
        for values, printed in ((done.x, statement.value), (done.hat, truth)):
            values[index] = np.where(cells, printed, values[index])
        for values, printed in ((done.right_x, statement.value), (done.right, truth)):
            values[index] = np.where(cells, printed, values[index])
        for masks in (done.bad, done.unknown):
            mask = masks[index]
            masks[index] = None if mask is None or not (mask & ~cells).any() else mask & ~cells
        for images in (*done.images, done.gap_images):
            images.forget(index)

    def _any_bad_above(self, index: int) -> bool:
        return any(self.done.bad[parent] is not None for parent in self.done.graph.parents[index])

    def _judge(self, index: int, statement: Statement, references: "_References", before: Mask) -> None:
        """Judge one writing of a record; `before` marks the cells that an earlier writing already has."""
        x, hat = references.x, references.hat
        from_hat, from_x = fit(statement, hat), fit(statement, x)
        either = from_hat | from_x
        new_cells = statement.is_written & ~before
        judged = JudgedStatement(statement, _blank(new_cells), np.where(from_hat.half & ~from_x.half, hat, x))
        tainted = self.done.bad[index]
        if (statement.is_written & before).any():
            self._judge_repeats(index, judged, either, from_hat, before)
        remaining = self._apply_rules_1_to_4(judged, new_cells, either, from_hat, tainted)
        is_up = np.abs(statement.value) > np.maximum(np.abs(hat), np.abs(x)) + 0.01 * statement.unit
        self.done.num_up += int((is_up & (from_hat.half & from_x.half)).sum())
        self.done.num_cut += int((new_cells & ~remaining & either.cut & ~either.half).sum())
        if remaining.any() and (self.done.copies or self.done.miswritten):
            remaining = self._accept_from_copies(index, judged, remaining)
        unknown = self.done.unknown[index]
        unchecked = remaining & unknown if unknown is not None else np.zeros(remaining.shape, dtype=bool)
        judged.set(unchecked, Verdict.UNCHECKED)
        remaining = remaining & ~unchecked
        if remaining.any():
            self._set_inner_unit(index, judged, remaining)
            remaining = self._accept_plausible(index, judged, remaining, hat, is_cut=False)
        if remaining.any() and tainted is not None:
            remaining = self._accept_from_right_parents(index, judged, remaining & tainted) | (remaining & ~tainted)
        if remaining.any() and self.sheet.may_cut:
            remaining = self._accept_plausible(index, judged, remaining, hat, is_cut=True)
        if remaining.any() and tainted is not None:
            remaining = self._accept_near_right_parents(index, judged, remaining & tainted) | (remaining & ~tainted)
            is_true = remaining & tainted & fit(statement, self.done.graph.records[index].value).half
            judged.set(is_true, Verdict.TRUE)
            remaining = remaining & ~is_true
        unsupported = self._unsupported(index, judged, remaining, hat)
        judged.set(unsupported, Verdict.UNSUPPORTED)
        remaining = remaining & ~unsupported
        is_miscopied = index in self.sheet.miscopied
        judged.set(remaining, Verdict.TRANSCRIPTION if is_miscopied else Verdict.SLIP)
        judged.set(statement.unreadable, Verdict.UNREADABLE)
        self.done.judged.append(judged)
        accepted_value = np.where(
            unchecked | unsupported, statement.value, np.where(from_hat.half | ~from_x.half, hat, x)
        )
        self._store_values(index, statement, new_cells, remaining, _References(x, accepted_value))

    def _set_inner_unit(self, index: int, judged: JudgedStatement, remaining: Mask) -> None:
        """If nearly all cells of a line are right to the last digit, its inner numbers were not kept much coarser."""
        statement = judged.statement
        proved = judged.where(Verdict.CORRECT, Verdict.ROUNDED) & ~statement.is_whole & (statement.unit > 0.0)
        if int(proved.sum()) >= max(_SURE, 3 * int(remaining.sum())):
            for images in (*self.done.images, self.done.gap_images):
                images.set_inner_unit(index, 10.0 * float(np.max(statement.unit[proved])))

    def _accept_plausible(
        self, index: int, judged: JudgedStatement, remaining: Mask, hat: Array, *, is_cut: bool
    ) -> Mask:
        """Apply rule 5. Cut numbers are allowed only after everything else was tried."""
        images = self.done.images[is_cut]
        if self.sheet.is_in_full:  # a program shortens nothing
            if self.done.graph.records[index].step.name in SHORTENED:
                return remaining
            meets = remaining & images.meets(judged.statement, images.image(index), hat)
            judged.set(meets, Verdict.PLAUSIBLE)
            return remaining & ~meets
        reached = self.done.reach.of(index)
        gap = reached.gap
        meets = remaining & images.meets(judged.statement, reached.range, hat)
        if not reached.is_complete:  # lines that were not written may have been cut, even if the others are rounded
            bounds = self.done.gap_images.image(index) if gap.any() else images.image(index)
            meets &= images.meets(judged.statement, images.image(index), hat) | (
                gap & images.meets(judged.statement, bounds, hat)
            )
        if reached.states is not None and meets.any():
            meets &= reached.agree(judged.statement, judged.where(*PROVED))
        meets &= ~reached.is_wide(judged.statement)
        judged.set(meets, Verdict.PLAUSIBLE)
        return remaining & ~meets

    def _unsupported(self, index: int, judged: JudgedStatement, remaining: Mask, hat: Array) -> Mask:
        """Return the cells that cannot be judged because lines are missing: a faultless person might have them."""
        if self.sheet.is_in_full or not remaining.any():
            return np.zeros(remaining.shape, dtype=bool)
        reached = self.done.reach.of(index)
        if reached.is_complete or not reached.gap.any():
            return np.zeros(remaining.shape, dtype=bool)
        images = self.done.images[self.sheet.may_cut]
        meets = images.meets(judged.statement, images.image(index), hat)
        return np.asarray(remaining & meets & reached.gap & ~reached.is_far(judged.statement))

    def _is_coarse(self, statement: Statement) -> Mask:
        """Return the cells with fewer decimals than the practice sheet asks for: 0.9 is no rounding of 0.826."""
        stated = self.sheet.stated_unit
        return statement.unit > (np.inf if stated is None else 1.5 * stated)

    def _apply_rules_1_to_4(
        self, judged: JudgedStatement, cells_to_judge: Mask, either: Fit, from_hat: Fit, tainted: Mask | None
    ) -> Mask:
        """Apply rules 1 to 4 and return the cells that fit none of them."""
        remaining = cells_to_judge.copy()
        for cells, verdict in (
            (from_hat.half, Verdict.CORRECT),
            (either.half, Verdict.ROUNDED),
            (either.cut, Verdict.TRUNCATED),
            (either.near & ~self._is_coarse(judged.statement), Verdict.ROUNDING),
        ):
            hits = remaining & cells
            if hits.any():
                is_proved = verdict in (Verdict.CORRECT, Verdict.ROUNDED)
                self._accept(judged, hits, verdict, tainted if is_proved else None)
                remaining &= ~cells
        return remaining

    def _accept(self, judged: JudgedStatement, cells: Mask, verdict: Verdict, tainted: Mask | None) -> None:
        if tainted is None:
            judged.set(cells, verdict)
            return
        judged.set(cells & ~tainted, verdict)
        judged.set(cells & tainted, Verdict.CARRIED)

    def _accept_from_copies(self, index: int, judged: JudgedStatement, remaining: Mask) -> Mask:
        """Accept what follows from a factor as copied: the error is in the copy."""
        wrong = self.done.affected_cells(index, self.done.bad, with_copies=True)
        if wrong is None:
            return remaining
        reference = self.done.graph.work(index, self.done.fetch(self.done.x, index, with_copies=True))
        fits = fit(judged.statement, reference)
        hits = remaining & wrong & (fits.half | fits.cut | fits.near)
        judged.set(hits, Verdict.CARRIED)
        judged.expected = np.where(hits, reference, judged.expected)
        self.done.followed[index] = hits
        old = self.done.bad[index]
        self.done.bad[index] = hits if old is None else old | hits
        return remaining & ~hits

    def _accept_from_right_parents(self, index: int, judged: JudgedStatement, remaining: Mask) -> Mask:
        """Apply rule 6: a cell follows from the right value of a failed parent, which was therefore only miscopied."""
        for reference, culprits in self._values_from_right_parents(index):
            fits = fit(judged.statement, reference)
            hits = remaining & (fits.half | fits.cut)
            if hits.any():
                judged.set(hits, Verdict.CORRECT)
                judged.expected = np.where(hits, reference, judged.expected)
                self.done.culprits |= set(culprits)
                remaining = remaining & ~hits
            if not remaining.any():
                break
        return remaining

    def _failed_above(self, index: int) -> list[int]:
        """Return the nearest earlier records with failed cells, across lines that were not completely written."""
        failed_nodes, todo, visited = [], [*self.done.graph.parents[index]], {index}
        while todo:
            node = todo.pop()
            if node in visited:
                continue
            visited.add(node)
            if self.done.failed[node] is not None:
                failed_nodes.append(node)
            own = self.done.statements.get(node, ())
            if not own or not np.logical_or.reduce([statement.is_written for statement in own]).all():
                todo += self.done.graph.parents[node]
        return sorted(failed_nodes)

    def _accept_near_right_parents(self, index: int, judged: JudgedStatement, remaining: Mask) -> Mask:
        """Apply rule 6 with roundings in between: a cell can be reached from the right parents."""
        failed = self._failed_above(index)
        if not failed or not remaining.any() or not self.sheet.is_lenient:
            return remaining
        values = list(self.done.x)
        images = RecordImages(
            self.done.graph, self.done.statements, values, self.sheet.rounded, is_cut=self.sheet.may_cut
        )
        for node in failed:
            values[node] = self.done.right_x[node]
            wrong = self.done.failed[node]
            assert wrong is not None
            images.correct(node, wrong, values[node])
        reach = Reach(self.done.graph, images.statements, values, images)
        meets = images.meets(judged.statement, reach.of(index).range, self.done.right[index])
        meets = np.asarray(remaining & np.all(meets | ~remaining, axis=1, keepdims=True))  # one can fit by chance
        if meets.any():
            judged.set(meets, Verdict.PLAUSIBLE)
            self.done.culprits |= set(failed)
        return remaining & ~meets

    def _values_from_right_parents(self, index: int) -> Iterator[tuple[Array, list[int]]]:
        """Calculate the record from the right values of all failed parents, then of each one alone."""
        failed = self._failed_above(index)
        if not failed:
            return
        yield self.done.right[index], failed
        yield self.done.right_x[index], failed
        if 1 < len(failed) <= 4:
            for node in failed:
                for right in (self.done.right, self.done.right_x):
                    values = list(self.done.x)
                    values[node] = right[node]
                    yield self.reworked(index, values, {node}), [node]

    def reworked(self, index: int, values: list[Array], changed: set[int]) -> Array:
        """Recalculate a record after the values at `changed` were replaced, through the unwritten lines."""
        chain = [node for node in sorted(self.done.unwritten_above(index)) if self._depends_on(node, changed)]
        for node in chain:
            values[node] = self.done.graph.work(node, self.done.fetch(values))
        return self.done.graph.work(index, self.done.fetch(values))

    def _depends_on(self, node: int, changed: set[int]) -> bool:
        if changed & set(self.done.graph.parents[node]):
            changed.add(node)
            return True
        return False

    def _store_values(
        self, index: int, statement: Statement, new_cells: Mask, failed: Mask, references: "_References"
    ) -> None:
        """Store the values that later records use; `written` marks the new cells."""
        accepted = references.hat
        self.done.x[index] = np.where(statement.is_written, statement.value, self.done.x[index])
        if index in self.sheet.miscopied and failed.any():  # later lines used the right number
            self.done.x[index] = np.where(failed, references.x, self.done.x[index])
            for images in (*self.done.images, self.done.gap_images):
                images.correct(index, failed, references.x)
            self.done.miswritten[index] = failed | self.done.miswritten.get(index, False)
            failed = np.zeros(failed.shape, dtype=bool)
        self.done.right[index] = np.where(new_cells, accepted, self.done.right[index])
        self.done.right_x[index] = np.where(failed, references.x, self.done.x[index])
        self.done.hat[index] = np.where(failed, statement.value, np.where(new_cells, accepted, self.done.hat[index]))
        if failed.any():
            old = self.done.bad[index]
            self.done.bad[index] = failed if old is None else old | failed
            earlier = self.done.failed[index]
            self.done.failed[index] = failed if earlier is None else earlier | failed
        unknown, unreadable = self.done.unknown[index], statement.unreadable
        if unknown is not None or unreadable.any():
            merged = unreadable if unknown is None else (unknown & ~new_cells) | unreadable
            self.done.unknown[index] = merged if merged.any() else None
        for images in (*self.done.images, self.done.gap_images):
            images.forget(index)

    def _judge_repeats(self, index: int, judged: JudgedStatement, either: Fit, from_hat: Fit, before: Mask) -> None:
        """Judge a number that is written again: it must match its first writing or its own calculation."""
        statement, first, failed = judged.statement, self.done.x[index], self.done.failed[index]
        again = fit(statement, first)
        judged.expected = np.where(before, first, judged.expected)
        remaining = self._apply_rules_1_to_4(
            judged, statement.is_written & before, either, from_hat, self.done.bad[index]
        )
        repeats = remaining & (again.half | again.cut | again.near)
        judged.set(repeats, Verdict.ROUNDED)
        if failed is not None:
            judged.set(repeats & failed, Verdict.CARRIED)
        remaining = remaining & ~repeats
        judged.set(remaining, Verdict.TRANSCRIPTION)
        if remaining.any():
            self.done.hat[index] = np.where(remaining, statement.value, self.done.hat[index])
            bad = self.done.bad[index]
            self.done.bad[index] = remaining if bad is None else bad | remaining
            self.done.failed[index] = remaining if failed is None else failed | remaining

    def _judge_copy(self, copy: Copy) -> None:
        statement, source = copy.statement, copy.source
        own = self.done.x[source.index] if isinstance(source, FromRecord) else self.done.graph.givens[source.name].value
        stands_for = self.done.hat[source.index] if isinstance(source, FromRecord) else own
        fits, meant = fit(statement, np.asarray(own)), fit(statement, np.asarray(stands_for))
        good = fits.half | meant.half | fits.cut
        judged = JudgedStatement(statement, _blank(statement.is_written), np.asarray(own), copy)
        judged.set(statement.is_written & good, Verdict.CORRECT)
        if isinstance(source, FromRecord) and (failed := self.done.bad[source.index]) is not None:
            judged.set(statement.is_written & good & failed, Verdict.CARRIED)
        wrong = statement.is_written & ~good
        judged.set(wrong, Verdict.TRANSCRIPTION)
        judged.set(statement.unreadable, Verdict.UNREADABLE)
        if wrong.any():
            self.done.wrong_copies[copy.line] = wrong
        self.done.judged.append(judged)


@dataclass(frozen=True, eq=False)
class _References:
    x: Array
    hat: Array


def _blank(cells: Mask) -> list[list[Verdict | None]]:
    return [[None] * cells.shape[1] for _ in range(cells.shape[0])]
