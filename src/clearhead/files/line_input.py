"""Read lines to translate from a file, a pipe or a command-line argument: plain text, TSV or JSONL, one at a time.

An InputLine also keeps the other columns or keys of its line, so that the translation can be written next to them.
A line that cannot be read stops the reader, or is kept as a line with a fault.
"""

import io
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from clearhead.errors import DataError
from clearhead.files.fields import FieldFault, find_columns, json_text
from clearhead.files.lines import Fault, Notes, read_lines, read_stream

Form = Literal["text", "tsv", "jsonl"]
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
        return "the sentence" if self.text is not None else "standard input" if self.name == "-" else self.name

    def records(self) -> Iterator[InputLine]:
        """Yield every line; raise DataError at a line that cannot be read, unless such lines are skipped."""
        reader = {"text": self._text, "tsv": self._tsv, "jsonl": self._jsonl}[self.form]
        for line in reader():
            yield self._with_fault(line) if isinstance(line, Fault) else line

    def _with_fault(self, fault: Fault) -> InputLine:
        if fault.is_fatal or fault.line is None:
            raise DataError(str(fault))
        if self.on_fault == "refuse":
            raise DataError(f"{fault} Such lines can be skipped.", options={"on_fault": "skip"})
        # A line that can be read never contains NUL, so that this cannot be confused with one.
        return InputLine(fault.line, f"\0{fault.detail}", "", fault=fault)

    def _text(self) -> Iterator[InputLine | Fault]:
        for number, line in enumerate(self._raw(), 1):
            yield line if isinstance(line, Fault) else InputLine(number, line, line)

    def _raw(self) -> Iterator[str | Fault]:
        notes = Notes()
        if self.text is not None:
            content = self.text.removesuffix("\n").encode(errors="surrogateescape") + b"\n"
            yield from read_stream(io.BytesIO(content), self.shown, notes)
        elif self.name == "-":
            if sys.stdin is None or sys.stdin.closed:
                raise DataError("standard input is closed. Give a file.", options=("input",))
            with io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False)) as stream:
                yield from read_stream(stream, self.shown, notes)
        elif (path := Path(self.name)).is_fifo() or path.is_char_device():
            with path.open("rb") as stream:
                yield from read_stream(stream, self.name, notes)
        else:
            yield from read_lines(self.name, notes)

    def _tsv(self) -> Iterator[InputLine | Fault]:
        column: int | None = None
        for number, line in enumerate(self._raw(), 1):
            if isinstance(line, Fault):
                # Without its header, the columns of a table are unknown.
                yield replace(line, is_fatal=True) if column is None else line
                continue
            cells = line.split("\t")
            if column is None:
                has_header, places = find_columns(self.shown, cells, (None, self.column))
                column = places[0]
                if has_header:
                    yield InputLine(number, line, "", is_header=True)
                    continue
            if line and column >= len(cells):
                detail = f"the line has {len(cells)} columns, but column {column + 1} is required. "
                yield Fault(self.shown, number, "missing column", f"{detail}Columns are separated by tabs.")
            else:
                yield InputLine(number, line, cells[column] if line else "")

    def _jsonl(self) -> Iterator[InputLine | Fault]:
        for number, line in enumerate(self._raw(), 1):
            if isinstance(line, Fault):
                yield line
            elif not line.strip():
                yield InputLine(number, line, "")
            else:
                yield self._object(number, line)

    def _object(self, number: int, line: str) -> InputLine | Fault:
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as wrong:
            detail = f'not JSON: {wrong}. Each line must be one object, such as {{"source": "…"}}.'
            return Fault(self.shown, number, "not JSON", detail)
        text = json_text(data, self.column)
        if isinstance(text, FieldFault):
            return Fault(self.shown, number, text.reason, text.detail)
        return InputLine(number, line, text, data=data)


def is_interactive() -> bool:
    """Return whether standard input is a terminal."""
    try:
        return sys.stdin is not None and os.isatty(sys.stdin.fileno())
    except (OSError, ValueError):
        return False
