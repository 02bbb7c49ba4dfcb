"""Lines of earlier parts as inputs of later ones: `X: part.0.answer` in a problem with several parts.

`part.0` is the first part, as in the paths of a trace. `answer` is its last line; any other line goes by its symbol,
`part.0.Z`, with its place where several lines have that symbol, `part.0.cross_attention.Z`. `[2]` selects a token.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearhead.errors import did_you_mean
from clearhead.steps import Trace
from clearhead.steps.symbols import SUBSCRIPT_DIGITS
from clearhead.worksheet.arrays import Array

_LINE = re.compile(r"part\.(\d{1,6})\.([^\[\]]+?)(?:\s*\[\s*(\d{1,9})\s*\])?")
_SIMILAR = re.compile(r"parts?[\s._]*\d.*", re.IGNORECASE | re.DOTALL)
_TEXT_KEYS = ("kind", "title", "start", "end")  # keys whose text is never a reference
_LAST = ("answer", "output")
_DIGITS = str.maketrans(SUBSCRIPT_DIGITS, "0123456789")
_MAX_LISTED = 12  # lines that an error lists
FORM = "Write part.0.answer for the answer of the first part, part.0.Z for its line Z, part.0.Z[2] for one token of it"


@dataclass(frozen=True)
class PartLine:
    """A reference to a line of another part; `part` counts from 0 and `row`, a token, from 1."""

    part: int
    line: str
    row: int | None = None

    def __str__(self) -> str:
        return f"part.{self.part}.{self.line}" + (f"[{self.row}]" if self.row else "")

    @classmethod
    def read(cls, text: str) -> "PartLine":
        """Read `part.0.answer`, `part.0.self_attention.Z` or `part.0.Z[2]`; raise ValueError with the right form."""
        match = _LINE.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"'{text.strip()[:40]}' does not name a line of another part. {FORM}")
        return cls(int(match[1]), match[2].strip(), None if match[3] is None else int(match[3]))

    def value(self, trace: Trace) -> Array:
        """Return the value of the line in a trace with tokens as rows; raise ValueError if there is no such line."""
        value = self._line(trace)
        if self.row is not None and not 1 <= self.row <= len(value):
            tokens = "1 token" if len(value) == 1 else f"{len(value)} tokens"
            raise ValueError(f"{self} does not exist: part.{self.part}.{self.line} has {tokens}, counted from 1")
        return value

    def _line(self, trace: Trace) -> Array:
        prefix = f"part.{self.part}"
        own = [record for record in trace if f"{record.where}.".startswith(f"{prefix}.")]
        if not own:
            raise ValueError(f"{prefix} has no lines")
        if self.line in _LAST:
            return np.asarray(own[-1].value)
        lines = [(record.where.removeprefix(prefix).strip("."), record.symbol, record.value) for record in own]
        for entry in trace.givens.values():
            if entry.name.startswith(f"{prefix}.") and np.ndim(entry.value) == 2:
                place = entry.name.removeprefix(f"{prefix}.").rpartition(".")[0]
                lines.append((place, entry.symbol, entry.value))
        place, _, symbol = self.line.rpartition(".")
        typed = typed_symbol(symbol)
        here = [line for line in lines if f".{place}." in f".{line[0]}." or not place]
        exact = [line for line in here if typed_symbol(line[1]) == typed]
        # the Z of head.0 is Z₁
        here = exact or [line for line in here if place and typed_symbol(line[1]).rstrip("0123456789") == typed]
        if len(here) == 1:
            return np.asarray(here[0][2])
        if here:
            paths = ", ".join(f"{prefix}.{where}.{name}" for where, name, _ in here[:_MAX_LISTED])
            raise ValueError(f"{prefix} has {len(here)} lines {symbol}. Add the place: {paths}")
        symbols = ["answer", *dict.fromkeys(name for _, name, _ in lines)]
        more = " …" if len(symbols) > _MAX_LISTED else ""
        raise ValueError(
            f"{prefix} has no line {self.line}.{did_you_mean(self.line, symbols)} "
            f"Its lines: {', '.join(symbols[:_MAX_LISTED])}{more}"
        )


def typed_symbol(symbol: str) -> str:
    """Return a symbol as it can be typed: S', h_2 and W_Q for S′, h₂ and W_Q."""
    text = unicodedata.normalize("NFC", symbol).translate(_DIGITS).replace("''", "″").replace("'", "′")
    return re.sub(r"[\s_^]", "", text)


class LinkedArray(np.ndarray[Any, np.dtype[np.float64]]):
    """The value of a line of an earlier part, which keeps the reference to that line."""

    line: PartLine
    num_tokens: int

    def __array_finalize__(self, source: Any) -> None:
        """Keep the reference where the shape changes."""
        if isinstance(source, LinkedArray):
            self.line, self.num_tokens = source.line, source.num_tokens

    def __repr__(self) -> str:
        """Return the reference, for messages about a key that cannot have it."""
        return str(self.line)

    @classmethod
    def of(cls, line: PartLine, trace: Trace, *, is_turned: bool) -> "LinkedArray":
        """Return the value of a line in the layout of the sheet."""
        value = line.value(trace)
        rows = value if line.row is None else value[line.row - 1 : line.row]
        linked = np.array(rows.T if is_turned else rows, dtype=np.float64).view(cls)
        linked.line, linked.num_tokens = line, len(rows)
        return linked


def is_reference(value: object) -> bool:
    """Return whether a value is text that refers to another part, or tries to."""
    return isinstance(value, str) and _SIMILAR.fullmatch(value.strip()) is not None


def references_in(data: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    """Yield the key and the text of every reference in a part, the misspelt ones too."""
    for key, value in data.items():
        path = f"{place}{key}"
        if is_reference(value) and key not in _TEXT_KEYS:
            yield path, value
        elif isinstance(value, Mapping):
            yield from references_in(value, f"{path}.")
        elif isinstance(value, list | tuple):
            for number, element in enumerate(value):
                if isinstance(element, Mapping):
                    yield from references_in(element, f"{path}.{number}.")


def with_values(data: Mapping[str, Any], values: Mapping[str, LinkedArray], place: str = "") -> dict[str, Any]:
    """Return the data of a part with a value in place of every reference."""
    linked: dict[str, Any] = {}
    for key, value in data.items():
        path = f"{place}{key}"
        if path in values:
            linked[key] = values[path]
        elif isinstance(value, Mapping):
            linked[key] = with_values(value, values, f"{path}.")
        elif isinstance(value, list | tuple):
            linked[key] = [
                with_values(element, values, f"{path}.{number}.") if isinstance(element, Mapping) else element
                for number, element in enumerate(value)
            ]
        else:
            linked[key] = value
    return linked
