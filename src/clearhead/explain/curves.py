"""The curves of runs: loss, validation metrics, learning rate and speed, read from metrics.jsonl.

An interrupted and resumed run gives one curve: updates that were computed again are counted once, and the pauses
between the processes do not count as training time.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from clearhead.errors import CheckpointError, RunError, did_you_mean, printable
from clearhead.files.json_file import parse_object
from clearhead.files.reading import read_file
from clearhead.training.metrics import metrics_lines

Axis = Literal["updates", "seconds", "epochs"]
AXES: tuple[Axis, ...] = get_args(Axis)
METRICS_FILE, ENVIRONMENT_FILE, CONFIG_FILE = "metrics.jsonl", "environment.json", "config.yaml"
MAX_RUNS = 20  # more have no distinct colours and dashes
_VALID = "valid/"
_LARGEST = 1e300  # larger numbers are gaps, as if they were not finite
_NOT_METRICS = ("step", "time")
LABELS: Mapping[str, str] = {
    "loss": "training loss",
    "rate": "learning rate",
    "gradient": "norm of the gradient",
    "epoch": "epoch",
    "tokens_per_second": "tokens per second",
    "waiting": "share of the time waiting for data",
    "valid/loss": "validation loss",
    "valid/bleu": "validation BLEU",
    "valid/chrf": "validation chrF",
    "valid/exact": "validation exact matches (%)",
    "valid/accuracy": "validation accuracy (%)",
}
_DEFAULTS = ("loss", "valid/loss", "valid/bleu", "valid/chrf", "valid/accuracy", "rate", "tokens_per_second")


@dataclass(frozen=True)
class CurvePoint:
    """A number of a run after an update; `value` is None where it was not finite, `epochs` where it is unknown."""

    updates: int
    seconds: float
    epochs: float | None
    value: float | None

    def at(self, axis: Axis) -> float:
        """Return the position on an axis."""
        position: float | None = getattr(self, axis)
        assert position is not None, "check_axis has refused runs without this axis"
        return position


@dataclass(frozen=True)
class RunCurves:
    """All curves of a run, by the names of the metrics."""

    name: str
    folder: Path
    curves: Mapping[str, tuple[CurvePoint, ...]]


def read_runs(folders: Sequence[str | Path]) -> list[RunCurves]:
    """Return the curves of several runs, each with a name of its own: that of its folder, or its path."""
    distinct = {Path(folder).expanduser().resolve(): Path(folder).expanduser() for folder in folders}
    if len(distinct) > MAX_RUNS:
        raise RunError(
            f"{len(distinct)} runs are too many for one picture. Give at most {MAX_RUNS}, or draw several pictures."
        )
    names = [place.name for place in distinct]
    return [
        _read_run(folder, printable(place.name if names.count(place.name) == 1 else str(folder)))
        for place, folder in distinct.items()
    ]


def choose_metrics(runs: Sequence[RunCurves], names: Sequence[str] = ()) -> list[str]:
    """Return the metrics to draw: those with the given names (`bleu` is `valid/bleu`), or the usual ones."""
    available = sorted({metric for run in runs for metric in run.curves})
    if not names:
        return [metric for metric in _DEFAULTS if metric in available] or available[:1]
    metrics = [name if name in available else f"{_VALID}{name}" for name in names]
    for name, metric in zip(names, metrics, strict=True):
        if metric not in available:
            raise RunError(_missing(name, metric, runs, available), options=("metric",))
    return list(dict.fromkeys(metrics))


def check_axis(runs: Sequence[RunCurves], axis: Axis) -> None:
    """Raise RunError if a run has no such axis: the length of an epoch is known when the first one is over."""
    for run in runs:
        if axis == "epochs" and any(point.epochs is None for points in run.curves.values() for point in points):
            raise RunError(
                f"{printable(str(run.folder))} has not completed its first epoch, so its updates cannot be converted "
                "to epochs. Choose updates or seconds.",
                options=("x",),
            )


def curves_data(runs: Sequence[RunCurves], metrics: Sequence[str], axis: Axis) -> dict[str, Any]:
    """Return the points of the curves as plain data, for JSON; null is a number that was not finite."""
    return {
        "x": axis,
        "runs": [
            {
                "name": run.name,
                "run": str(run.folder),
                "metrics": {
                    metric: {"x": [point.at(axis) for point in points], "y": [point.value for point in points]}
                    for metric in metrics
                    if (points := run.curves.get(metric))
                },
            }
            for run in runs
        ],
    }


def _missing(name: str, metric: str, runs: Sequence[RunCurves], available: Sequence[str]) -> str:
    choices = f"Choices: {', '.join(available)}."
    if metric in LABELS and not any(other.startswith(_VALID) for other in available):
        shown = ", ".join(printable(str(run.folder)) for run in runs)
        verb = "has" if len(runs) == 1 else "have"
        return f"{shown} {verb} no validations (yet), so there is no {metric} to draw. {choices}"
    hint = did_you_mean(name, [*available, *(other.removeprefix(_VALID) for other in available)])
    return f"'{printable(name)}' is not a metric of {'this run' if len(runs) == 1 else 'these runs'}.{hint} {choices}"


def _read_run(folder: Path, name: str) -> RunCurves:
    lines = _kept_lines(metrics_lines(_metrics_text(folder)))
    seconds = _training_seconds(lines, _session_starts(folder))
    updates_per_epoch = _updates_per_epoch(lines)
    curves: dict[str, dict[int, CurvePoint]] = {}
    for line, passed in zip(lines, seconds, strict=True):
        step = line["step"]
        for metric, number in line.items():
            if metric in _NOT_METRICS or not (number is None or isinstance(number, int | float)):
                continue
            epochs = None if updates_per_epoch is None else step / updates_per_epoch
            curves.setdefault(metric, {})[step] = CurvePoint(step, passed, epochs, _finite(number))
    if not curves:
        raise RunError(f"{printable(str(folder / METRICS_FILE))} contains no numbers (yet), so there are no curves.")
    return RunCurves(name, folder, {metric: tuple(points.values()) for metric, points in curves.items()})


def _metrics_text(folder: Path) -> str:
    shown = printable(str(folder))
    if not folder.is_dir():
        fact = "is a file, not a run folder" if folder.exists() else "does not exist"
        raise RunError(f"{shown} {fact}. Give the folder of a run, as {METRICS_FILE} is in it.")
    if not (folder / METRICS_FILE).is_file():
        if (folder / CONFIG_FILE).is_file():
            raise RunError(
                f"the run {shown} has no {METRICS_FILE}: nothing has been logged yet, so there are no curves."
            )
        inside = sorted(place.parent.name for place in folder.glob(f"*/{METRICS_FILE}"))
        hint = f" It contains runs: {', '.join(map(printable, inside[:5]))}{' …' if len(inside) > 5 else ''}."
        raise RunError(f"{shown} is not a run folder: it has no {METRICS_FILE}.{hint if inside else ''}")
    try:
        return read_file(folder / METRICS_FILE).decode("utf-8", errors="replace")
    except CheckpointError as wrong:
        raise RunError(str(wrong)) from None


def _kept_lines(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines without those of updates that were computed again after them."""
    kept_lines: list[dict[str, Any]] = []
    for line in lines:
        while kept_lines and kept_lines[-1]["step"] > line["step"]:
            kept_lines.pop()
        kept_lines.append(line)
    return kept_lines


