"""The seven rules: compare every written cell with what the student's own earlier lines give.

f(x) is calculated from the parents' digits as written. f(x̂) is calculated from what those digits represent: the
unrounded value of an accepted parent, the written digits of a failed one. The first rule that fits gives the verdict.
A cell that fits no rule is a root error, because its parents were taken as the student wrote them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clearhead.check.graph import Fetch, FromGiven, FromRecord, Graph, Source, fetch_from
from clearhead.check.image import SHORTENED
from clearhead.check.reach import Reach
from clearhead.check.record_image import RecordImages, nearest_records
from clearhead.check.statement import Copy, Fit, JudgedStatement, Statement, fit
from clearhead.check.verdict import Verdict
from clearhead.worksheet.arrays import Array, Mask

PROVED = (Verdict.CORRECT, Verdict.ROUNDED, Verdict.TRUNCATED)
_SURE = 3  # this number of values rounded up, and none cut, shows that a student rounds
_MAX_RUNS = 4  # a sheet is compared again when a number turns out to be only miscopied


@dataclass
class SheetComparison:
    """The state of a comparison, record by record."""

    graph: Graph
    statements: Mapping[int, Sequence[Statement]]
    copies: Sequence[Copy] = ()
    rounded: Mapping[str, Array] = field(
        default_factory=dict
    )  # the units of given matrices that are themselves rounded
    blind: frozenset[int] = frozenset()  # records with a line of the wrong shape
    miscopied: frozenset[int] = frozenset()  # records with cells that the student did not use in later lines
    may_cut: bool = False  # whether images allow for numbers that were cut
    is_in_full: bool = False  # whether a program wrote it, which does not shorten √d, e or π
    is_lenient: bool = True  # whether a number near the result of the right parents shows that they were miscopied
    x: list[Array] = field(default_factory=list)  # as written
    hat: list[Array] = field(default_factory=list)  # the unrounded values
    right: list[Array] = field(default_factory=list)  # as hat, but with the right value in failed cells
    right_x: list[Array] = field(default_factory=list)  # as x, but with the right value in failed cells
    bad: list[Mask | None] = field(default_factory=list)  # failed, or affected by a failed cell
    failed: list[Mask | None] = field(default_factory=list)
    unknown: list[Mask | None] = field(default_factory=list)
    judged: list[JudgedStatement] = field(default_factory=list)
    culprits: set[int] = field(default_factory=set)  # found miscopied in this run
    miswritten: dict[int, Mask] = field(default_factory=dict)  # the miscopied cells
    followed: dict[int, Mask] = field(default_factory=dict)  # by record, the cells calculated from a wrong copy
    _num_up: int = 0
    _num_cut: int = 0
    _copied: dict[Any, Mask] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._images = [
            RecordImages(self.graph, self.statements, self.x, self.rounded, is_cut=is_cut) for is_cut in (False, True)
        ]
        self._gap_images = RecordImages(self.graph, self.statements, self.x, self.rounded, is_cut="unwritten")
        self._reach = Reach(self.graph, self.statements, (self.x, self.hat), self._images[False])

    def run(self) -> "SheetComparison":
        """Judge every written cell, in the order of the sheet."""
        with np.errstate(all="ignore"):  # infinities and 0/0 come from masked scores and empty rows, which are handled
            done = self._judge_all()
            if done.num_wrong and done._may_cut:
                done = self._rerun(frozenset(), may_cut=True)
            for _ in range(_MAX_RUNS):
                if done.culprits <= done.miscopied:
                    break
                other = self._rerun(done.miscopied | done.culprits, may_cut=done.may_cut)
                if other.num_wrong > done.num_wrong:  # some lines did use the wrong number
                    return self._rerun(done.miscopied, may_cut=done.may_cut, is_lenient=False)
                done = other
            return done

    def _rerun(self, miscopied: frozenset[int], *, may_cut: bool, is_lenient: bool = True) -> "SheetComparison":
        same = (self.graph, self.statements, self.copies, self.rounded, self.blind)
        return SheetComparison(*same, miscopied, may_cut, self.is_in_full, is_lenient)._judge_all()

    @property
    def num_wrong(self) -> int:
        """The number of unexplained cells."""
        return sum(int(judged.where(Verdict.SLIP, Verdict.TRANSCRIPTION).sum()) for judged in self.judged)

    @property
    def _may_cut(self) -> bool:
        """Return whether this student may cut numbers: not if several were rounded up and none was cut."""
        return self._num_cut > 0 or self._num_up < _SURE

    def _judge_all(self) -> "SheetComparison":
        for copy in self.copies:
            if isinstance(copy.source, FromGiven):
                self._judge_copy(copy)
        for index in range(len(self.graph)):
            self._judge_record(index)
            for copy in self.copies:
                if copy.source == FromRecord(index):
                    self._judge_copy(copy)
        return self

    # Values of the parents

    def fetch(self, values: Sequence[Array], user: int | None = None, *, with_copies: bool = False) -> Fetch:
        """Return a function that fetches inputs from `values`; with copies, a copied factor is used as copied."""
        plain = fetch_from(values, self.graph.givens)
        if not with_copies:
            return plain

        def fetch(source: Source) -> Any:
            value = plain(source)
            for copy in sorted(self.copies, key=lambda copy: copy.line in self._copied):  # wrong copies last
                if copy.source == source and copy.user in (None, user):
                    value = np.where(copy.statement.is_written, copy.statement.value, value)
            if isinstance(source, FromRecord) and source.index in self.miswritten:
                for statement in self.statements[source.index]:
                    wrong = self.miswritten[source.index] & statement.is_written
                    value = np.where(wrong, statement.value, value)
            return value

        return fetch

    def _fetch_masks(self, masks: Sequence[Mask | None], user: int, *, with_copies: bool = False) -> Fetch:
        def fetch(source: Source) -> Any:
            mask = masks[source.index] if isinstance(source, FromRecord) else None
            if with_copies:
                for copy in self.copies:
                    if copy.source == source and copy.user in (None, user) and copy.line in self._copied:
                        wrong = self._copied[copy.line]
                        mask = wrong if mask is None else mask | wrong
                if isinstance(source, FromRecord) and source.index in self.miswritten:
                    wrong = self.miswritten[source.index]
                    mask = wrong if mask is None else mask | wrong
            return mask

        return fetch

    def _affected_cells(self, index: int, masks: Sequence[Mask | None], *, with_copies: bool = False) -> Mask | None:
        parents = self.graph.parents[index]
        if not any(masks[parent] is not None for parent in parents) and not (
            with_copies and (self._copied or self.miswritten)
        ):
            return None
        touched = self.graph.affected_cells(index, self._fetch_masks(masks, index, with_copies=with_copies))
        return touched if touched.any() else None

    # One record

    def _judge_record(self, index: int) -> None:
        own = self.statements.get(index, ())
        hat = self.graph.work(index, self.fetch(self.hat))
        as_written = self.graph.work(index, self.fetch(self.x))
        is_below = self._any_bad_above(index)
        right = self.graph.work(index, self.fetch(self.right)) if is_below else hat
        right_x = self.graph.work(index, self.fetch(self.right_x)) if is_below else as_written
        tainted, unknown = self._affected_cells(index, self.bad), self._affected_cells(index, self.unknown)
        if (index in self.blind and not own) or self.graph.has_unknown_input:
            unknown = np.ones(hat.shape, dtype=bool)
        self.x.append(as_written)
        self.hat.append(hat)
        self.right.append(right)
        self.right_x.append(right_x)
        self.bad.append(tainted)
        self.failed.append(None)
        self.unknown.append(unknown)
        before = np.zeros(hat.shape, dtype=bool)
        for statement in own:
            self._judge(index, statement, _References(as_written, hat), before)
            before = before | statement.is_written

    def _any_bad_above(self, index: int) -> bool:
        return any(self.bad[parent] is not None for parent in self.graph.parents[index])

    def _judge(self, index: int, statement: Statement, references: "_References", before: Mask) -> None:
        """Judge one writing of a record; `before` marks the cells that an earlier writing already has."""
        x, hat = references.x, references.hat
        from_hat, from_x = fit(statement, hat), fit(statement, x)
        either = from_hat | from_x
        new_cells = statement.is_written & ~before
        judged = JudgedStatement(statement, _blank(new_cells), np.where(from_hat.half & ~from_x.half, hat, x))
        tainted = self.bad[index]
        if (statement.is_written & before).any():
            self._judge_repeats(index, judged, either, from_hat, before)
        remaining = self._apply_rules_1_to_4(judged, new_cells, either, from_hat, tainted)
        is_up = np.abs(statement.value) > np.maximum(np.abs(hat), np.abs(x)) + 0.01 * statement.unit
        self._num_up += int((is_up & (from_hat.half & from_x.half)).sum())
        self._num_cut += int((new_cells & ~remaining & either.cut & ~either.half).sum())
        if remaining.any() and (self.copies or self.miswritten):
            remaining = self._accept_from_copies(index, judged, remaining)
        unknown = self.unknown[index]
        unchecked = remaining & unknown if unknown is not None else np.zeros(remaining.shape, dtype=bool)
        judged.set(unchecked, Verdict.UNCHECKED)
        remaining = remaining & ~unchecked
        if remaining.any():
            self._set_inner_unit(index, judged, remaining)
            remaining = self._accept_plausible(index, judged, remaining, hat, is_cut=False)
        if remaining.any() and tainted is not None:
            remaining = self._accept_from_right_parents(index, judged, remaining & tainted) | (remaining & ~tainted)
        if remaining.any() and self.may_cut:
            remaining = self._accept_plausible(index, judged, remaining, hat, is_cut=True)
        if remaining.any() and tainted is not None:
            remaining = self._accept_near_right_parents(index, judged, remaining & tainted) | (remaining & ~tainted)
            is_true = remaining & tainted & fit(statement, self.graph.records[index].value).half
            judged.set(is_true, Verdict.TRUE)
            remaining = remaining & ~is_true
        unsupported = self._unsupported(index, judged, remaining, hat)
        judged.set(unsupported, Verdict.UNSUPPORTED)
        remaining = remaining & ~unsupported
        is_miscopied = index in self.miscopied
        judged.set(remaining, Verdict.TRANSCRIPTION if is_miscopied else Verdict.SLIP)
        judged.set(statement.unreadable, Verdict.UNREADABLE)
        self.judged.append(judged)
        accepted_value = np.where(
            unchecked | unsupported, statement.value, np.where(from_hat.half | ~from_x.half, hat, x)
        )
        self._store_values(index, statement, new_cells, remaining, _References(x, accepted_value))

    def _set_inner_unit(self, index: int, judged: JudgedStatement, remaining: Mask) -> None:
        """If nearly all cells of a line are right to the last digit, its inner numbers were not kept much coarser."""
        statement = judged.statement
        proved = judged.where(Verdict.CORRECT, Verdict.ROUNDED) & ~statement.is_whole & (statement.unit > 0.0)
        if int(proved.sum()) >= max(_SURE, 3 * int(remaining.sum())):
            for images in (*self._images, self._gap_images):
                images.set_inner_unit(index, 10.0 * float(np.max(statement.unit[proved])))

    def _accept_plausible(
        self, index: int, judged: JudgedStatement, remaining: Mask, hat: Array, *, is_cut: bool
    ) -> Mask:
        """Apply rule 5. Cut numbers are allowed only after everything else was tried."""
        images = self._images[is_cut]
        if self.is_in_full:  # a program shortens nothing
            if self.graph.records[index].step.name in SHORTENED:
                return remaining
            meets = remaining & images.meets(judged.statement, images.image(index), hat)
            judged.set(meets, Verdict.PLAUSIBLE)
            return remaining & ~meets
        reached = self._reach.of(index)
        meets, gap = remaining.copy(), reached.gap
        if reached.is_complete or gap.any():
            meets &= images.meets(judged.statement, reached.range, hat) | ~(gap | reached.is_complete)
        if not reached.is_complete:  # lines that were not written may have been cut, even if the others are rounded
            bounds = self._gap_images.image(index) if gap.any() else images.image(index)
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
        if self.is_in_full or not remaining.any():
            return np.zeros(remaining.shape, dtype=bool)
        reached = self._reach.of(index)
        if reached.is_complete or not reached.gap.any():
            return np.zeros(remaining.shape, dtype=bool)
        images = self._images[self.may_cut]
        meets = images.meets(judged.statement, images.image(index), hat)
        return np.asarray(remaining & meets & reached.gap & ~reached.is_far(judged.statement))

    def _apply_rules_1_to_4(
        self, judged: JudgedStatement, cells_to_judge: Mask, either: Fit, from_hat: Fit, tainted: Mask | None
    ) -> Mask:
        """Apply rules 1 to 4 and return the cells that fit none of them."""
        remaining = cells_to_judge.copy()
        for cells, verdict in (
            (from_hat.half, Verdict.CORRECT),
            (either.half, Verdict.ROUNDED),
            (either.cut, Verdict.TRUNCATED),
            (either.near, Verdict.ROUNDING),
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
        wrong = self._affected_cells(index, self.bad, with_copies=True)
        if wrong is None:
            return remaining
        reference = self.graph.work(index, self.fetch(self.x, index, with_copies=True))
        fits = fit(judged.statement, reference)
        hits = remaining & wrong & (fits.half | fits.cut | fits.near)
        judged.set(hits, Verdict.CARRIED)
        judged.expected = np.where(hits, reference, judged.expected)
        self.followed[index] = hits
        old = self.bad[index]
        self.bad[index] = hits if old is None else old | hits
        return remaining & ~hits

    def _accept_from_right_parents(self, index: int, judged: JudgedStatement, remaining: Mask) -> Mask:
        """Apply rule 6: a cell follows from the right value of a failed parent, which was therefore only miscopied."""
        for reference, culprits in self._values_from_right_parents(index):
            fits = fit(judged.statement, reference)
            hits = remaining & (fits.half | fits.cut)
            if hits.any():
                judged.set(hits, Verdict.CORRECT)
                judged.expected = np.where(hits, reference, judged.expected)
                self.culprits |= set(culprits)
                remaining = remaining & ~hits
            if not remaining.any():
                break
        return remaining

    def _failed_above(self, index: int) -> list[int]:
        """Return the nearest earlier records with failed cells, across lines that were not completely written."""
        failed_nodes, todo, visited = [], [*self.graph.parents[index]], {index}
        while todo:
            node = todo.pop()
            if node in visited:
                continue
            visited.add(node)
            if self.failed[node] is not None:
                failed_nodes.append(node)
            own = self.statements.get(node, ())
            if not own or not np.logical_or.reduce([statement.is_written for statement in own]).all():
                todo += self.graph.parents[node]
        return sorted(failed_nodes)

    def _accept_near_right_parents(self, index: int, judged: JudgedStatement, remaining: Mask) -> Mask:
        """Apply rule 6 with roundings in between: a cell can be reached from the right parents."""
        failed = self._failed_above(index)
        if not failed or not remaining.any() or not self.is_lenient:
            return remaining
        values = list(self.x)
        images = RecordImages(self.graph, self.statements, values, self.rounded, is_cut=self.may_cut)
        for node in failed:
            values[node] = self.right_x[node]
            wrong = self.failed[node]
            assert wrong is not None
            images.correct(node, wrong, values[node])
        reach = Reach(self.graph, images.statements, (values, self.right), images)
        meets = images.meets(judged.statement, reach.of(index).range, self.right[index])
        meets = np.asarray(remaining & np.all(meets | ~remaining, axis=1, keepdims=True))  # one can fit by chance
        if meets.any():
            judged.set(meets, Verdict.PLAUSIBLE)
            self.culprits |= set(failed)
        return remaining & ~meets

    def _values_from_right_parents(self, index: int) -> Iterator[tuple[Array, list[int]]]:
        """Calculate the record from the right values of all failed parents, then of each one alone."""
        failed = self._failed_above(index)
        if not failed:
            return
        yield self.right[index], failed
        yield self.right_x[index], failed
        if 1 < len(failed) <= 4:
            for node in failed:
                for right in (self.right, self.right_x):
                    values = list(self.x)
                    values[node] = right[node]
                    yield self.reworked(index, values, {node}), [node]

    def reworked(self, index: int, values: list[Array], changed: set[int]) -> Array:
        """Recalculate a record after the values at `changed` were replaced, through the unwritten lines."""
        chain = [node for node in sorted(self.unwritten_above(index)) if self._depends_on(node, changed)]
        for node in chain:
            values[node] = self.graph.work(node, self.fetch(values))
        return self.graph.work(index, self.fetch(values))

    def _depends_on(self, node: int, changed: set[int]) -> bool:
        if changed & set(self.graph.parents[node]):
            changed.add(node)
            return True
        return False

    def _store_values(
        self, index: int, statement: Statement, new_cells: Mask, failed: Mask, references: "_References"
    ) -> None:
        """Store the values that later records use; `written` marks the new cells."""
        accepted = references.hat
        self.x[index] = np.where(statement.is_written, statement.value, self.x[index])
        if index in self.miscopied and failed.any():  # later lines used the right number
            self.x[index] = np.where(failed, references.x, self.x[index])
            for images in (*self._images, self._gap_images):
                images.correct(index, failed, references.x)
            self.miswritten[index] = failed | self.miswritten.get(index, False)
            failed = np.zeros(failed.shape, dtype=bool)
        self.right[index] = np.where(new_cells, accepted, self.right[index])
        self.right_x[index] = np.where(failed, references.x, self.x[index])
        self.hat[index] = np.where(failed, statement.value, np.where(new_cells, accepted, self.hat[index]))
        if failed.any():
            old = self.bad[index]
            self.bad[index] = failed if old is None else old | failed
            earlier = self.failed[index]
            self.failed[index] = failed if earlier is None else earlier | failed
        unknown, unreadable = self.unknown[index], statement.unreadable
        if unknown is not None or unreadable.any():
            merged = unreadable if unknown is None else (unknown & ~new_cells) | unreadable
            self.unknown[index] = merged if merged.any() else None
        for images in (*self._images, self._gap_images):
            images.forget(index)

    def _judge_repeats(self, index: int, judged: JudgedStatement, either: Fit, from_hat: Fit, before: Mask) -> None:
        """Judge a number that is written again: it must match its first writing or its own calculation."""
        statement, first, failed = judged.statement, self.x[index], self.failed[index]
        again = fit(statement, first)
        judged.expected = np.where(before, first, judged.expected)
        remaining = self._apply_rules_1_to_4(judged, statement.is_written & before, either, from_hat, self.bad[index])
        repeats = remaining & (again.half | again.cut | again.near)
        judged.set(repeats, Verdict.ROUNDED)
        if failed is not None:
            judged.set(repeats & failed, Verdict.CARRIED)
        remaining = remaining & ~repeats
        judged.set(remaining, Verdict.TRANSCRIPTION)
        if remaining.any():
            self.hat[index] = np.where(remaining, statement.value, self.hat[index])
            bad = self.bad[index]
            self.bad[index] = remaining if bad is None else bad | remaining
            self.failed[index] = remaining if failed is None else failed | remaining

    def _judge_copy(self, copy: Copy) -> None:
        statement, source = copy.statement, copy.source
        own = self.x[source.index] if isinstance(source, FromRecord) else self.graph.givens[source.name].value
        stands_for = self.hat[source.index] if isinstance(source, FromRecord) else own
        fits, meant = fit(statement, np.asarray(own)), fit(statement, np.asarray(stands_for))
        good = fits.half | meant.half | fits.cut
        judged = JudgedStatement(statement, _blank(statement.is_written), np.asarray(own), copy)
        judged.set(statement.is_written & good, Verdict.CORRECT)
        if isinstance(source, FromRecord) and (failed := self.bad[source.index]) is not None:
            judged.set(statement.is_written & good & failed, Verdict.CARRIED)
        wrong = statement.is_written & ~good
        judged.set(wrong, Verdict.TRANSCRIPTION)
        judged.set(statement.unreadable, Verdict.UNREADABLE)
        if wrong.any():
            self._copied[copy.line] = wrong
        self.judged.append(judged)

    def rounding_radius(self, index: int) -> Array:
        """Return how much the precision of earlier lines may have changed each cell of a record."""
        radius = self._images[1].image(index).radius
        return np.where(np.isfinite(radius), radius, 0.0)

    def unwritten_above(self, index: int) -> set[int]:
        """Return the unwritten records between this one and the nearest written ones above."""
        return nearest_records(index, self.graph.parents, self.statements, is_written=False)

    def written_above(self, index: int) -> set[int]:
        """Return the nearest written records above."""
        return nearest_records(index, self.graph.parents, self.statements, is_written=True)

    def written_below(self, index: int) -> set[int]:
        """Return the nearest written records below."""
        return nearest_records(index, self.graph.children, self.statements, is_written=True)


@dataclass(frozen=True, eq=False)
class _References:
    x: Array
    hat: Array


def _blank(cells: Mask) -> list[list[Verdict | None]]:
    return [[None] * cells.shape[1] for _ in range(cells.shape[0])]
