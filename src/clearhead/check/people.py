"""A sample of people who work a sheet without a fault: each line as each of them has it.

All of them wrote the digits of the working. They differ in what they continue with (these digits, the full number, or
one digit more than is written), in how they keep lines that they do not write, and in how they keep the inner numbers
of a line. Each person is one state: the cells of a line are the results of the same choices.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clearhead.check.graph import FromGiven, FromRecord, Graph, Plain, Source
from clearhead.check.habits import kept, two_figures
from clearhead.check.inner_numbers import WITH_INNER_NUMBERS, InnerNumbers, work, work_plainly
from clearhead.check.interval import Range
from clearhead.check.record_image import DIVISORS, RecordImages, nearest_records
from clearhead.check.statement import EXACT, Statement
from clearhead.check.style import Style
from clearhead.worksheet.arrays import Array, Mask

NUM_PEOPLE = 300
_DIGITS, _FULL, _GUARD = range(3)  # what a person continues with
_NUM_DRAWS = 6  # more draws of the inner numbers of the line itself, which all people shorten
_NUM_PURE = 12  # people who have the same habit in every line
_UNKNOWN = 0.15  # of the people whose numbers do not give the digits have other numbers that do
_RARE = 0.08  # of the people: fewer than this may lack the habit of the student
_RARE_IF_VARIED = 0.6  # the same where lines have different precisions: coarse lines hide much of their numbers


class People:
    """The lines of one sheet as a sample of people have them. `x` grows while the sheet is compared."""

    def __init__(
        self, graph: Graph, statements: Mapping[int, Sequence[Statement]], x: Sequence[Array], images: RecordImages
    ) -> None:
        self.graph, self.statements, self.x, self.images = graph, statements, x, images
        self._values: dict[Source, Array] = {}
        self._exact: dict[int, bool] = {}
        self._rare = _RARE_IF_VARIED if self._is_varied() else _RARE
        draw = np.random.default_rng(0)
        person = np.arange(NUM_PEOPLE)
        is_pure = person < _NUM_PURE
        self._carries = np.where(is_pure, person % 3, draw.choice([_DIGITS, _FULL, _GUARD, -1, -1], NUM_PEOPLE))
        self._is_cutter = np.where(is_pure, person % 6 >= 3, draw.random(NUM_PEOPLE) < 0.4)
        self._is_even = (~self._is_cutter & (person % 3 == 0))[:, None, None]  # halves are rounded to even digits
        self._inner_chance = np.where(is_pure, 0.0, draw.choice([0.0, 0.5, 1.0, 1.0], NUM_PEOPLE))
        self._rounds_skipped = np.where(is_pure, person >= 6, draw.choice([0.0, 0.5, 1.0], NUM_PEOPLE))
        self._has_constants = ~is_pure & (draw.random(NUM_PEOPLE) < 0.4)

    def _is_varied(self) -> bool:
        """Return whether the lines have different numbers of decimals, and of significant figures."""
        everything = [statement for own in self.statements.values() for statement in own]
        styles = [statement.style for statement in everything if statement.is_telling]
        decimals, figures = {style.decimals for style in styles}, {style.figures for style in styles}
        return len(styles) > 1 and not any(len(digits) == 1 and None not in digits for digits in (decimals, figures))

    def results(self, index: int) -> Array:
        """Return a record by the right rule, from the lines above as each person has them."""
        for node in self._ancestors(index):
            if FromRecord(node) not in self._values:
                self._values[FromRecord(node)] = self._value(node)
        if self.graph.records[index].step.name not in WITH_INNER_NUMBERS:
            return self._worked(index)
        chances = [self._inner_chance, *(np.ones(NUM_PEOPLE) for _ in range(_NUM_DRAWS))]
        results = [
            self._worked(index, np.random.default_rng((index, number)), chance) for number, chance in enumerate(chances)
        ]
        return np.concatenate(results) if results[0].ndim > 2 else results[0]

    def _ancestors(self, index: int) -> list[int]:
        """Return the records above that are not known yet, in order."""
        todo, visited = [*self.graph.parents[index]], set[int]()
        while todo:
            node = todo.pop()
            if node not in visited and FromRecord(node) not in self._values:
                visited.add(node)
                if not self._is_exact(node):
                    todo += self.graph.parents[node]
        return sorted(visited)

    def _is_exact(self, node: int) -> bool:
        if node not in self._exact:
            is_written = node in self.statements
            self._exact[node] = is_written and not np.any(self.images.range_of(FromRecord(node)).radius > 0.0)
        return self._exact[node]

    # One line

    def _value(self, node: int) -> Array:
        """Return the numbers of a line with which each person continues."""
        if self._is_exact(node):
            return self.x[node]
        draw = np.random.default_rng(node + 1)
        full, is_move = self._worked(node, draw), self.graph.is_move[node]
        own = self.statements.get(node, ())
        nothing = np.zeros(full.shape[-2:], dtype=bool)
        is_written = np.logical_or.reduce([nothing, *(statement.is_written for statement in own)])
        unwritten = full if is_move or is_written.all() else self._unwritten(node, full, draw)
        if not own:
            return unwritten
        unit = np.minimum.reduce([np.where(statement.is_written, statement.unit, np.inf) for statement in own])
        digits = self.x[node]
        carries = np.where(self._carries < 0, draw.integers(3, size=NUM_PEOPLE), self._carries)[:, None, None]
        guard = full
        if not is_move:
            guard = kept(full, np.where(is_written & (unit > 0.0), unit, 1.0) / 10.0, is_cut=self._cuts)
        continued = np.where(carries == _GUARD, guard, full)
        is_shown = self._is_moved(node, full) if is_move else _shows(digits, unit, full)
        # where hardly anybody has a row that gives these digits, the student has another one that does
        is_rare = np.mean(np.broadcast_to(is_shown, (NUM_PEOPLE, *digits.shape)), axis=0) < self._rare
        is_rare = is_rare | (draw.random(NUM_PEOPLE) < _UNKNOWN)[:, None, None]
        if is_rare.any():
            continued = np.where(is_rare & ~is_shown, self._behind(digits, unit, draw), continued)
            is_shown = is_shown | is_rare
        return np.where(is_written, np.where(is_shown & (carries != _DIGITS), continued, digits), unwritten)

    def _is_moved(self, node: int, full: Array) -> Mask:
        """Return where a number can be the one that was moved: its digits may be finer in the line it came from."""
        bounds = self.images.range_of(FromRecord(node))
        room = bounds.radius + EXACT
        return np.asarray((full >= bounds.low - room) & (full <= bounds.high + room) | (full == bounds.low))

    def _behind(self, digits: Array, unit: Array, draw: np.random.Generator) -> Array:
        """Return any numbers that give the written digits, rounded or cut."""
        share = draw.uniform(-0.5, 0.5, (NUM_PEOPLE, *digits.shape))
        share = np.where(self._cuts, np.copysign(share + 0.5, digits), share)
        return np.where(np.isfinite(digits), digits + share * np.where(np.isfinite(unit), unit, 0.0), digits)

    @property
    def _cuts(self) -> Mask:
        return self._is_cutter[:, None, None]

    def _unwritten(self, node: int, full: Array, draw: np.random.Generator) -> Array:
        """Return a line that is not written as people keep it: in full, or rounded as the lines around it."""
        styles = self.styles_around(node)
        is_rounded = draw.random(NUM_PEOPLE) < self._rounds_skipped
        if node in self.statements or not styles:
            styles = [statement.style for statement in self.statements.get(node, ())] or [Style(decimals=2)]
        chosen = draw.integers(len(styles), size=NUM_PEOPLE)[:, None, None]
        units = np.broadcast_to(np.ones(1), (NUM_PEOPLE, *full.shape[-2:]))
        for place, style in enumerate(styles):
            units = np.where(chosen == place, style.unit(full), units)
        units = np.where(draw.random(NUM_PEOPLE)[:, None, None] < 0.3, units / 10.0, units)
        is_divisor = self.graph.records[node].step.name in DIVISORS
        units = np.minimum(units, two_figures(full)) if is_divisor else units
        is_cut = self._cuts ^ (draw.random(NUM_PEOPLE) < 0.2)[:, None, None]
        steps = np.round(full / units, 6)
        rounded = np.where(self._is_even, np.round(steps) * units, kept(full, units, is_cut=is_cut))
        rounded = np.where(np.isfinite(full), rounded, full)
        if is_divisor:
            inner = self._inner(node, draw)
            rounded = np.where(inner.is_kept, inner.keep(full, least=2), rounded)
            is_rounded = is_rounded | inner.is_kept[:, 0, 0]
        return np.where(is_rounded[:, None, None], rounded, full)

    def styles_around(self, node: int) -> list[Style]:
        """Return the precisions that an unwritten line can have had: those of the written lines around it."""
        nodes = nearest_records(node, self.graph.parents, self.statements, is_written=True)
        nodes |= nearest_records(node, self.graph.children, self.statements, is_written=True)
        around = [statement for near in sorted(nodes) for statement in self.statements[near]]
        telling = [statement for statement in around if statement.shows_precision]
        return list(dict.fromkeys(statement.rounding_style for statement in telling or around))

    def _worked(self, node: int, draw: np.random.Generator | None = None, chance: Array | None = None) -> Array:
        inputs, step = self.graph.inputs(node, self._fetch), self.graph.records[node].step.name
        if step not in WITH_INNER_NUMBERS:
            return work_plainly(step, inputs, NUM_PEOPLE)
        return work(step, inputs, self._inner(node, draw or np.random.default_rng(node), chance))

    def _inner(self, node: int, draw: np.random.Generator, chance: Array | None = None) -> InnerNumbers:
        """Draw how people keep the inner numbers of a line: one or two digits less than the line has, or more."""
        own = [statement.style for statement in self.statements.get(node, ())] or self.styles_around(node)
        style = own[0] if own else Style(decimals=2)
        value = np.abs(self.graph.records[node].value)
        largest = np.max(value, where=np.isfinite(value), initial=0.0)
        unit = float(style.unit(np.full(1, largest))[0]) if largest else 0.01
        decimals = round(-np.log10(unit)) if unit > 0.0 else 2
        figures = style.figures if style.figures is not None and style.decimals is None else 0
        return InnerNumbers.drawn(
            draw, (decimals, figures), self._inner_chance if chance is None else chance, self._has_constants
        )

    # Inputs

    def _fetch(self, source: Source) -> Any:
        if isinstance(source, Plain):
            return source.value
        if source not in self._values and isinstance(source, FromGiven):
            self._values[source] = self._given(source)
        return self._values[source]

    def _given(self, source: FromGiven) -> Any:
        """Return a given matrix; if it is rounded, any numbers that give its digits."""
        bounds = self.images.range_of(source)
        if not isinstance(bounds, Range) or not np.any(bounds.radius > 0.0):
            return self.graph.givens[source.name].value
        shares = np.random.default_rng(0).uniform(-1.0, 1.0, (NUM_PEOPLE, *bounds.middle.shape))
        return bounds.middle + bounds.radius * shares


def _shows(digits: Array, unit: Array, full: Array) -> Mask:
    """Return the rows that give the written digits: all cells rounded, or all cells cut."""
    gap = np.abs(full - digits)
    is_same = (full == digits) | (gap <= EXACT)
    is_rounded = np.all((gap <= 0.5 * unit * (1.0 + EXACT)) | is_same, axis=-1, keepdims=True)
    is_cut = np.all(((gap < unit) & (np.abs(full) >= np.abs(digits))) | is_same, axis=-1, keepdims=True)
    return np.asarray(np.broadcast_to(is_rounded | is_cut, full.shape))