def _session_starts(folder: Path) -> list[float]:
    """Return when the processes that worked on a run started; an unreadable file gives no times."""
    try:
        sessions = parse_object(read_file(folder / ENVIRONMENT_FILE))["sessions"]
        return sorted(datetime.fromisoformat(session["time"]).timestamp() for session in sessions)
    except (CheckpointError, KeyError, TypeError, ValueError):
        return []


def _training_seconds(lines: Sequence[dict[str, Any]], starts: Sequence[float]) -> list[float]:
    """Return the time of each line since the start of the run, without the pauses between its processes."""
    times = [_finite(line.get("time")) or 0.0 for line in lines]
    starts = starts or times[:1]
    seconds: list[float] = []
    session, base = 0, 0.0  # `base` is the training time before the process
    for time in times:
        current = max(0, bisect_right(starts, time) - 1)
        if current != session:
            session, base = current, seconds[-1] if seconds else 0.0
        passed = round(base + max(0.0, time - starts[session]), 3)
        seconds.append(max(passed, seconds[-1]) if seconds else passed)  # a clock can be set back
    return seconds


def _updates_per_epoch(lines: Sequence[dict[str, Any]]) -> float | None:
    """Estimate the length of an epoch from the last change of the epoch in the log; None before the first change."""
    counted: list[tuple[int, float]] = [
        (line["step"], epoch) for line in lines if (epoch := _finite(line.get("epoch"))) is not None
    ]
    changes = [((before + after) / 2, new) for (before, old), (after, new) in pairwise(counted) if new > old]
    if not changes or changes[-1][0] <= 0:
        return None
    step, epoch = changes[-1]
    return step / epoch


def _finite(number: object) -> float | None:
    """Return a number of the log, or None if there is none or it cannot be drawn."""
    if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) < _LARGEST:
        return None
    value = float(number)
    return value if math.isfinite(value) else None
