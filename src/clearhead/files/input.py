"""Read lines of a file or of standard input, and stop at the first fault: for text that is scored, not trained on."""

import sys
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

from clearhead.errors import DataError
from clearhead.files.lines import Fault, Notes, read_lines, read_stream

STANDARD_INPUT = "-"
_SHOWN = "standard input"


def input_lines(name: str) -> Iterator[str]:
    """Yield the lines of a file, or of standard input for `-`; raise DataError at the first line that is not text."""
    if name == STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.closed:
            raise DataError(f"{_SHOWN} is closed. Give a file.")
        assert isinstance(sys.stdin.buffer, BufferedIOBase)
        yield from _whole_lines(read_stream(sys.stdin.buffer, _SHOWN, Notes()))
    elif Path(name).is_fifo():  # as created by bash's <(…)
        with Path(name).open("rb") as pipe:
            yield from _whole_lines(read_stream(pipe, name, Notes()))
    else:
        yield from _whole_lines(read_lines(name, Notes()))


def _whole_lines(lines: Iterator[str | Fault]) -> Iterator[str]:
    for line in lines:
        if isinstance(line, Fault):
            raise DataError(str(line))
        yield line


def whole_input(name: str) -> list[str]:
    """Return all lines of a file, or of standard input for `-`; there must be at least one."""
    lines = list(input_lines(name))
    if not lines:
        shown = _SHOWN if name == STANDARD_INPUT else Fault(name, None, "").place
        raise DataError(f"{shown} is empty. Give at least one sentence.")
    return lines
