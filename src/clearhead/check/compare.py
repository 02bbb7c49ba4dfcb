"""The seven rules: every written cell against what stands above it in the student's own working.

f(x) is worked from the parents' digits as written, f(x̂) from what those digits stand for: the unrounded value of a
parent that was accepted, the written digits of one that failed. The first rule that fits gives the verdict; a cell
that none fits is a root error, because its parents were taken as the student wrote them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clearhead.check.graph import Fetch, FromGiven, FromRecord, Graph, Source, fetch_from
from clearhead.check.reach import Reach, near
from clearhead.check.statement import Copy, Fit, Judged, Statement, fit
from clearhead.check.verdict import Verdict
from clearhead.worksheet.arrays import Array, Mask


@dataclass
class Comparison:
    """Everything that is known while a sheet is compared, record by record."""

    graph: Graph
    statements: Mapping[int, Sequence[Statement]]
    copies: Sequence[Copy] = ()
    rounded: Mapping[str, Array] = field(default_factory=dict)  # the units of givens that are themselves rounded
    blind: frozenset[int] = frozenset()  # records whose line had a wrong shape
    x: list[Array] = field(default_factory=list)  # as written
    hat: list[Array] = field(default_factory=list)  # what it stands for
    right: list[Array] = field(default_factory=list)  # as hat, but what a failed cell should have been
    bad: list[Mask | None] = field(default_factory=list)  # failed, or below a failed cell
    failed: list[Mask | None] = field(default_factory=list)
    unknown: list[Mask | None] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    followed: dict[int, Mask] = field(default_factory=dict)  # by record, the cells worked from a wrong copy
    _copied: dict[Any, Mask] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._reaches = [
            Reach(self.graph, self.statements, self.x, self.rounded, is_cut=is_cut) for is_cut in (False, True)
        ]

    def run(self) -> "Comparison":
        """Judge every written cell, in the order of the sheet."""
        with np.errstate(all="ignore"):  # infinities and 0/0 are masked scores and empty rows, and are dealt with
            return self._run()

    def _run(self) -> "Comparison":
        for copy in self.copies:
            if isinstance(copy.source, FromGiven):
                self._judge_copy(copy)
        for index in range(len(self.graph)):
            self._judge_record(index)
            for copy in self.copies:
                if copy.source == FromRecord(index):
                    self._judge_copy(copy)
        return self

    # What the parents are

    def fetch(self, values: Sequence[Array], user: int | None = None, *, with_copies: bool = False) -> Fetch:
        """Return a fetch from `values`; with copies, a restated factor is taken as it was restated."""
        plain = fetch_from(values, self.graph.givens)
        if not with_copies:
            return plain

        def fetch(source: Source) -> Any:
            value = plain(source)
            for copy in self.copies:
                if copy.source == source and copy.user in (None, user):
                    value = np.where(copy.statement.is_written, copy.statement.value, value)
            return value

        return fetch

    def _masks(self, masks: Sequence[Mask | None], user: int, *, with_copies: bool = False) -> Fetch:
        def fetch(source: Source) -> Any:
            mask = masks[source.index] if isinstance(source, FromRecord) else None
            if with_copies:
                for copy in self.copies:
                    if copy.source == source and copy.user in (None, user) and copy.line in self._copied:
                        wrong = self._copied[copy.line]
                        mask = wrong if mask is None else mask | wrong
            return mask

        return fetch

    def _spread(self, index: int, masks: Sequence[Mask | None], *, with_copies: bool = False) -> Mask | None:
        parents = self.graph.parents[index]
        if not any(masks[parent] is not None for parent in parents) and not (with_copies and self._copied):
            return None
        touched = self.graph.spread(index, self._masks(masks, index, with_copies=with_copies))
        return touched if touched.any() else None

    # One record

    def _judge_record(self, index: int) -> None:
        own = self.statements.get(index, ())
        hat = self.graph.work(index, self.fetch(self.hat))
        as_written = self.graph.work(index, self.fetch(self.x))
        right = self.graph.work(index, self.fetch(self.right)) if self._any_bad_above(index) else hat
        tainted, unknown = self._spread(index, self.bad), self._spread(index, self.unknown)
        if index in self.blind:
            unknown = np.ones(hat.shape, dtype=bool)
        self.x.append(as_written)
        self.hat.append(hat)
        self.right.append(right)
        self.bad.append(tainted)
        self.failed.append(None)
        self.unknown.append(unknown)
        for number, statement in enumerate(own):
            if number == 0:
                self._judge_first(index, statement, _References(as_written, hat, right))
            else:
                self._judge_again(index, statement, _References(as_written, hat, right))

    def _any_bad_above(self, index: int) -> bool:
        return any(self.bad[parent] is not None for parent in self.graph.parents[index])

    def _judge_first(self, index: int, statement: Statement, references: "_References") -> None:
        x, hat, right = references.x, references.hat, references.right
        from_hat, from_x = fit(statement, hat), fit(statement, x)
        either = from_hat | from_x
        written = statement.is_written
        judged = Judged(statement, _blank(written), np.where(from_hat.half & ~from_x.half, hat, x))
        tainted = self.bad[index]
        left = self._give(judged, written, either, from_hat, tainted)
        if left.any() and self.copies:
            left = self._from_copies(index, judged, left)
        if left.any():
            left = self._plausible(index, judged, left, hat, is_cut=False)
        if left.any() and tainted is not None:
            left = self._below_an_error(index, judged, left & tainted, right) | (left & ~tainted)
        if left.any():
            left = self._plausible(index, judged, left, hat, is_cut=True)
        unknown = self.unknown[index]
        if unknown is not None:
            judged.set(left & unknown, Verdict.UNCHECKED)
            left = left & ~unknown
        judged.set(left, Verdict.SLIP)
        judged.set(statement.unreadable, Verdict.UNREADABLE)
        self.judged.append(judged)
        accepted_value = np.where(from_hat.half | ~from_x.half, hat, x)
        self._settle(index, statement, left, accepted_value)

    def _plausible(self, index: int, judged: Judged, left: Mask, hat: Array, *, is_cut: bool) -> Mask:
        """Rule 5; numbers may also have been cut, which is allowed for only after all else was tried."""
        reach = self._reaches[is_cut]
        meets = left & reach.meets(judged.statement, reach.image(index), hat)
        judged.set(meets, Verdict.PLAUSIBLE)
        return left & ~meets

    def _give(self, judged: Judged, written: Mask, either: Fit, from_hat: Fit, tainted: Mask | None) -> Mask:
        """Apply rules 1 to 4 and return the cells that none of them fits."""
        left = written.copy()
        for cells, verdict in (
            (from_hat.half, Verdict.CORRECT),
            (either.half, Verdict.ROUNDED),
            (either.cut, Verdict.TRUNCATED),
            (either.near, Verdict.ROUNDING),
        ):
            hits = left & cells
            if hits.any():
                is_proved = verdict in (Verdict.CORRECT, Verdict.ROUNDED)
                self._accept(judged, hits, verdict, tainted if is_proved else None)
                left &= ~cells
        return left

    def _accept(self, judged: Judged, cells: Mask, verdict: Verdict, tainted: Mask | None) -> None:
        if tainted is None:
            judged.set(cells, verdict)
            return
        judged.set(cells & ~tainted, verdict)
        judged.set(cells & tainted, Verdict.CARRIED)

    def _from_copies(self, index: int, judged: Judged, left: Mask) -> Mask:
        """Accept what follows from a factor as it was restated: the error is in the copy."""
        wrong = self._spread(index, self.bad, with_copies=True)
        if wrong is None:
            return left
        reference = self.graph.work(index, self.fetch(self.x, index, with_copies=True))
        fits = fit(judged.statement, reference)
        hits = left & wrong & (fits.half | fits.cut | fits.near)
        judged.set(hits, Verdict.CARRIED)
        judged.expected = np.where(hits, reference, judged.expected)
        self.followed[index] = hits
        old = self.bad[index]
        self.bad[index] = hits if old is None else old | hits
        return left & ~hits

    def _below_an_error(self, index: int, judged: Judged, left: Mask, right: Array) -> Mask:
        """Rule 6: it follows from what the failed parent should have been, or it is true and nothing leads to it."""
        statement = judged.statement
        for reference, culprits in self._with_right_parents(index, right):
            fits = fit(statement, reference)
            hits = left & (fits.half | fits.cut)
            if hits.any():
                judged.set(hits, Verdict.CORRECT)
                judged.expected = np.where(hits, reference, judged.expected)
                for culprit in culprits:
                    self._miscopied(culprit, index, hits)
                left = left & ~hits
            if not left.any():
                return left
        truth = self.graph.records[index].value
        hits = left & fit(statement, truth).half
        judged.set(hits, Verdict.TRUE)
        return left & ~hits

    def _with_right_parents(self, index: int, right: Array) -> Iterator[tuple[Array, list[int]]]:
        """Work the record from the right value of every failed parent, then of each alone."""
        failed = [node for node in self.written_above(index) if self.failed[node] is not None]
        if not failed:
            return
        yield right, failed
        if 1 < len(failed) <= 4:
            for node in failed:
                values = list(self.x)
                values[node] = self.right[node]
                yield self.reworked(index, values, {node}), [node]

    def reworked(self, index: int, values: list[Array], changed: set[int]) -> Array:
        """Work a record after other values were put in at `changed`, through the lines that were not written."""
        chain = [node for node in sorted(self.unwritten_above(index)) if self._reads(node, changed)]
        for node in chain:
            values[node] = self.graph.work(node, self.fetch(values))
        return self.graph.work(index, self.fetch(values))

    def _reads(self, node: int, changed: set[int]) -> bool:
        if changed & set(self.graph.parents[node]):
            changed.add(node)
            return True
        return False

    def _miscopied(self, node: int, user: int, hits: Mask) -> None:
        """A failed cell that the student did not go on from was only written down wrongly."""
        failed = self.failed[node]
        if failed is None:
            return
        for judged in self.judged:
            if judged.statement.node == node and judged.copy is None:
                judged.set(judged.where(Verdict.SLIP) & failed, Verdict.TRANSCRIPTION)

    def _settle(self, index: int, statement: Statement, failed: Mask, accepted: Array) -> None:
        """Keep what the record is to those below it."""
        written = statement.is_written
        self.x[index] = np.where(written, statement.value, self.x[index])
        self.right[index] = np.where(failed, accepted, np.where(written, accepted, self.right[index]))
        self.hat[index] = np.where(failed, statement.value, np.where(written, accepted, self.hat[index]))
        if failed.any():
            old = self.bad[index]
            self.bad[index] = failed if old is None else old | failed
            self.failed[index] = failed
        unknown, unreadable = self.unknown[index], statement.unreadable
        if unknown is not None or unreadable.any():
            merged = unreadable if unknown is None else (unknown & ~written) | unreadable
            self.unknown[index] = merged if merged.any() else None
        for reach in self._reaches:
            reach.forget(index)

    def _judge_again(self, index: int, statement: Statement, references: "_References") -> None:
        """A line written once more: as good as its first writing, or as the sum itself."""
        before, failed = self.x[index].copy(), self.failed[index]
        is_written_before = np.zeros(before.shape, dtype=bool)
        for judged in self.judged:
            if judged.statement.node == index and judged.copy is None:
                is_written_before |= judged.statement.is_written
        again = fit(statement, before)
        fresh = statement.is_written & ~is_written_before
        from_hat, from_x = fit(statement, references.hat), fit(statement, references.x)
        judged = Judged(statement, _blank(statement.is_written), np.where(is_written_before, before, references.x))
        left = self._give(judged, statement.is_written, from_hat | from_x, from_hat, self.bad[index])
        repeats = left & ~fresh & (again.half | again.cut | again.near)
        judged.set(repeats, Verdict.ROUNDED)
        if failed is not None:
            judged.set(repeats & failed, Verdict.CARRIED)
        left &= ~repeats
        if left.any():
            left = self._plausible(index, judged, left & fresh, references.hat, is_cut=True) | (left & ~fresh)
        judged.set(left & ~fresh, Verdict.TRANSCRIPTION)
        judged.set(left & fresh, Verdict.SLIP)
        judged.set(statement.unreadable, Verdict.UNREADABLE)
        self.judged.append(judged)
        written = statement.is_written
        self.x[index] = np.where(written, statement.value, self.x[index])
        if left.any():
            self.right[index] = np.where(left, references.hat, self.right[index])
            self.hat[index] = np.where(left, statement.value, self.hat[index])
            self.bad[index] = left if self.bad[index] is None else self.bad[index] | left
            self.failed[index] = left if failed is None else failed | left
        for reach in self._reaches:
            reach.forget(index)

    def _judge_copy(self, copy: Copy) -> None:
        statement, source = copy.statement, copy.source
        own = self.x[source.index] if isinstance(source, FromRecord) else self.graph.givens[source.name].value
        stands_for = self.hat[source.index] if isinstance(source, FromRecord) else own
        fits, meant = fit(statement, np.asarray(own)), fit(statement, np.asarray(stands_for))
        good = fits.half | meant.half | fits.cut
        judged = Judged(statement, _blank(statement.is_written), np.asarray(own), copy)
        judged.set(statement.is_written & good, Verdict.CORRECT)
        if isinstance(source, FromRecord) and (failed := self.bad[source.index]) is not None:
            judged.set(statement.is_written & good & failed, Verdict.CARRIED)
        wrong = statement.is_written & ~good
        judged.set(wrong, Verdict.TRANSCRIPTION)
        judged.set(statement.unreadable, Verdict.UNREADABLE)
        if wrong.any():
            self._copied[copy.line] = wrong
        self.judged.append(judged)

    def unwritten_above(self, index: int) -> set[int]:
        """Return the unwritten records on the way up to the nearest written ones."""
        return near(index, self.graph.parents, self.statements, is_written=False)

    def written_above(self, index: int) -> set[int]:
        """Return the nearest written records above."""
        return near(index, self.graph.parents, self.statements, is_written=True)

    def written_below(self, index: int) -> set[int]:
        """Return the nearest written records below."""
        return near(index, self.graph.children, self.statements, is_written=True)


@dataclass(frozen=True, eq=False)
class _References:
    x: Array
    hat: Array
    right: Array


def _blank(written: Mask) -> list[list[Verdict | None]]:
    return [[None] * written.shape[1] for _ in range(written.shape[0])]
