"""Progress output of a run: a bar in a terminal, plain lines in a log, JSON lines, and curves for TensorBoard.

Everything is written to standard error or to files. Standard output is only for results.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from clearhead.errors import RunError, printable
from clearhead.training.timeline import duration

_IN_BAR = ("loss", "tokens_per_second")  # what fits next to a bar
_ONLY_IN_FILES = ("gradient", "epoch", "waiting")  # so that a line fits 100 columns
_VALID = "valid/"
ThreadHook = Callable[[threading.ExceptHookArgs], object]


class Reporter:
    """Reports the progress of one run to a console, a file of metrics and TensorBoard. The files are optional."""

    def __init__(self, metrics: Path | None = None, curves: Path | None = None, console: Console | None = None) -> None:
        self._metrics, self._curves = metrics, curves
        self._console = console or Console(stderr=True, highlight=False)
        self._progress: Progress | None = None
        self._task = TaskID(0)
        self._total: int | None = None
        self._latest: dict[str, float] = {}
        self._writer: Any = None
        self._thread_hook: ThreadHook | None = None  # of other threads, while curves are written

    def begin(self, total: int | None, step: int = 0) -> None:
        """Show a bar of `total` updates, of which `step` are done. Without a total it only counts."""
        self._total = total
        if self._console.is_terminal and self._progress is None:
            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[values]}", markup=False),
                console=self._console,
                refresh_per_second=4,
            )
            self._task = self._progress.add_task("training", total=total, completed=step, values="")
            self._progress.start()
        elif self._progress is not None:
            self._progress.update(self._task, total=total, completed=step)

    def advance(self, step: int) -> None:
        """Advance the bar. It is fast enough to be called after every update."""
        if self._progress is not None:
            self._progress.update(self._task, completed=step)

    def log(
        self, step: int, values: Mapping[str, float], *, phase: str = "", seconds_left: float | None = None
    ) -> None:
        """Report the values of an update to the console and the files, with its phase and the remaining time."""
        values = {name: float(value) for name, value in values.items()}  # they may be tensors
        is_validation = any(name.startswith(_VALID) for name in values)
        if self._progress is not None:
            self._latest.update({name: value for name, value in values.items() if is_validation or name in _IN_BAR})
            shown = " · ".join(_shown_value(name, value) for name, value in self._latest.items())
            self._progress.update(self._task, completed=step, values=printable(shown))
            if phase:
                self._progress.update(self._task, description=phase)
        if self._progress is None or is_validation:  # scores stay on the screen above the bar
            self.message(log_line(step, self._total, values, phase, seconds_left))
        self._write_line(step, values)
        self._write_curves(step, values)

    def message(self, text: str) -> None:
        """Print a message."""
        self._console.print(Text(printable(text)), soft_wrap=True)

    def close(self) -> None:
        """Remove the bar, and close the files."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        if self._writer is not None:
            with suppress(OSError):  # the same numbers are in metrics.jsonl
                self._writer.close()
            self._writer = None
        if self._thread_hook is not None:
            threading.excepthook, self._thread_hook = self._thread_hook, None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write_line(self, step: int, values: Mapping[str, float]) -> None:
        """Append a line to metrics.jsonl, which is opened each time because the file can be replaced."""
        if self._metrics is None:
            return
        # JSON has no NaN: many parsers would reject the file.
        numbers = {name: value if math.isfinite(value) else None for name, value in values.items()}
        line = json.dumps({"step": step, "time": round(time.time(), 3), **numbers}, allow_nan=False) + "\n"
        try:
            with self._metrics.open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError as wrong:
            raise RunError(f"{printable(str(self._metrics))} cannot be written: {wrong.strerror}.") from None

    def _write_curves(self, step: int, values: Mapping[str, float]) -> None:
        if self._curves is None:
            return
        if self._writer is None and find_spec("tensorboard") is None:
            self._curves = None
            self.message(
                "TensorBoard is not installed, so no curves are written (pip install tensorboard). "
                "The same numbers are in metrics.jsonl."
            )
            return
        try:
            if self._writer is None:
                self._thread_hook = threading.excepthook
                threading.excepthook = without_writer_errors(self._thread_hook)
                self._writer = _curve_writer(self._curves, step)
            for name, value in values.items():
                self._writer.add_scalar(name, value, step)
        except OSError as wrong:  # for example a full disk, raised by the writer thread
            self._curves = None
            self.message(f"The curves cannot be written ({wrong}). The same numbers are in metrics.jsonl.")


def _curve_writer(folder: Path, step: int) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    # TensorBoard hides the points of an earlier process from this step on: they are computed again.
    return SummaryWriter(log_dir=str(folder), purge_step=step)


def without_writer_errors(hook: ThreadHook) -> ThreadHook:
    """Return a hook that ignores the OSError of TensorBoard's writer thread: the next call of the writer raises it."""

    def report(error: threading.ExceptHookArgs) -> None:
        is_of_writer = type(error.thread).__module__.startswith("tensorboard.")
        if not (is_of_writer and issubclass(error.exc_type, OSError)):
            hook(error)

    return report


def log_line(
    step: int, total: int | None, values: Mapping[str, float], phase: str = "", seconds_left: float | None = None
) -> str:
    """Return the line of an update: `update 300/1,400 · warm-up 300/400 · loss 4.657 · …`."""
    parts = [f"update {step:,}/{total:,}" if total else f"update {step:,}"]
    scores = {name.removeprefix(_VALID): value for name, value in values.items() if name.startswith(_VALID)}
    if scores:
        parts.append(f"validation: {' · '.join(_shown_value(name, value) for name, value in scores.items())}")
    else:
        parts += [phase] if phase else []
        parts += [_shown_value(name, value) for name, value in values.items() if name not in _ONLY_IN_FILES]
    parts += [f"{duration(seconds_left)} left"] if seconds_left else []
    return printable(" · ".join(parts))


def _shown_value(name: str, value: float) -> str:
    if name == "tokens_per_second":
        return f"{value / 1000:,.0f}k tokens/s" if value >= 100_000 else f"{short_number(value)} tokens/s"
    return f"{name} {value:.3g}" if name == "rate" else f"{name} {short_number(value)}"


def short_number(value: float) -> str:
    """Format a number in few characters: 12,346 or 3.142 or 0.00012."""
    return f"{value:,.0f}" if math.isfinite(value) and abs(value) >= 1000 else f"{value:.4g}"
