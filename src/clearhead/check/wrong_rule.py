"""A wrong rule at a record of a sheet: the inputs that the student had there, and what the rule gives."""

from dataclasses import dataclass
from typing import Any

from clearhead.check.graph import Fetch, FromGiven, FromRecord, Graph
from clearhead.worksheet.arrays import Array


@dataclass(frozen=True, eq=False)
class Variant:
    """What a step gives under a wrong rule."""

    name: str
    value: Array


@dataclass(frozen=True, eq=False)
class Site:
    """A record at which a rule may have been wrong, with the inputs that the student had."""

    graph: Graph
    index: int
    fetch: Fetch

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs, from the student's own lines."""
        return self.graph.inputs(self.index, self.fetch)

    @property
    def where(self) -> list[str]:
        """The parts of the record's place."""
        return self.graph.records[self.index].where.split(".")

    @property
    def symbol(self) -> str:
        """The record's symbol."""
        return self.graph.records[self.index].symbol

    def above(self, name: str) -> "Site | None":
        """Return the record that an input was made by."""
        source = self.graph.sources[self.index].get(name)
        return Site(self.graph, source.index, self.fetch) if isinstance(source, FromRecord) else None

    @property
    def step(self) -> str:
        """The name of the record's step."""
        return self.graph.records[self.index].step.name

    def given_name(self, name: str) -> str:
        """Return the symbol of the given that an input is, or nothing."""
        source = self.graph.sources[self.index].get(name)
        return self.graph.givens[source.name].symbol if isinstance(source, FromGiven) else ""
