"""Stopping by Ctrl-C or SIGTERM: the run finishes its current update, saves, and stops."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Stop:
    """Whether a stop was requested."""

    is_asked: bool = False


@contextmanager
def stopping() -> Iterator[Stop]:
    """On Ctrl-C or SIGTERM, let the current update finish; a second one stops immediately."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_asked:
            raise KeyboardInterrupt
        stop.is_asked = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
