"""Read lines to translate from a file, a pipe or a command-line argument: plain text, TSV or JSONL, one at a time.

An InputLine also keeps the other columns or keys of its line, so that the translation can be written next to them.
A line that cannot be read stops the reader, or is kept as a line with a fault.
"""

import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from clearhead.errors import DataError, printable
from clearhead.files.fields import Form, read_rows
from clearhead.files.lines import Fault, read_lines, read_stream

STANDARD_INPUT = "-"
_SHOWN = "standard input"
OnFault = Literal["refuse", "skip"]
_FORMS: dict[str, Form] = {".tsv": "tsv", ".jsonl": "jsonl"}


@dataclass(frozen=True)
class InputLine:
    """One input line: the text to translate, and its JSON object if it is one. A header has no text to translate.

    A line that cannot be read has no text either; its `fault` says why.
    """

    number: int
    line: str
    text: str
    data: dict[str, Any] | None = None
    is_header: bool = False
    fault: Fault | None = None


@dataclass(frozen=True)
class LineSource:
    """Where lines come from: a file name, `-` for standard input, or the text itself.

    A line that cannot be read raises an error (`on_fault="refuse"`), or has a fault and no text (`"skip"`).
    """

    name: str = "-"
    form: Form = "text"
    column: str = "source"
    text: str | None = None
    on_fault: OnFault = "refuse"

    @staticmethod
    def of(
        name: str | None, form: Form | None, column: str | None, text: str | None, on_fault: OnFault = "refuse"
    ) -> "LineSource":
        """Return the requested source; without `form`, the file name decides the format."""
        if name == "":
            raise DataError("the name of the input is empty. Give a file, or - for standard input.", options=("input",))
        suffixes = Path(name or "").suffixes
        form_of_name: Form = next((_FORMS[suffix] for suffix in suffixes if suffix in _FORMS), "text")
        form = form or form_of_name
        if column is not None and form == "text":
            raise DataError(
                f"column = {column} selects a part of a TSV or JSONL line. Give the format of the lines, tsv or jsonl.",
                options=("form",),
            )
        return LineSource(name or "-", form, column or "source", text, on_fault)

    @property
    def shown(self) -> str:
        """What messages call it."""
        if self.text is not None:
            return "the sentence"
        return _SHOWN if self.name == STANDARD_INPUT else self.name

    def records(self) -> Iterator[InputLine]:
        """Yield every line; raise DataError at a line that cannot be read, unless such lines are skipped."""
        for row in read_rows(self._lines(), self.shown, self.form, [self.column]):
            if isinstance(row, Fault):
                yield self._with_fault(row)
            else:
                yield InputLine(row.number, row.line, row.texts[0], row.data, row.is_header)

    def _lines(self) -> Iterator[str | Fault]:
        if self.text is None:
            return raw_lines(self.name)
        content = self.text.removesuffix("\n").encode(errors="surrogateescape") + b"\n"
        return read_stream(io.BytesIO(content), self.shown)

    def _with_fault(self, fault: Fault) -> InputLine:
        if fault.is_fatal or fault.line is None:
            raise DataError(str(fault))
        if self.on_fault == "refuse":
            raise DataError(f"{fault} Such lines can be skipped.", options={"on_fault": "skip"})
        # A line that can be read never contains NUL, so that this cannot be confused with one.
        return InputLine(fault.line, f"\0{fault.detail}", "", fault=fault)


def raw_lines(name: str) -> Iterator[str | Fault]:
    """Yield the lines of a file, a pipe or a terminal, or of standard input for `-`, as they arrive."""
    path = Path(name)
    if name == STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.closed:
            raise DataError(f"{_SHOWN} is closed. Give a file.", options=("input",))
        # a buffer of our own: a thread that waits for sys.stdin.buffer would be waited for at exit
        with io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False)) as stream:
            yield from read_stream(stream, _SHOWN)
    elif path.is_fifo() or path.is_char_device():
        with path.open("rb") as stream:
            yield from read_stream(stream, name)
    else:
        yield from read_lines(name)


def input_lines(name: str) -> Iterator[str]:
    """Yield the lines of a file, or of standard input for `-`; raise DataError at the first line that is not text."""
    for line in raw_lines(name):
        if isinstance(line, Fault):
            raise DataError(str(line))
        yield line


def whole_input(name: str) -> list[str]:
    """Return all lines of a file, or of standard input for `-`; there must be at least one."""
    lines = list(input_lines(name))
    if not lines:
        raise DataError(
            f"{_SHOWN if name == STANDARD_INPUT else printable(name)} is empty. Give at least one sentence."
        )
    return lines


def is_interactive() -> bool:
    """Return whether standard input is a terminal."""
    try:
        return sys.stdin is not None and os.isatty(sys.stdin.fileno())
    except (OSError, ValueError):
        return False
