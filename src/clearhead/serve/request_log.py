"""A JSON line for each request on standard error: what was called, how it ended, how long it took; never a text."""

import asyncio
import sys
import time
import traceback
from typing import Any, TextIO

import orjson

_DELAY = 0.2  # seconds, in which lines are collected before they are written
_MAX_LINES = 1000


class RequestLog:
    """Writes lines together, so that a request does not wait for a terminal or a pipe."""

    def __init__(self, *, is_on: bool = True, stream: TextIO | None = None) -> None:
        self.is_on = is_on
        self._stream = stream
        self._lines: list[bytes] = []

    def add(self, record: dict[str, Any]) -> None:
        """Add a line; it is written soon."""
        if not self.is_on:
            return
        if not self._lines:
            try:
                asyncio.get_running_loop().call_later(_DELAY, self.flush)
            except RuntimeError:  # no event loop: nothing to wait for
                self._lines.append(_line(record))
                self.flush()
                return
        self._lines.append(_line(record))
        if len(self._lines) >= _MAX_LINES:
            self.flush()

    def event(self, name: str, details: dict[str, Any] | None = None) -> None:
        """Add a line about the server itself, such as a model that was unloaded."""
        self.add({"time": round(time.time(), 3), "event": name, **(details or {})})

    def fault(self, path: str, fault: BaseException) -> None:
        """Add a line about a bug: its type and where it was raised, but not its message, which can contain a text."""
        frames = traceback.extract_tb(fault.__traceback__)[-8:]
        places = [f"{frame.filename.rpartition('clearhead/')[2]}:{frame.lineno}" for frame in frames]
        self.event("fault", {"path": path, "type": type(fault).__name__, "places": places})

    def flush(self) -> None:
        """Write all lines; a stream that was closed is ignored."""
        lines, self._lines = self._lines, []
        if not lines:
            return
        stream = self._stream or sys.stderr
        try:
            stream.write(b"".join(lines).decode())
            stream.flush()
        except (OSError, ValueError):
            self.is_on = False


def _line(record: dict[str, Any]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
