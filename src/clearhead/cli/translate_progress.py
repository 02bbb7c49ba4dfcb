"""A progress bar for `clearhead translate`: lines done, lines per second and the time left, in a terminal.

A separate thread draws the bar on standard error, so that translating is not slowed down.
"""

import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from clearhead.files.line_input import LineSource

DELAY = 2.0  # seconds before the bar appears
INTERVAL = 0.25  # seconds between two updates
_BLOCK = 2**20  # bytes
_MAX_BYTES = 2**32  # counting the lines of a larger file would take too long
_PACKED = (".gz", ".xz")


class TranslationProgress:
    """Draws a bar while it is open as a context manager; `print` writes a message above the bar."""

    def __init__(self, source: "LineSource", *, is_shown: bool) -> None:
        self._source, self._is_shown = source, is_shown
        self._num_before = self._num_lines = 0
        self._started = time.monotonic()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._console: Console | None = None  # while the bar is on the screen
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        if self._is_shown:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        if self._is_shown:
            self._thread.join()

    def resume(self, num_lines: int) -> None:
        """Start at the number of lines that an earlier run translated."""
        self._num_before = num_lines

    def advance(self, num_lines: int) -> None:
        """Set the number of lines that this run has translated."""
        self._num_lines = num_lines

    def print(self, message: str) -> None:
        """Write a message to standard error, above the bar if there is one."""
        with self._lock:
            if self._console is None:
                typer.echo(message, err=True)
            else:
                self._console.print(message, markup=False, highlight=False, soft_wrap=True)

    def _run(self) -> None:
        if self._stopping.wait(DELAY):
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True)
        columns = BarColumn(bar_width=30), TextColumn("{task.description}", markup=False)
        bar = Progress(*columns, console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        with self._lock:
            bar.start()
            self._console = console
        task = bar.add_task("", total=None)
        try:
            total = self._count_lines()
            while True:
                num_done, elapsed = self._num_before + self._num_lines, time.monotonic() - self._started
                description = describe(num_done, total, self._num_lines / elapsed, elapsed)
                bar.update(task, completed=num_done, total=total, description=description, refresh=True)
                if self._stopping.is_set():
                    break
                self._stopping.wait(INTERVAL)
        finally:
            with self._lock:
                bar.stop()
                self._console = None

    def _count_lines(self) -> int | None:
        """Return the number of lines of a plain file; None for other inputs, or when translating ends first."""
        path = Path(self._source.name)
        if self._source.text is not None or self._source.name == "-" or path.suffix in _PACKED:
            return None
        try:
            if not path.is_file() or path.stat().st_size > _MAX_BYTES:
                return None
            num_lines, last = 0, b"\n"
            with path.open("rb") as file:
                while block := file.read(_BLOCK):
                    num_lines, last = num_lines + block.count(b"\n"), block[-1:]
                    if self._stopping.is_set():
                        return None
            return num_lines + (last != b"\n")  # the last line need not end with a newline
        except OSError:
            return None  # the job itself reports what is wrong with the file


def can_show_progress(output: Path | None, *, is_typed: bool) -> bool:
    """Return whether a bar can be drawn: on a terminal to which nothing else is written, and where nobody types."""
    if is_typed or not sys.stderr.isatty():
        return False
    return not sys.stdout.isatty() if output is None else not output.is_char_device()


def describe(num_done: int, total: int | None, rate: float, elapsed: float) -> str:
    """Return the text next to the bar, `2,048 of 10,000 lines, 512 lines/s, 0:16 left`."""
    parts = [f"{num_done:,} lines" if total is None else f"{num_done:,} of {total:,} lines"]
    if rate:
        parts.append(f"{rate:,.0f} lines/s" if rate >= 10 else f"{rate:.1f} lines/s")
    if rate and total is not None and num_done < total:
        parts.append(f"{_clock((total - num_done) / rate)} left")
    else:
        parts.append(_clock(elapsed))
    return ", ".join(parts)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def interrupted(interruption: KeyboardInterrupt) -> typer.Exit:
    """Print that the command was interrupted, and how to continue a job that writes a file; return its exit code."""
    num_done = getattr(interruption, "num_done", 0)  # of a JobInterrupted
    advice = f" {num_done:,} lines are done. To continue, run the same command with --resume." if num_done else ""
    typer.echo(f"clearhead: interrupted.{advice}", err=True)
    return typer.Exit(130)
