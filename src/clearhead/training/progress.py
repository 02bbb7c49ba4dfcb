"""What a run says while it works: a bar for a terminal, plain lines for a log, JSON lines, curves for TensorBoard.

Everything goes to standard error or to files; standard output is left for results.
"""

import json
import math
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from clearhead.errors import RunError, printable

_LABELS = {"loss": "loss", "tokens_per_second": "tokens/s"}  # what a bar has room for
_VALID = "valid/"


class Reporter:
    """Tells the progress of one run. Any of the places may be left out."""

    def __init__(self, metrics: Path | None = None, curves: Path | None = None, console: Console | None = None) -> None:
        self._metrics, self._curves = metrics, curves
        self._console = console or Console(stderr=True, highlight=False)
        self._progress: Progress | None = None
        self._task = TaskID(0)
        self._total: int | None = None
        self._latest: dict[str, float] = {}
        self._writer: Any = None

    def begin(self, total: int | None, step: int = 0) -> None:
        """Show a bar of so many updates, of which `step` are done; without a total it only counts."""
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
        """Move the bar; cheap enough for every update."""
        if self._progress is not None:
            self._progress.update(self._task, completed=step)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Tell the values of a step, everywhere."""
        values = {name: float(value) for name, value in values.items()}  # they may come as tensors
        is_validation = any(name.startswith(_VALID) for name in values)
        if self._progress is not None:
            self._latest.update({name: value for name, value in values.items() if is_validation or name in _LABELS})
            self._progress.update(self._task, completed=step, values=_told(self._latest))
        if self._progress is None or is_validation:  # a bar forgets, and scores are worth keeping on the screen
            total = f"/{self._total:,}" if self._total else ""
            self._say(f"step {step:,}{total}  {_told(values)}")
        self._write_line(step, values)
        self._write_curves(step, values)

    def message(self, text: str) -> None:
        """Tell a sentence."""
        self._say(text)

    def close(self) -> None:
        """Take the bar away, and finish the files."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _say(self, text: str) -> None:
        self._console.print(Text(printable(text)), soft_wrap=True)

    def _write_line(self, step: int, values: Mapping[str, float]) -> None:
        """Add a line to metrics.jsonl, opened anew each time, since a resumed run may have replaced the file."""
        if self._metrics is None:
            return
        # JSON has no NaN, and a file that some readers refuse helps nobody.
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
        if self._writer is None:
            if find_spec("tensorboard") is None:
                self._curves = None
                self.message(
                    "TensorBoard is not installed, so that no curves are drawn: pip install tensorboard. "
                    "The same numbers are in metrics.jsonl."
                )
                return
            from torch.utils.tensorboard import SummaryWriter

            # Points of an earlier process at this step and later were made again: TensorBoard hides them.
            self._writer = SummaryWriter(log_dir=str(self._curves), purge_step=step)
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)


def _told(values: Mapping[str, float]) -> str:
    return printable("  ".join(f"{_LABELS.get(name, name)} {told_number(value)}" for name, value in values.items()))


def told_number(value: float) -> str:
    """Write a number in few letters: 12,346 or 3.142 or 0.00012."""
    return f"{value:,.0f}" if math.isfinite(value) and abs(value) >= 1000 else f"{value:.4g}"
