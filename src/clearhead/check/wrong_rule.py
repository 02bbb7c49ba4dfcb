"""A misconception at a record of a sheet: the student's inputs there, and the values that the wrong rule gives."""

from dataclasses import dataclass
from typing import Any

from clearhead.check.graph import Fetch, FromGiven, FromRecord, Graph
from clearhead.worksheet.arrays import Array


@dataclass(frozen=True, eq=False)
class Variant:
    """The value of a step under a wrong rule."""

    name: str
    value: Array


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
