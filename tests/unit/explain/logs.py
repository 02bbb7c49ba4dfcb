"""Logs of runs that were never trained, for tests of their curves."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

START = 1_000_000.0  # the time at which the runs start


def write_run(folder: Path, lines: Sequence[dict[str, Any]], starts: Sequence[float] = (START,)) -> Path:
    """Write metrics.jsonl and environment.json of a run whose processes started at these times."""
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    sessions = [{"time": datetime.fromtimestamp(start, UTC).isoformat(timespec="seconds")} for start in starts]
    (folder / "environment.json").write_text(json.dumps({"sessions": sessions}))
    return folder


def log_line(step: int, seconds: float, **numbers: float | None) -> dict[str, Any]:
    """Return a line of the log, some seconds after the start."""
    return {"step": step, "time": START + seconds, **numbers}


def validated_run(folder: Path, factor: float = 1.0) -> Path:
    """Write a run with three log lines and two validations, in its third epoch at the end."""
    lines = [
        log_line(10, 20, loss=5.0 * factor, rate=0.002, tokens_per_second=700.0, epoch=0.0),
        log_line(10, 23, **{"valid/loss": 4.0 * factor, "valid/bleu": 3.0}),
        log_line(20, 40, loss=3.0 * factor, rate=0.001, tokens_per_second=900.0, epoch=1.0),
        log_line(30, 60, loss=2.0 * factor, rate=0.0, tokens_per_second=800.0, epoch=2.0),
        log_line(30, 63, **{"valid/loss": 2.5 * factor, "valid/bleu": 17.0}),
    ]
    return write_run(folder, lines)


def unvalidated_run(folder: Path) -> Path:
    """Write a run without validations that has not completed an epoch."""
    return write_run(folder, [log_line(5, 1, loss=7.0, epoch=0.0), log_line(10, 2, loss=6.0, epoch=0.0)])
