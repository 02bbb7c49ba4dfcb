"""What a person without a fault can reach: the values of a record for many ways of rounding in between.

Lines that were not written were kept in full, with the digits of the lines around them or with one digit more, rounded
or cut; inner numbers as `habits` describes; a written line was used as it is written, in full, or with one digit more.
Where the lines above are exact and few lines are missing, this decides; otherwise it is a sample of a wider range.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from clearhead.check.graph import FromGiven, FromRecord, Graph, Plain, Source
from clearhead.check.habits import Care, habits, kept, two_figures
from clearhead.check.interval import Range
from clearhead.check.people import People
from clearhead.check.record_image import DIVISORS, RecordImages, nearest_records
from clearhead.check.statement import Statement
from clearhead.check.style import Style
from clearhead.worksheet.arrays import Array, Ids, Mask
from clearhead.worksheet.reference import REFERENCE

_MAX_NUMBERS = 12_000  # of one record in all states together
_MAX_CHOICES = 6  # lines with several roundings: a sample of their combinations reaches nearly everything
_MAX_THOROUGH = 50  # states for which all inner habits are tried
_MAX_LOOPS = 48  # states of a step that cannot be calculated for all of them at once
_MIN_STATES = 32
_WIDE, _WIDE_SHARE = 10.0, 0.25  # in units of the last digit, and as a share of the numbers of the line
_FAR = 0.7  # in half-widths: beyond this, a number cannot be reached
_MARGIN_UNITS = 0.5
_MARGIN = 0.5  # a sample of people does not reach the ends: the share of its half-width by which it is widened
_MARGIN_OF_MANY = 0.1  # the same for a sample of thousands of combinations
_BATCHED = frozenset(
    {
        *("project", "score", "mix", "scale", "mask", "softmax", "divide", "activate", "add", "multiply", "mean"),
        *("variance", "normalise", "rms_normalise", "split", "pick", "join", "append", "cosine", "length"),
        *("exponentiate", "shift", "row_sum", "complement"),
    }
)


@dataclass(frozen=True, eq=False)
class Reached:
    """The values that can be reached; whether no others can; and the cells that depend on lines that were not written.

    `states` has all of them, if there are few enough. `is_dense` is false if there are too many choices for the sample.
    """

    range: Range
    is_complete: bool
    gap: Mask
    is_dense: bool
    states: Array | None = None

    def is_wide(self, statement: Statement) -> Mask:
        """Return the cells for which so much can be reached, because lines are missing, that a number shows nothing."""
        if self.is_complete:
            return np.zeros(self.gap.shape, dtype=bool)
        sizes = np.abs(self.range.middle)[np.isfinite(self.range.middle)]
        least = _WIDE_SHARE * (float(sizes.mean()) if sizes.size else 0.0)
        return np.asarray(self.gap & (self.range.radius > np.maximum(_WIDE * statement.unit, least)))

    def is_far(self, statement: Statement) -> Mask:
        """Return the cells that are so far from everything reached that no rounding can explain them."""
        half = np.maximum(self.range.radius, 0.0)
        with np.errstate(invalid="ignore"):
            gap = np.maximum(self.range.low - statement.value, statement.value - self.range.high)
            return np.asarray(self.is_dense & (gap > _FAR * half + statement.unit))

    def agree(self, statement: Statement, accepted: Mask) -> Mask:
        """Return the cells that some state gives together with the accepted cells of their row.

        If neither most of the row nor most of the line is accepted, they show little about inner numbers, and every
        cell within the range is possible.
        """
        assert self.states is not None
        with np.errstate(invalid="ignore"):
            fits = np.abs(self.states - statement.value) < np.maximum(statement.unit, 1e-9) * (1.0 - 1e-6)
            fits |= np.isinf(self.states)
        rows = np.all(fits | ~accepted, axis=-1, keepdims=True)
        is_clear = 2 * accepted.sum(axis=-1, keepdims=True) > statement.is_written.sum(axis=-1, keepdims=True)
        decimals = statement.is_written & ~statement.is_whole
        num_accepted = int((accepted & decimals).sum())
        is_clear = is_clear | (num_accepted >= max(3.0, 2.0 / 3.0 * int(decimals.sum())))
        return np.asarray(np.any(fits & rows, axis=0) | ~is_clear)


class Reach:
    """The reachable values of the records of one sheet. `x` grows while the sheet is compared."""

    def __init__(
        self,
        graph: Graph,
        statements: Mapping[int, Sequence[Statement]],
        x: Sequence[Array],
        images: RecordImages,
    ) -> None:
        self.graph, self.statements, self.images, self.x = graph, statements, images, x
        self._reached: dict[int, Reached] = {}

    @cached_property
    def people(self) -> People:
        """The people who wrote these lines."""
        return People(self.graph, self.statements, self.x, self.images)

    def of(self, index: int) -> Reached:
        """Return what can be reached at a record; its ancestors have been compared."""
        if index not in self._reached:
            self._reached[index] = _Search(self, index).run()
        return self._reached[index]


class _Search:
    """All states at one record: each state is one person's choice at every line above."""

    def __init__(self, reach: Reach, index: int) -> None:
        self.reach, self.graph, self.index = reach, reach.graph, index
        self.unwritten = sorted(nearest_records(index, self.graph.parents, reach.statements, is_written=False))
        self.random = np.random.default_rng(index)
        self.num_states, self.num_choices = 1, 0
        self.is_sampled = False
        self.values: dict[Source, Array] = {}  # with an axis of states, where the states differ
        self.styles = self._styles()

    def run(self) -> Reached:
        """Return what can be reached: all combinations below exact lines, otherwise what a sample of people reaches."""
        if self._is_above_exact():
            return self._enumerated()
        num_choices = sum(not self.graph.is_move[node] for node in self.unwritten)
        results = self.reach.people.results(self.index)
        results = _without_useless(results, results[:1]) if results.ndim > 2 else results[None]
        low, high = results.min(axis=0), results.max(axis=0)
        with np.errstate(invalid="ignore"):
            half = np.where(np.isfinite(high - low), (high - low) / 2, 0.0)
        margin = half * _MARGIN + _MARGIN_UNITS * self._unit()
        bounds = Range(low - margin, high + margin)
        return Reached(bounds, False, self._gap(), num_choices <= _MAX_CHOICES)

    def _unit(self) -> Array:
        """Return the unit of the line itself."""
        units = [statement.unit for statement in self.reach.statements.get(self.index, ())]
        return np.asarray(np.minimum.reduce(units) if units else 0.0)

    def _enumerated(self) -> Reached:
        for node in self.unwritten:
            self._branch(node, [*self._results(node)])
        results = self._results(self.index, is_thorough=self.num_states <= _MAX_THOROUGH)
        results = [self._spread(result) for result in results]
        results = [_without_useless(result, results[0][:1]) for result in results]
        low = np.minimum.reduce([result.min(axis=0) for result in results])
        high = np.maximum.reduce([result.max(axis=0) for result in results])
        if self.is_sampled:
            with np.errstate(invalid="ignore"):
                half = np.where(np.isfinite(high - low), (high - low) / 2, 0.0)
            low, high = low - half * _MARGIN_OF_MANY, high + half * _MARGIN_OF_MANY
        is_complete = self.num_choices <= _MAX_CHOICES
        states = None if self.num_choices else np.concatenate(results)
        return Reached(Range(low, high), is_complete, self._gap(), is_complete, states)

    def _styles(self) -> list[Style]:
        """Return the precisions that a line in between can have had: those of the written lines around it."""
        statements = self.reach.statements
        nodes = nearest_records(self.index, self.graph.parents, statements, is_written=True) | {self.index}
        around = [statement for node in sorted(nodes) for statement in statements.get(node, ())]
        telling = [statement for statement in around if statement.shows_precision]
        return list(dict.fromkeys(statement.rounding_style for statement in telling or around))

    def _is_above_exact(self) -> bool:
        """Return whether all lines above are exact, or were not written and come from exact lines."""
        nodes = [*self.unwritten, self.index]
        everything = [source for node in nodes for source in _flat(self.graph.sources[node].values())]
        for source in dict.fromkeys(one for one in everything if isinstance(one, FromRecord | FromGiven)):
            if isinstance(source, FromRecord) and source.index in self.unwritten:
                continue
            bounds = self.reach.images.range_of(source)
            if isinstance(bounds, Range) and np.any(bounds.radius > 0.0):
                return False
        return True

    def _gap(self) -> Mask:
        """Return the cells that depend on numbers that were calculated and not written."""
        masks: dict[int, Mask] = {}

        def fetch(source: Source) -> Mask | None:
            if not isinstance(source, FromRecord):
                return None
            if source.index not in masks and source.index in self.reach.statements:
                lines = self.reach.statements[source.index]
                masks[source.index] = ~np.logical_or.reduce([line.is_written for line in lines])
            return masks.get(source.index)

        for node in self.unwritten:
            if self.graph.is_move[node]:
                masks[node] = self.graph.affected_cells(node, fetch)
            else:
                masks[node] = np.ones(self.graph.records[node].value.shape, dtype=bool)
        return self.graph.affected_cells(self.index, fetch)

    # The lines in between

    def _results(self, node: int, *, is_thorough: bool = False) -> list[Array]:
        """Return the results of a record for every inner habit, each for all states."""
        inputs = self.graph.inputs(node, self._fetch)
        step = self.graph.records[node].step.name
        unit = max((float(np.max(style.unit(np.ones(1)))) for style in self.styles), default=0.0)
        if step in ("join", "append"):
            inputs = {name: _each(value, self._spread) for name, value in inputs.items()}
        is_batched = any(isinstance(value, np.ndarray) and value.ndim > 2 for value in _flat(inputs.values()))
        if step in _BATCHED or not is_batched:
            return habits(step, inputs, Care(unit, is_thorough))
        if self.num_states > _MAX_LOOPS:
            self._keep(np.arange(_MAX_LOOPS))
            inputs = self.graph.inputs(node, self._fetch)
        return [np.stack([self._single(step, inputs, state) for state in range(self.num_states)])]

    def _single(self, step: str, inputs: Mapping[str, Any], state: int) -> Array:
        def one(value: Any) -> Any:
            return value[state] if isinstance(value, np.ndarray) and value.ndim > 2 else value

        return np.asarray(REFERENCE[step](**{name: _each(value, one) for name, value in inputs.items()}))

    def _fetch(self, source: Source) -> Any:
        if source in self.values:
            return self.values[source]
        if isinstance(source, Plain):
            return source.value
        if isinstance(source, FromGiven):
            return self.graph.givens[source.name].value
        assert isinstance(source, FromRecord)
        return self.reach.x[source.index]

    def _spread(self, value: Any) -> Any:
        """Return an array with an axis of states."""
        if not isinstance(value, np.ndarray) or value.ndim > 2:
            return value
        return np.broadcast_to(value, (self.num_states, *value.shape))

    def _branch(self, node: int, results: list[Array]) -> None:
        """Replace each state by one for every habit and every rounding of this line."""
        source = FromRecord(node)
        num_before = self.num_states
        self._multiply(source, results)
        if not self.graph.is_move[node]:
            value = self.values[source]
            self._multiply(source, [value, *self._roundings(self.graph.records[node].step.name, value)])
        self.num_choices += self.num_states > num_before or len(results) > 1

    def _multiply(self, source: FromRecord, options: list[Array]) -> None:
        """Combine every state with every option for a line, or a sample of these combinations."""
        if len(options) == 1:
            self.values[source] = options[0]
            return
        number = self.num_states * len(options)
        combinations = np.arange(number)
        most = max(_MIN_STATES, _MAX_NUMBERS // max(1, math.prod(options[0].shape[-2:])))
        if number > most:
            chosen = self.random.choice(number - 1, size=most - 1, replace=False) + 1
            combinations = np.concatenate([[0], np.sort(chosen)])
            self.is_sampled = True
        states, choices = combinations % self.num_states, combinations // self.num_states
        spread = [self._spread(option) for option in options]
        self.values = {one: value[states] if value.ndim > 2 else value for one, value in self.values.items()}
        combined = np.empty((len(combinations), *spread[0].shape[1:]))
        for place, option in enumerate(spread):
            is_mine = choices == place
            combined[is_mine] = option[states[is_mine]]
        self.values[source] = combined
        self.num_states = len(combinations)

    def _keep(self, states: Ids) -> None:
        self.values = {source: value[states] if value.ndim > 2 else value for source, value in self.values.items()}
        self.num_states, self.is_sampled = len(states), True

    def _roundings(self, step: str, value: Array) -> list[Array]:
        """Return a line as it is rounded or cut at the digits of the lines around it, or at one digit more."""
        units = [style.unit(value) for style in self.styles]
        if step in DIVISORS:
            units = [np.minimum(unit, two_figures(value)) for unit in units]
        candidates = [
            kept(value, unit / guard, is_cut=is_cut)
            for unit, guard, is_cut in product(units, (1.0, 10.0), (False, True))
        ]
        if step in DIVISORS:
            candidates += Care(0.0).shortened(value)
        with np.errstate(invalid="ignore"):  # ∞ - ∞
            return [rounded for rounded in candidates if (np.abs(rounded - value) > 1e-12).any()]


def _without_useless(results: Array, full: Array) -> Array:
    """Replace results that come from a division by a rounded 0."""
    is_number = np.isfinite(results)
    if is_number.all():
        return results
    return np.where(np.isnan(results) | (~is_number & np.isfinite(full)), full, results)


def _each(value: Any, change: Any) -> Any:
    return tuple(change(part) for part in value) if isinstance(value, tuple) else change(value)


def _flat(values: Any) -> list[Any]:
    """Return sources or values, those of the parts of an input one by one."""
    flat: list[Any] = []
    for value in values:
        parts = getattr(value, "parts", value if isinstance(value, tuple) else None)
        flat += [value] if parts is None else _flat(parts)
    return flat
