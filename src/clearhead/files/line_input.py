"""Read lines to translate from a file, a pipe or a command-line argument: plain text, TSV or JSONL, one at a time.

An InputLine also keeps the other columns or keys of its line, so that the translation can be written next to them.
"""

import io
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from clearhead.errors import DataError
from clearhead.files.fields import FieldFault, find_columns, json_text
from clearhead.files.lines import Fault, Notes, read_lines, read_stream

Form = Literal["text", "tsv", "jsonl"]
_FORMS: dict[str, Form] = {".tsv": "tsv", ".jsonl": "jsonl"}


@dataclass(frozen=True)
class InputLine:
    """One input line: the text to translate, and its TSV cells or JSON object. A header has no text to translate."""

    number: int
    line: str
    text: str
    cells: tuple[str, ...] = ()
    data: dict[str, Any] | None = None
    is_header: bool = False


@dataclass(frozen=True)
class LineSource:
    """Where lines come from: a file name, `-` for standard input, or the text itself."""

    name: str = "-"
    form: Form = "text"
    column: str = "source"
    text: str | None = None

    @staticmethod
    def of(name: str | None, form: Form | None, column: str | None, text: str | None) -> "LineSource":
        """Return the requested source; without `form`, the file name decides the format."""
        suffixes = Path(name or "").suffixes
        form_of_name: Form = next((_FORMS[suffix] for suffix in suffixes if suffix in _FORMS), "text")
        form = form or form_of_name
        if column is not None and form == "text":
            raise DataError(
                f"column = {column} selects a part of a TSV or JSONL line. Give the format of the lines, tsv or jsonl.",
                options=("form",),
            )
        return LineSource(name or "-", form, column or "source", text)

    def records(self) -> Iterator[InputLine]:
        """Yield every line, or raise DataError at the first line that cannot be read."""
        if self.form == "tsv":
            yield from self._tsv()
        elif self.form == "jsonl":
            yield from self._jsonl()
        else:
            for number, line in enumerate(self._lines(), 1):
                yield InputLine(number, line, line)

    def _lines(self) -> Iterator[str]:
        for line in self._raw():
            if isinstance(line, Fault):
                raise DataError(f"{line}")
            yield line

    def _raw(self) -> Iterator[str | Fault]:
        notes = Notes()
        if self.text is not None:
            content = self.text.removesuffix("\n").encode(errors="surrogateescape") + b"\n"
            yield from read_stream(_BytesStream(content), "the sentence", notes)
        elif self.name == "-":
            with io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False)) as stream:
                yield from read_stream(stream, "standard input", notes)
        elif (path := Path(self.name)).is_fifo() or path.is_char_device():
            with io.BufferedReader(io.FileIO(path)) as stream:
                yield from read_stream(stream, self.name, notes)
        else:
            yield from read_lines(self.name, notes)

    def _tsv(self) -> Iterator[InputLine]:
        column: int | None = None
        for number, line in enumerate(self._lines(), 1):
            cells = line.split("\t")
            if column is None:
                has_header, places = find_columns(self.name, cells, (None, self.column))
                column = places[0]
                if has_header:
                    yield InputLine(number, line, "", tuple(cells), is_header=True)
                    continue
            if line and column >= len(cells):
                raise DataError(
                    f"{self.name}:{number}: the line has {len(cells)} columns, but column {column + 1} is required. "
                    "Columns are separated by tabs."
                )
            yield InputLine(number, line, cells[column] if line else "", tuple(cells))

    def _jsonl(self) -> Iterator[InputLine]:
        for number, line in enumerate(self._lines(), 1):
            if not line.strip():
                yield InputLine(number, line, "")
                continue
            try:
                data = json.loads(line)
            except (ValueError, RecursionError) as wrong:
                raise DataError(
                    f'{self.name}:{number}: not JSON: {wrong}. Each line must be one object, such as {{"source": "…"}}.'
                ) from None
            text = json_text(data, self.column)
            if isinstance(text, FieldFault):
                raise DataError(f"{self.name}:{number}: {text.detail}")
            yield InputLine(number, line, text, data=data)


class _BytesStream:
    """Bytes in memory that can be read like a pipe."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def read1(self, size: int) -> bytes:
        """Return the next bytes."""
        block, self._content = self._content[:size], self._content[size:]
        return block


def is_interactive() -> bool:
    """Return whether standard input is a terminal."""
    try:
        return os.isatty(sys.stdin.fileno())
    except (OSError, ValueError):
        return False
