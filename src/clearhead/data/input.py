"""Lines of a file or of standard input, where the first fault ends it: for text that is measured, not learned from."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from clearhead.data.lines import Fault, Notes, read_lines
from clearhead.errors import DataError, printable

STANDARD_INPUT = "-"
_SHOWN = "standard input"
_MAX_LINE = 2**24  # bytes, as of a file
_BOM = "\ufeff"


def input_lines(name: str) -> Iterator[str]:
    """Yield the lines of a file, or of standard input for `-`; raise DataError at the first that is not text."""
    if name == STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.closed:
            raise DataError(f"{_SHOWN} is closed. Give a file.")
        yield from _stream_lines(sys.stdin.buffer, _SHOWN)
        return
    if Path(name).is_fifo():  # as bash's <(…) gives one
        with Path(name).open("rb") as pipe:
            yield from _stream_lines(pipe, printable(name))
        return
    for line in read_lines(name, Notes()):
        if isinstance(line, Fault):
            raise DataError(str(line))
        yield line


def whole_input(name: str) -> list[str]:
    """Return all lines of a file, or of standard input for `-`; there must be one at least."""
    found = list(input_lines(name))
    if not found:
        shown = _SHOWN if name == STANDARD_INPUT else Fault(name, None, "").place
        raise DataError(f"{shown} is empty. Give at least one sentence.")
    return found


def _stream_lines(stream: BinaryIO, shown: str) -> Iterator[str]:
    number = 0
    while raw := stream.readline(_MAX_LINE):
        number += 1
        if not raw.endswith(b"\n") and len(raw) == _MAX_LINE:
            raise DataError(f"{shown}:{number}: the line is longer than {_MAX_LINE // 2**20} MB. Is this text?")
        text = _decoded(raw, f"{shown}:{number}")
        yield (text.removeprefix(_BOM) if number == 1 else text).removesuffix("\n").removesuffix("\r")


def _decoded(raw: bytes, place: str) -> str:
    if b"\0" in raw:
        raise DataError(f"{place}: a NUL byte. Is this text, in UTF-8 and not UTF-16?")
    try:
        return raw.decode()
    except UnicodeDecodeError as wrong:
        byte = raw[wrong.start]
        raise DataError(f"{place}: not UTF-8: byte {byte:#04x} at byte {wrong.start + 1}. Convert it.") from None
