"""Standard streams that are closed or broken: a lost result is an error, a lost message is not.

A closed descriptor is also occupied, so that no file gets its number and receives what libraries print.
"""

import io
import os
import sys
from typing import Any

from clearhead.errors import RunError

CLOSED = "standard output is closed, so the result would be lost. Write it to a file."


def replace_closed_streams() -> None:
    """Replace standard streams that cannot be used; standard input stays None if it is closed."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        while (handle := os.open(os.devnull, os.O_RDONLY)) <= 2:
            pass
        os.close(handle)
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
        stream = io.BufferedWriter(_MessageStream(sys.stderr))
        sys.stderr = io.TextIOWrapper(stream, encoding=encoding, errors="replace", line_buffering=True)


def discard_output() -> None:
    """Discard what is still buffered for standard output, so that the interpreter does not fail on it at exit."""
    try:
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, sys.stdout.fileno())
        os.close(handle)
    except (OSError, ValueError):  # it is not a file, as in tests
        return


class ClosedOutput(io.TextIOWrapper):
    """Takes the place of a closed standard output: the first write raises RunError."""

    def __init__(self) -> None:
        super().__init__(io.BufferedWriter(_RefusingStream()), encoding="utf-8", errors="replace")


class _RefusingStream(io.RawIOBase):
    """Raises RunError at the first write, and discards the others: the interpreter repeats a failed write at exit."""

    def __init__(self) -> None:
        self._has_refused = False

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        if not self._has_refused:
            self._has_refused = True
            raise RunError(CLOSED, options=("output",))
        return len(content)


class _MessageStream(io.RawIOBase):
    """Standard error that never fails: where a message cannot be written, it is lost, and the work continues."""

    def __init__(self, stream: Any) -> None:
        self._handle: int | None = None if stream is None else stream.fileno()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return super().fileno() if self._handle is None else self._handle

    def isatty(self) -> bool:
        return self._handle is not None and os.isatty(self._handle)

    def write(self, content: Any) -> int:
        try:
            return len(content) if self._handle is None else os.write(self._handle, content)
        except OSError:
            return len(content)
