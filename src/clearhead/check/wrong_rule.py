"""A wrong rule at a record of a sheet: the student's inputs there, and the calculation by the wrong rule."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearhead.check.graph import Fetch, FromGiven, FromRecord, Graph
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import REFERENCE

Place = Callable[[int, int], tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Calculation:
    """A step with its inputs, whose cell at `place(row, column)` is the cell (row, column) of a line."""

    step: str
    inputs: Mapping[str, Any]
    place: Place | None = None


@dataclass(frozen=True, eq=False)
class Variant:
    """The value of a step under a wrong rule, and the calculation that shows it where one is known."""

    name: str
    value: Array
    shown: Calculation | None = None


@dataclass(frozen=True, eq=False)
class Site:
    """A record at which the rule may have been wrong, with the student's inputs."""

    graph: Graph
    index: int
    fetch: Fetch

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs from the student's own lines."""
        return self.graph.inputs(self.index, self.fetch)

    @property
    def value(self) -> Array:
        """The value of the record in the student's working."""
        return np.asarray(self.fetch(FromRecord(self.index)))

    @property
    def where(self) -> list[str]:
        """The parts of the record's path."""
        return self.graph.records[self.index].where.split(".")

    @property
    def symbol(self) -> str:
        """The record's symbol."""
        return self.graph.records[self.index].symbol

    def above(self, name: str) -> "Site | None":
        """Return the record that an input comes from."""
        source = self.graph.sources[self.index].get(name)
        return Site(self.graph, source.index, self.fetch) if isinstance(source, FromRecord) else None

    @property
    def step(self) -> str:
        """The name of the record's step."""
        return self.graph.records[self.index].step.name

    def given_name(self, name: str) -> str:
        """Return the symbol of a given input, or an empty text."""
        source = self.graph.sources[self.index].get(name)
        return self.graph.givens[source.name].symbol if isinstance(source, FromGiven) else ""

    def changed(self, name: str, **changes: Any) -> Variant:
        """Return the same step with some inputs changed; an input that is None is left out."""
        inputs = {key: value for key, value in {**self.inputs, **changes}.items() if value is not None}
        return worked(name, self.step, inputs)


def worked(name: str, step: str, inputs: Mapping[str, Any]) -> Variant:
    """Return the value of a step with these inputs under the name of a wrong rule."""
    return Variant(name, np.asarray(REFERENCE[step](**inputs)), Calculation(step, inputs))


def worked_down_columns(name: str, step: str, inputs: Mapping[str, Any]) -> Variant:
    """Return a step of rows, worked down the columns of its scores."""
    turned = {**inputs, "scores": inputs["scores"].T}
    value = np.asarray(REFERENCE[step](**turned)).T
    return Variant(name, value, Calculation(step, turned, lambda row, column: (column, row)))


def worked_over_all(name: str, step: str, inputs: Mapping[str, Any]) -> Variant:
    """Return a step of rows, worked over all scores as one row."""
    scores = inputs["scores"]
    flat, width = {**inputs, "scores": scores.reshape(1, -1)}, scores.shape[1]
    value = np.asarray(REFERENCE[step](**flat)).reshape(scores.shape)
    return Variant(name, value, Calculation(step, flat, lambda row, column: (0, row * width + column)))
