"""A worksheet as a graph: every record with the givens and records that it is calculated from.

Values are stored in separate lists beside the records, so that the same sheet can be calculated from other numbers:
from a student's digits, from the unrounded values they represent, or with one rule changed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearhead.steps import Given, Record
from clearhead.worksheet.arrays import Array, Mask
from clearhead.worksheet.parents import PARENTS
from clearhead.worksheet.pen import in_rows
from clearhead.worksheet.reference import REFERENCE
from clearhead.worksheet.working import WORKINGS, moves
from clearhead.worksheet.worksheet import Worksheet


@dataclass(frozen=True)
class FromGiven:
    """An input that the problem gives."""

    name: str


@dataclass(frozen=True)
class FromRecord:
    """An input that is the value of an earlier record."""

    index: int


@dataclass(frozen=True)
class FromParts:
    """An input that is a tuple of inputs."""

    parts: tuple["Source", ...]


@dataclass(frozen=True)
class Plain:
    """An input that is a number, a word or a list, and is not a line of a working."""

    value: Any


Source = FromGiven | FromRecord | FromParts | Plain
Fetch = Callable[[Source], Any]


class Graph:
    """The records of a worksheet, with tokens as rows, and the source of each of their inputs."""

    def __init__(self, sheet: Worksheet) -> None:
        trace = in_rows(sheet.trace)
        self.sheet = sheet
        self.records: tuple[Record, ...] = tuple(trace)
        self.givens: Mapping[str, Given] = trace.givens
        self.is_turned = sheet.layout == "columns"
        homes: dict[int, Source] = {id(matrix.value): FromGiven(name) for name, matrix in trace.givens.items()}
        self.sources: list[dict[str, Source]] = []
        for index, record in enumerate(self.records):
            self.sources.append({name: _source(value, homes) for name, value in record.inputs.items()})
            homes[id(record.value)] = FromRecord(index)
        self.parents: list[tuple[int, ...]] = [tuple(_indices(inputs.values())) for inputs in self.sources]
        self.children: list[list[int]] = [[] for _ in self.records]
        for index, above in enumerate(self.parents):
            for parent in above:
                self.children[parent].append(index)
        self.by_place: dict[str, list[int]] = {}
        for index, record in enumerate(self.records):
            self.by_place.setdefault(record.where, []).append(index)
        self.has_unknown_input = any(
            matrix.value.dtype.kind == "f" and bool(np.isnan(matrix.value).any()) for matrix in trace.givens.values()
        )
        self.is_move = [WORKINGS[record.step.name] is moves for record in self.records]

    def __len__(self) -> int:
        return len(self.records)

    def inputs(self, index: int, fetch: Fetch) -> dict[str, Any]:
        """Return the inputs of a record, each fetched from its source."""
        return {name: _fetched(source, fetch) for name, source in self.sources[index].items()}

    def work(self, index: int, fetch: Fetch) -> Array:
        """Recalculate a record from the inputs that `fetch` returns."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            return np.asarray(REFERENCE[self.records[index].step.name](**self.inputs(index, fetch)))

    def affected_cells(self, index: int, fetch: Fetch) -> Mask:
        """Return which cells of a record depend on a marked cell of its inputs (`fetch` returns masks or None)."""
        record = self.records[index]
        marked = {name: _fetched(source, fetch) for name, source in self.sources[index].items()}
        step = record.step.name
        if step in _PRODUCTS:
            left_mask, right_mask = (marked[name] for name in _PRODUCTS[step])
            touched = np.zeros(record.value.shape, dtype=bool)
            if left_mask is not None:
                touched |= left_mask.any(axis=1)[:, None]
            if right_mask is not None:
                touched |= right_mask.any(axis=0 if step in ("project", "mix") else 1)[None, :]
            return touched
        touched = np.zeros(record.value.shape, dtype=bool)
        if step in _BY_ROW and "exponentials" not in record.inputs:
            mask = marked[_BY_ROW[step]]
            return touched if mask is None else touched | mask.any(axis=1)[:, None]
        if step in _BY_CELL:
            for mask in marked.values():
                if isinstance(mask, np.ndarray):
                    touched |= np.broadcast_to(mask, touched.shape)
            return touched
        parents = PARENTS[step]
        for row, column in np.ndindex(*record.value.shape):
            for parent in parents(record, row, column):
                mask = marked.get(parent.name)
                if isinstance(mask, tuple):
                    mask = mask[parent.part or 0]
                if mask is not None and (mask[parent.row, parent.column] if mask.ndim == 2 else mask[parent.column]):
                    touched[row, column] = True
                    break
        return touched


_PRODUCTS: Mapping[str, tuple[str, str]] = {
    "project": ("x", "w"),
    "transform": ("x", "w"),
    "score": ("q", "k"),
    "mix": ("weights", "v"),
}


_BY_ROW: Mapping[str, str] = {
    "softmax": "scores",
    "divide": "scores",
    "shift": "scores",
    "row_sum": "x",
    "choose": "probabilities",
    "length": "x",
    "root_mean_square": "x",
}
_BY_CELL = frozenset({"add", "multiply", "complement", "scale", "exponentiate", "deviation", "activate", "mask"})


def _source(value: Any, homes: Mapping[int, Source]) -> Source:
    if id(value) in homes:
        return homes[id(value)]
    if isinstance(value, tuple | list):
        return FromParts(tuple(_source(element, homes) for element in value))
    return Plain(value)


def _indices(sources: Any) -> list[int]:
    indices: list[int] = []
    for source in sources:
        if isinstance(source, FromRecord) and source.index not in indices:
            indices.append(source.index)
        elif isinstance(source, FromParts):
            indices += [index for index in _indices(source.parts) if index not in indices]
    return indices


def _fetched(source: Source, fetch: Fetch) -> Any:
    if isinstance(source, FromParts):
        return tuple(_fetched(part, fetch) for part in source.parts)
    return fetch(source)


def fetch_from(values: Sequence[Any], givens: Mapping[str, Given]) -> Fetch:
    """Return a function that fetches records from `values`, and givens and plain inputs unchanged."""

    def fetch(source: Source) -> Any:
        if isinstance(source, FromRecord):
            return values[source.index]
        if isinstance(source, FromGiven):
            return givens[source.name].value
        assert isinstance(source, Plain)
        return source.value

    return fetch
