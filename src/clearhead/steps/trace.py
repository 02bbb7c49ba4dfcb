"""A Trace: the given values of a working, and a Record of every step in order.

Values can be of any type (numpy arrays, torch tensors, numbers). The inputs of a Record are the same objects that were
given or recorded earlier, so that the chain from the answer back to the question can be followed and checked.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Self

from clearhead.errors import TraceError
from clearhead.steps.step import Layout, Step

Value = Any


@dataclass(frozen=True, eq=False)
class Given:
    """A value that the working starts from: a model input or a parameter, with its row and column names."""

    name: str
    symbol: str
    value: Value
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Given):
            return NotImplemented
        mine = (self.name, self.symbol, self.rows, self.columns)
        return mine == (other.name, other.symbol, other.rows, other.columns) and same_value(self.value, other.value)


@dataclass(frozen=True, eq=False)
class Record:
    """One step that was computed: the step, its place in the model, its inputs and its result."""

    step: Step
    where: str
    inputs: Mapping[str, Value]
    value: Value
    symbol: str

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        mine = (self.step, self.where, self.symbol, sorted(self.inputs))
        return (
            mine == (other.step, other.where, other.symbol, sorted(other.inputs))
            and same_value(self.value, other.value)
            and all(same_value(value, other.inputs[name]) for name, value in self.inputs.items())
        )

    @property
    def axes(self) -> str:
        """The axis letters of this value: the last letters of the Step's axes, one for each axis of the value."""
        rank = len(getattr(self.value, "shape", ()))
        return self.step.axes[len(self.step.axes) - rank :] if rank else ""


class NoTrace:
    """Ignore every record: the default of a forward pass that is not traced."""

    is_on = False

    def at(self, *place: str | int) -> "NoTrace":
        """Return itself."""
        return self

    def give(self, name: str, value: Value, **labels: Any) -> None:
        """Do nothing."""

    def record(self, step: Step, value: Value, *, symbol: str = "", **inputs: Value) -> None:
        """Do nothing."""


NO_TRACE = NoTrace()


class Trace:
    """An ordered list of Records; the children that `at(place)` returns write into the same list."""

    is_on = True

    def __init__(self, layout: Layout = "rows") -> None:
        self.layout: Layout = layout
        self.givens: dict[str, Given] = {}
        self.records: list[Record] = []
        self.where = ""

    def at(self, *place: str | int) -> Self:
        """Return a child that writes into this trace under `place`, as in `at("encoder", 0)`."""
        child = copy(self)  # the lists are the same
        child.where = ".".join(str(part) for part in ([self.where] if self.where else []) + list(place))
        return child

    def give(
        self, name: str, value: Value, *, symbol: str = "", rows: Sequence[str] = (), columns: Sequence[str] = ()
    ) -> None:
        """Name a value that the working starts from; its full name begins with this trace's place."""
        path = f"{self.where}.{name}" if self.where else name
        if path in self.givens:
            raise TraceError(f"'{path}' was given twice. Give each value its own name.")
        self.givens[path] = Given(path, symbol or name, value, tuple(rows), tuple(columns))

    def record(self, step: Step, value: Value, *, symbol: str = "", **inputs: Value) -> None:
        """Append a Record of one step at this place."""
        misfits = (step.required - set(inputs)) | (set(inputs) - {step_input.name for step_input in step.inputs})
        assert not misfits, (step.name, misfits)
        self.records.append(Record(step, self.where, inputs, value, symbol or step.symbol_in(self.layout)))

    def find(self, step: str = "*", where: str = "*", symbol: str = "*") -> list[Record]:
        """Return the Records that match a step, a place and a symbol (`*` and `?` match any characters)."""
        return [
            record
            for record in self.records
            if fnmatchcase(record.step.name, step)
            and fnmatchcase(record.where, where)
            and fnmatchcase(record.symbol, symbol)
        ]

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> Record:
        return self.records[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        return (self.layout, self.givens, self.records) == (other.layout, other.givens, other.records)

    __hash__ = None  # type: ignore[assignment]  # a trace grows while it is written


Tracer = Trace | NoTrace  # what a forward pass writes its steps to


def same_value(a: Value, b: Value) -> bool:
    """Return whether two values are equal to the last bit, whatever array type holds them."""
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b, strict=True))
    plain_a, plain_b = (value.tolist() if hasattr(value, "tolist") else value for value in (a, b))
    return bool(plain_a == plain_b)
