"""The pen that writes a working: it computes each step with the reference code, rounds the line and records it.

All steps are computed with tokens as rows; a sheet with tokens as columns is transposed at the end.
"""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from clearhead.errors import ProblemError
from clearhead.steps import Record, Step, Trace
from clearhead.steps.step import Layout
from clearhead.steps.vocabulary import COPY
from clearhead.worksheet.arrays import AnyArray, Array
from clearhead.worksheet.expression import Number, evaluate
from clearhead.worksheet.part_line import LinkedArray
from clearhead.worksheet.reference import replay
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.working import WORKINGS, moves

MAX_LINE = 2**24  # numbers in one line
MAX_SHEET = 2**26  # numbers in all lines: half a gigabyte


class Pen:
    """Write steps into a Trace, at one place of the model; `at` moves the pen."""

    def __init__(self, layout: Layout, rounding: Rounding, show: frozenset[str] = frozenset()) -> None:
        self.layout = layout
        self.rounding = rounding
        self.show = show  # the lines that are written only if the problem asks for them
        self.warnings: list[str] = []
        self._trace = Trace()
        self._given: dict[int, tuple[AnyArray, AnyArray]] = {}
        self._room = [MAX_SHEET]  # shared by all pens of a sheet

    @property
    def trace(self) -> Trace:
        """The trace so far, with tokens as rows."""
        return self._trace

    @property
    def where(self) -> str:
        """The place at which the pen writes."""
        return self._trace.where

    def at(self, *place: str | int) -> "Pen":
        """Return a pen that writes into the same trace, under `place`."""
        child = Pen(self.layout, self.rounding, self.show)
        child.warnings, child._trace, child._given = self.warnings, self._trace.at(*place), self._given
        child._room = self._room
        return child

    def give(
        self,
        name: str,
        value: AnyArray,
        *,
        symbol: str = "",
        rows: tuple[str, ...] = (),
        columns: tuple[str, ...] = (),
    ) -> AnyArray:
        """Record a given value in the layout of the problem, and return it with tokens as rows (`rows`: their names).

        A value that was given before, such as the weights of a model that runs again, is not recorded twice.
        """
        if id(value) not in self._given:
            if isinstance(value, LinkedArray):
                in_rows = self._copy(name, value, symbol=symbol, rows=rows)
            else:
                transposed = transpose(value) if self.layout == "columns" else value
                in_rows = self.give_as_rows(name, transposed, symbol=symbol, rows=rows, columns=columns)
            self._given[id(value)] = (value, in_rows)
        return self._given[id(value)][1]

    def give_vector(self, name: str, vector: Array, *, symbol: str = "", rows: tuple[str, ...] = ()) -> AnyArray:
        """Record a given vector as a matrix of one token, in either layout."""
        if isinstance(vector, LinkedArray):
            return self.give(name, vector, symbol=symbol, rows=rows)
        return self.give_as_rows(name, vector[None, :], symbol=symbol, rows=rows)

    def _copy(self, name: str, value: LinkedArray, *, symbol: str, rows: tuple[str, ...]) -> Array:
        """Write a line of an earlier part as the first line of this one; `rows` are its new names."""
        names = None
        if rows:
            names = self.give_as_rows(f"{name} names", np.arange(len(rows)), symbol="tokens", rows=rows)
        line = value.line
        return self.work(
            COPY, symbol=symbol or name, names=names, x=line.value(self._trace), part=line.part + 1, row=line.row
        )

    def give_as_rows(
        self,
        name: str,
        value: AnyArray,
        *,
        symbol: str = "",
        rows: tuple[str, ...] = (),
        columns: tuple[str, ...] = (),
    ) -> AnyArray:
        """Record a given value that already has tokens as rows (one that the solver created)."""
        self._trace.give(name, value, symbol=symbol, rows=rows, columns=columns)
        return value

    def work(self, step: Step, *, symbol: str = "", **inputs: Any) -> Array:
        """Compute one step, round it by the policy, record it and return the line that later steps use."""
        inputs = {name: value for name, value in inputs.items() if value is not None}
        _check_size(step, inputs)
        line = compute_line(Record(step, self.where, inputs, None, ""), self.rounding)
        if step.name not in ("mask", "shift") and not np.all(np.isfinite(line)):
            raise ProblemError(
                f"{step.name} gives numbers that are too large (beyond about 1.8e308). Give smaller numbers."
            )
        self._room[0] -= line.size
        if self._room[0] < 0:
            raise ProblemError(
                f"the lines have more than {MAX_SHEET:,} numbers in all, the limit of a worksheet. "
                "Give fewer tokens or parts."
            )
        symbol = symbol or step.symbol_in(self.layout)
        self._trace.record(step, line, symbol=symbol, **inputs)
        return line

    def warn(self, sentence: str) -> None:
        """Add a warning that is shown with the worksheet."""
        place = f"{self.where}: " if self.where else ""
        self.warnings.append(place + sentence)

    def finish(self) -> Trace:
        """Return the trace in the layout of the problem."""
        return transpose_trace(self._trace) if self.layout == "columns" else self._trace


