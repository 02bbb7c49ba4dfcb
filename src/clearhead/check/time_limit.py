"""A time limit for a piece of work, so that one file does not hold up a class.

The limit is a timer of the operating system whose signal interrupts Python code wherever it is. Windows does not have
such timers, and Python handles signals only in the main thread: there is no limit on Windows or in another thread.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

DEFAULT_SECONDS = 60.0
_REPEAT = 0.5  # seconds until the next signal, in case a library discarded the first exception


class TimeUpError(BaseException):
    """The time is up. It is not an Exception, so that no `except Exception` on the way can discard it."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TimeUpError in the body after this time; None means no limit."""
    is_main = threading.current_thread() is threading.main_thread()
    if seconds is None or not is_main or not hasattr(signal, "setitimer"):
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise TimeUpError

    old_handler = signal.signal(signal.SIGALRM, interrupt)
    old_timer = signal.setitimer(signal.ITIMER_REAL, seconds, _REPEAT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old_handler)
        if old_timer[0]:
            signal.setitimer(signal.ITIMER_REAL, *old_timer)


def late_sentence(seconds: float) -> str:
    """Return what is reported about a file that took too long."""
    return f"not checked: took longer than {seconds:g} s"
