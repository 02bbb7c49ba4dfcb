"""Experiment: the result of one measurement, as plain numbers that can be printed, saved and loaded."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from clearhead.worksheet.arrays import Array

FORMAT = 1
Cell = int | float | str
Rows = list[tuple[Cell, ...]]
_NOISE = 1e-12  # a smaller float64 result is rounding noise, and its digits differ between machines


@dataclass(frozen=True)
class ResultTable:
    """A table of numbers and words with column names."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]

    def column(self, name: str) -> tuple[Cell, ...]:
        """Return one column by its name."""
        return tuple(row[self.columns.index(name)] for row in self.rows)


class Measurement(NamedTuple):
    """What a study measures: the finding if a sentence can say it, and arrays that the plot needs and no table has."""

    tables: tuple[ResultTable, ...]
    finding: str = ""
    arrays: Mapping[str, Array] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Experiment:
    """A measurement, with its name, its title, its seed, and the claim of lecture notes that it measures."""

    name: str
    title: str
    seed: int
    claim: str
    tables: tuple[ResultTable, ...]
    finding: str
    arrays: Mapping[str, Array] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Experiment) and self.to_json() == other.to_json()

    def to_json(self) -> str:
        """Return the experiment as JSON, with all digits of every number."""
        data = {
            "format": FORMAT,
            "experiment": self.name,
            "title": self.title,
            "seed": self.seed,
            "claim": self.claim,
            "finding": self.finding,
            "tables": [asdict(table) for table in self.tables],
            "arrays": {name: array.tolist() for name, array in self.arrays.items()},
        }
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Experiment":
        """Return the experiment that `to_json` wrote; all numbers are equal to the last bit."""
        data = json.loads(text)
        tables = tuple(
            ResultTable(table["title"], tuple(table["columns"]), [tuple(row) for row in table["rows"]])
            for table in data["tables"]
        )
        arrays = {name: np.asarray(values, dtype=np.float64) for name, values in data["arrays"].items()}
        return cls(data["experiment"], data["title"], data["seed"], data["claim"], tables, data["finding"], arrays)


def format_cell(cell: Cell) -> str:
    """Return a cell as it is shown: four significant figures, and `< 1e-12` for rounding noise."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    if 0.0 < abs(cell) < _NOISE:
        return "< 1e-12"
    return f"{cell:.4g}" if abs(cell) < 1000.0 else f"{cell:,.0f}"
