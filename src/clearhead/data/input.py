"""Lines of a file or of standard input, where the first fault ends it: for text that is measured, not learned from."""

import sys
from collections.abc import Iterator
from typing import BinaryIO

from clearhead.data.lines import Fault, Notes, read_lines
from clearhead.errors import DataError

STANDARD_INPUT = "-"
_SHOWN = "standard input"
_MAX_LINE = 2**24  # bytes, as of a file
_BOM = "\ufeff"


def input_lines(name: str) -> Iterator[str]:
    """Yield the lines of a file, or of standard input for `-`; raise DataError at the first that is not text."""
    if name == STANDARD_INPUT:
        yield from _stream_lines()
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


def _stream_lines() -> Iterator[str]:
    if sys.stdin is None or sys.stdin.closed:
        raise DataError(f"{_SHOWN} is closed. Give a file.")
    stream: BinaryIO = sys.stdin.buffer
    number = 0
    while raw := stream.readline(_MAX_LINE):
        number += 1
        if not raw.endswith(b"\n") and len(raw) == _MAX_LINE:
            raise DataError(f"{_SHOWN}:{number}: the line is longer than {_MAX_LINE // 2**20} MB. Is this text?")
        yield _decoded(raw, number)


def _decoded(raw: bytes, number: int) -> str:
    if b"\0" in raw:
        raise DataError(f"{_SHOWN}:{number}: a NUL byte. Is this text, in UTF-8 and not UTF-16?")
    try:
        text = raw.decode()
    except UnicodeDecodeError as wrong:
        raise DataError(
            f"{_SHOWN}:{number}: not UTF-8: byte {raw[wrong.start]:#04x} at byte {wrong.start + 1}. Convert it."
        ) from None
    return (text.removeprefix(_BOM) if number == 1 else text).removesuffix("\n").removesuffix("\r")
