"""A Trace: a working, in order. It holds what was given, and a Record of every step done with it.

Values are opaque here (numpy arrays, torch tensors, numbers): a Record's inputs are the very objects that were
given or recorded before, so that the chain from the answer back to the question can be walked and checked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from clearhead.errors import TraceError
from clearhead.steps.step import Layout, Step

Value = Any


@dataclass(frozen=True, eq=False)
class Given:
    """A value that the working starts from: a model input or a parameter, with the names of its rows and columns."""

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
    """One step that was done: which, in what part of the model, from what, and what came out."""

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
        """The axis letters of this very value: the last ones of the Step's, as many as the value has."""
        rank = len(getattr(self.value, "shape", ()))
        return self.step.axes[len(self.step.axes) - rank :] if rank else ""


class NoTrace:
    """Take every record and keep none: what a forward pass gets when nobody looks."""

    is_on = False

    def at(self, *place: str | int) -> "NoTrace":
        """Return itself: there is nowhere to write."""
        return self

    def give(self, name: str, value: Value, **labels: Any) -> None:
        """Forget it."""

    def record(self, step: Step, value: Value, *, symbol: str = "", **inputs: Value) -> None:
        """Forget it."""


NO_TRACE = NoTrace()


class Trace:
    """An ordered list of Records, written through `at(place)`; children write into the same list."""

    is_on = True

    def __init__(self, layout: Layout = "rows") -> None:
        self.layout: Layout = layout
        self.givens: dict[str, Given] = {}
        self.records: list[Record] = []
        self.where = ""

    def at(self, *place: str | int) -> "Trace":
        """Return a child that writes into this trace under `place`, as in `at("encoder", 0)`."""
        child = Trace.__new__(Trace)
        child.layout, child.givens, child.records = self.layout, self.givens, self.records
        child.where = ".".join(str(part) for part in ([self.where] if self.where else []) + list(place))
        return child

    def give(
        self, name: str, value: Value, *, symbol: str = "", rows: Sequence[str] = (), columns: Sequence[str] = ()
    ) -> None:
        """Name a value that the working starts from; the name is taken under this trace's place."""
        path = f"{self.where}.{name}" if self.where else name
        if path in self.givens:
            raise TraceError(f"'{path}' was given twice. Give each value one name.")
        self.givens[path] = Given(path, symbol or name, value, tuple(rows), tuple(columns))

    def record(self, step: Step, value: Value, *, symbol: str = "", **inputs: Value) -> None:
        """Write down one step done here."""
        misfits = (step.required - set(inputs)) | (set(inputs) - {step_input.name for step_input in step.inputs})
        assert not misfits, (step.name, misfits)
        self.records.append(Record(step, self.where, inputs, value, symbol or step.symbol_in(self.layout)))

    def find(self, step: str = "*", where: str = "*", symbol: str = "*") -> list[Record]:
        """Return the Records whose step, place and symbol match (`*` and `?` stand for any characters)."""
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
    """Say whether two values are equal to the last bit, whatever arrays they are made of."""
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b, strict=True))
    plain_a, plain_b = (value.tolist() if hasattr(value, "tolist") else value for value in (a, b))
    return bool(plain_a == plain_b)