class _ExactNumbers:
    """Show every number with all its digits."""

    is_left_first = True
    max_terms = MAX_LINE

    def cell(self, value: Any, *index: int) -> Number:
        return self.plain(value[index])

    def plain(self, number: float) -> Number:
        return Number(repr(float(number)))


def compute_line(record: Record, rounding: Rounding) -> Array:
    """Return the line of a Record, computed from its inputs and rounded; copied numbers are not rounded."""
    value, working = replay(record), WORKINGS[record.step.name]
    if working is moves:
        return value

    def exactly(row: int, column: int) -> Decimal | None:
        expression = working(record, row, column, _ExactNumbers())
        return None if expression is None else evaluate(expression)

    return rounding.line(value, exactly)


def _check_size(step: Step, inputs: dict[str, Any]) -> None:
    """Raise ProblemError if a line would take too much memory."""
    sizes = {
        "project": ("x", 0, "w", 1),
        "transform": ("x", 0, "w", 0),
        "score": ("q", 0, "k", 0),
        "kernel": ("query_times", 0, "key_times", 0),
        "embed": ("ids", 0, "table", 1),
        "position": ("positions", 0, "dimensions", 0),
        "one_hot": ("ids", 0, "words", 0),
    }
    if step.name in sizes:
        one, i, other, j = sizes[step.name]
        rows, columns = inputs[one].shape[i], inputs[other].shape[j]
        if rows * columns > MAX_LINE:
            raise ProblemError(
                f"{step.name} would give {rows:,} × {columns:,} numbers; a line of a worksheet can have at most "
                f"{MAX_LINE:,}. Give fewer tokens, or narrower ones."
            )


def transpose(value: AnyArray) -> AnyArray:
    """Transpose a matrix; return a vector unchanged."""
    return np.ascontiguousarray(value.T) if value.ndim == 2 else value


def transpose_trace(trace: Trace) -> Trace:
    """Return the same trace with rows and columns exchanged in every matrix."""
    other = Trace("columns" if trace.layout == "rows" else "rows")
    transposed: dict[int, Any] = {}

    def transposed_value(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(transposed_value(element) for element in value)
        if isinstance(value, np.ndarray):
            return transposed.setdefault(id(value), transpose(value))
        return value

    for entry in trace.givens.values():
        if entry.value.ndim == 2:
            entry = replace(entry, value=transposed_value(entry.value), rows=entry.columns, columns=entry.rows)
        other.givens[entry.name] = entry
    for record in trace:
        inputs = {name: transposed_value(value) for name, value in record.inputs.items()}
        other.records.append(Record(record.step, record.where, inputs, transposed_value(record.value), record.symbol))
    return other


def in_rows(trace: Trace) -> Trace:
    """Return the trace with tokens as rows, whatever its layout."""
    return trace if trace.layout == "rows" else transpose_trace(trace)
