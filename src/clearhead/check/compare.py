"""The seven rules: every written cell against what stands above it in the student's own working.

f(x) is worked from the parents' digits as written, f(x̂) from what those digits stand for: the unrounded value of a
parent that was accepted, the written digits of one that failed. The first rule that fits gives the verdict; a cell
that none fits is a root error, because its parents were taken as the student wrote them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clearhead.check.graph import Fetch, FromGiven, FromRecord, Graph, Plain, Source, fetch_from
from clearhead.check.image import IMAGES, Range, around, exactly, gained, joint_norm, joint_variance, without_nan
from clearhead.check.number import Written
from clearhead.check.style import Style
from clearhead.check.verdict import Verdict
from clearhead.worksheet.arrays import Array, Mask
from clearhead.worksheet.reference import NORM_AXES

_SLACK = 1e-9  # of a unit, in every comparison
_NOISE = 1e-12  # of the number: what float64 may be off by after a few steps
_AS_GOOD_AS_NONE = -1000.0  # a masked score
_EXACT = 1e-9  # how near an exact number must be


@dataclass(frozen=True, eq=False)
class Statement:
    """A line, placed: the cells that were written of one record (tokens as rows); value nan where there is none."""

    line: int
    node: int
    value: Array
    unit: Array  # of whole numbers the unit of their style
    unit_inwards: Array  # the same towards 0
    is_whole: Mask
    texts: tuple[tuple[str, ...], ...]
    style: Style
    unreadable: Mask
    is_telling: bool = True  # whether it shows how its writer rounds: exact numbers do not

    @property
    def is_written(self) -> Mask:
        """Where there is a number."""
        return ~np.isnan(self.value)


@dataclass(frozen=True, eq=False)
class Copy:
    """A matrix restated as a factor: of a record or of a given, used by record `user` (None: by all of its users)."""

    line: int
    source: FromRecord | FromGiven
    statement: Statement
    user: int | None = None


@dataclass
class Judged:
    """The verdicts of one statement or copy, cell by cell; None where nothing was written."""

    statement: Statement
    verdicts: list[list[Verdict | None]]
    expected: Array  # what the student's own lines give
    copy: Copy | None = None

    def set(self, cells: Mask, verdict: Verdict) -> None:
        """Give all marked cells a verdict."""
        for row, column in np.argwhere(cells).tolist():
            self.verdicts[row][column] = verdict

    def where(self, *verdicts: Verdict) -> Mask:
        """Return where one of these verdicts was given."""
        return np.array([[each in verdicts for each in row] for row in self.verdicts], dtype=bool)


@dataclass(frozen=True, eq=False)
class Fit:
    """How a written line compares with one reference, cell by cell."""

    half: Mask  # within half a unit
    cut: Mask  # the reference cut at the unit
    near: Mask  # within a unit

    def __or__(self, other: "Fit") -> "Fit":
        return Fit(self.half | other.half, self.cut | other.cut, self.near | other.near)


def fit(statement: Statement, reference: Array) -> Fit:
    """Compare what was written with a reference value."""
    y = statement.value
    with np.errstate(invalid="ignore", over="ignore"):
        is_exact = statement.is_whole & (np.abs(reference - np.round(reference)) <= _EXACT)
        unit = np.where(np.abs(reference) < np.abs(y), statement.unit_inwards, statement.unit)
        unit = np.where(is_exact, 0.0, unit)
        gap = np.abs(y - reference)
        noise = _SLACK * unit + _NOISE * np.abs(reference) + np.where(unit == 0.0, _EXACT * np.maximum(1.0, np.abs(y)), 0.0)
        # -1000 and the like stand for the -∞ of a mask
        same = np.isinf(reference) & ((y == reference) | ((y <= _AS_GOOD_AS_NONE) & (reference < 0)))
        half = (gap <= unit / 2 + noise) | same
        inner = unit * (1.0 - _SLACK) - _NOISE * np.abs(reference)
        cut = (np.abs(y) <= np.abs(reference) + noise) & (gap < inner) & (y * reference >= 0)
        return Fit(half, cut, gap < inner)


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
    cuts: bool = False  # whether this student cuts numbers instead of rounding them
    _is_cutting: bool = False  # whether any number was found cut
    _ranges: dict[int, Range] = field(default_factory=dict)
    _copied: dict[Any, Mask] = field(default_factory=dict)

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
        if self._is_cutting and not self.cuts and any(judged.where(Verdict.SLIP).any() for judged in self.judged):
            again = Comparison(self.graph, self.statements, self.copies, self.rounded, self.blind, cuts=True)
            return again._run()
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
            image = self.image(index)
            meets = self._meets(statement, image, hat)
            self._accept(judged, left & meets, Verdict.PLAUSIBLE, tainted)
            left = left & ~meets
        if left.any() and tainted is not None:
            left = self._below_an_error(index, judged, left & tainted, right) | (left & ~tainted)
        unknown = self.unknown[index]
        if unknown is not None:
            judged.set(left & unknown, Verdict.UNCHECKED)
            left = left & ~unknown
        judged.set(left, Verdict.SLIP)
        judged.set(statement.unreadable, Verdict.UNREADABLE)
        self.judged.append(judged)
        accepted_value = np.where(from_hat.half | ~from_x.half, hat, x)
        self._settle(index, statement, left, accepted_value)

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
                self._is_cutting = self._is_cutting or verdict is Verdict.TRUNCATED
                left &= ~cells
        return left

    def _accept(self, judged: Judged, cells: Mask, verdict: Verdict, tainted: Mask | None) -> None:
        if tainted is None:
            judged.set(cells, verdict)
            return
        judged.set(cells & ~tainted, verdict)
        judged.set(cells & tainted, Verdict.CARRIED if verdict is not Verdict.PLAUSIBLE else verdict)

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
        self._ranges.pop(index, None)

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
            meets = self._meets(statement, self.image(index), references.hat) & fresh
            judged.set(left & meets, Verdict.PLAUSIBLE)
            left &= ~meets
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
        self._ranges.pop(index, None)

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

    # Images

    def _meets(self, statement: Statement, image: Range, reference: Array) -> Mask:
        """Say which cells, known to half their unit, outwards to all of it, meet the image."""
        y = statement.value
        with np.errstate(invalid="ignore", over="ignore"):
            is_exact = statement.is_whole & (np.abs(reference - np.round(reference)) <= _EXACT) & (image.radius == 0.0)
            unit = np.where(is_exact, 0.0, statement.unit)
            slack = _SLACK * unit + _NOISE * np.abs(y) + np.where(unit == 0.0, _EXACT, 0.0)
            # any number may have been cut: it then stands for as much as a unit more
            own = self._known(y, unit, np.minimum(unit, statement.unit_inwards), is_cut=True)
            meets = (own.high >= image.low - slack) & (own.low <= image.high + slack)
        return np.asarray(meets & np.isfinite(y))

    def _known(self, y: Array, unit: Array, inwards: Array, *, is_cut: bool) -> Range:
        """Return what a written number stands for."""
        outward = unit if is_cut else unit / 2
        below = np.where(y <= 0, outward, inwards / 2)
        above = np.where(y >= 0, outward, inwards / 2)
        return Range(y - below, y + above)

    def image(self, index: int) -> Range:
        """Return what a record can be, by what stands above it and how precisely that was written."""
        for node in sorted(self.unwritten_above(index)):
            if node not in self._ranges:
                self._ranges[node] = self._widened(node, self._image(node))
        return self._image(index)

    def _image(self, index: int) -> Range:
        record = self.graph.records[index]
        inputs = self.graph.inputs(index, self._range_of)
        mean = self.graph.sources[index].get("mean")
        if record.step.name == "variance" and mean is not None and self._is_unwritten(mean):
            result = without_nan(joint_variance(inputs["x"], inputs["over"], _low(inputs.get("counted"))))
            # a mean that was rounded, though not written, adds its own error squared
            return Range(result.low, result.high + self._neighbour_unit(_index(mean), inputs["mean"].middle) ** 2)
        if record.step.name == "normalise" and "mean" in record.inputs:
            joint = self._joint_norm(index, inputs)
            if joint is not None:
                return joint
        with np.errstate(all="ignore"):
            return without_nan(IMAGES[record.step.name](inputs))

    def _joint_norm(self, index: int, inputs: Mapping[str, Any]) -> Range | None:
        sources = self.graph.sources[index]
        mean, variance = sources["mean"], sources["variance"]
        if not (self._is_unwritten(mean) and self._is_unwritten(variance)):
            return None
        of_mean = self.graph.inputs(_index(mean), self._range_of)
        if self.graph.sources[_index(mean)]["x"] != sources["x"]:
            return None
        epsilon, outside = inputs.get("epsilon") or 0.0, inputs.get("epsilon_outside") or 0.0
        x: Range = inputs["x"]
        joint = joint_norm(x, NORM_AXES[of_mean["over"]], _low(of_mean.get("counted")), epsilon, outside)
        # mean and variance may each have been rounded on the way, by as much as a neighbouring line shows
        unit_mean = self._neighbour_unit(_index(mean), np.abs(inputs["mean"].middle))
        unit_variance = self._neighbour_unit(_index(variance), np.abs(inputs["variance"].middle))
        centre = x.middle
        mu, var = inputs["mean"].middle, np.maximum(inputs["variance"].middle, 0.0)
        shifted = IMAGES["normalise"](
            {
                "x": exactly(centre),
                "mean": around(mu, unit_mean),
                "variance": around(var, unit_variance + unit_mean**2),
                "epsilon": epsilon,
                "epsilon_outside": outside,
            }
        )
        with np.errstate(invalid="ignore"):
            spread = np.nan_to_num(shifted.radius, nan=np.inf, posinf=np.inf)
            wide = Range(np.minimum(joint.low, shifted.low) - spread, np.maximum(joint.high, shifted.high) + spread)
        return gained(without_nan(wide), inputs)

    def _is_unwritten(self, source: Source) -> bool:
        return isinstance(source, FromRecord) and source.index not in self.statements

    def _range_of(self, source: Source) -> Any:
        if isinstance(source, Plain):
            return source.value
        if isinstance(source, FromGiven):
            value = self.graph.givens[source.name].value
            if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiub":
                return value
            unit = self.rounded.get(source.name)
            return exactly(value) if unit is None else around(value, unit / 2)
        assert isinstance(source, FromRecord)
        index = source.index
        if index not in self.statements:
            return self._ranges[index]
        if index not in self._ranges:
            self._ranges[index] = self._written_range(index)
        return self._ranges[index]

    def _written_range(self, index: int) -> Range:
        """Where a number was written it is known to half its unit (to the unit, outwards, where numbers were cut)."""
        value = self.x[index]
        low, high = value.copy(), value.copy()
        is_known = np.zeros(value.shape, dtype=bool)
        for statement in self.statements[index]:
            written = statement.is_written
            unit = np.where(np.isfinite(statement.value), statement.unit, 0.0)
            if statement.is_whole.any() or self.graph.is_move[index]:
                image = self.image(index)
                is_integer = np.abs(image.middle - np.round(image.middle)) <= _EXACT
                unit = np.where(statement.is_whole & is_integer & (image.radius == 0.0), 0.0, unit)
            known = self._known(
                statement.value, unit, np.minimum(unit, statement.unit_inwards), is_cut=self.cuts
            )
            if self.graph.is_move[index]:  # digits that were only moved are known as well as where they came from
                same = (image.low <= statement.value) & (statement.value <= image.high)
                known = Range(
                    np.where(same, np.minimum(known.low, image.low), known.low),
                    np.where(same, np.maximum(known.high, image.high), known.high),
                )
            low, high = np.where(written, known.low, low), np.where(written, known.high, high)
            is_known |= written
        if is_known.all():
            return Range(low, high)
        rest = self.image(index)
        wide = self.statements[index][0].style.unit(np.abs(value))
        rest = rest.widened(0.0 if self.graph.is_move[index] else wide)
        return Range(np.where(is_known, low, rest.low), np.where(is_known, high, rest.high))

    def _widened(self, node: int, image: Range) -> Range:
        if self.graph.is_move[node]:
            return image
        unit = self._neighbour_unit(node, np.maximum(np.abs(image.low), np.abs(image.high)))
        return Range(
            np.where(np.isfinite(image.low), image.low - unit, image.low),
            np.where(np.isfinite(image.high), image.high + unit, image.high),
        )

    def _neighbour_unit(self, node: int, sizes: Array) -> Array:
        """A line that was not written may have been rounded, or cut, as its neighbours were."""
        near = [*self.written_above(node), *self.written_below(node)]
        styles = {each.style for index in near for each in self.statements[index] if each.is_telling}
        if not styles:  # only exact numbers around: the sheet at large tells
            styles = {each.style for own in self.statements.values() for each in own if each.is_telling}
        units = np.zeros(sizes.shape)
        for style in styles:
            units = np.maximum(units, style.unit(np.where(np.isfinite(sizes), sizes, 1.0)))
        return units

    def unwritten_above(self, index: int) -> set[int]:
        """Return the unwritten records on the way up to the nearest written ones."""
        return self._walk(index, self.graph.parents, is_written=False)

    def written_above(self, index: int) -> set[int]:
        """Return the nearest written records above."""
        return self._walk(index, self.graph.parents, is_written=True)

    def written_below(self, index: int) -> set[int]:
        """Return the nearest written records below."""
        return self._walk(index, self.graph.children, is_written=True)

    def _walk(self, index: int, steps: Sequence[Sequence[int]], *, is_written: bool) -> set[int]:
        """Return the nearest written records, or the unwritten ones on the way to them."""
        found: set[int] = set()
        todo, seen = [*steps[index]], {index}
        while todo:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            if (node in self.statements) == is_written:
                found.add(node)
            if node not in self.statements:
                todo += steps[node]
        return found


@dataclass(frozen=True, eq=False)
class _References:
    x: Array
    hat: Array
    right: Array


def _blank(written: Mask) -> list[list[Verdict | None]]:
    return [[None] * written.shape[1] for _ in range(written.shape[0])]


def _index(source: Source) -> int:
    assert isinstance(source, FromRecord)
    return source.index


def _low(value: Any) -> Any:
    return value.low if isinstance(value, Range) else value


def make_statement(
    line: int, node: int, cells: Sequence[Sequence[Written | None]], style: Style, *, turned: bool, is_telling: bool
) -> Statement:
    """Return the statement of a grid of read cells (None: not written), turned over where tokens are columns."""
    grid = [list(row) for row in (zip(*cells, strict=True) if turned else cells)]
    shape = (len(grid), len(grid[0]))
    value, unit = np.full(shape, np.nan), np.zeros(shape)
    is_whole, unreadable = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for row, column in np.ndindex(*shape):
        cell = grid[row][column]
        if cell is None:
            continue
        if cell.problem:
            unreadable[row, column] = True
            continue
        value[row, column], unit[row, column], is_whole[row, column] = cell.value, cell.unit, cell.is_whole
    inwards = np.where(is_whole, style.unit_inwards(value), unit)
    unit = np.where(is_whole, style.unit(value), unit)
    texts = tuple(tuple("" if cell is None else cell.text for cell in row) for row in grid)
    return Statement(line, node, value, unit, inwards, is_whole, texts, style, unreadable, is_telling)
