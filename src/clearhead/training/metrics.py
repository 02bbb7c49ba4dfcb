"""Read metrics.jsonl, the log of a run: one JSON object per line with its update, its time and its numbers.

It does not import torch, so that curves can be drawn without it.
"""

import json
from typing import Any


def metrics_line(line: str) -> dict[str, Any] | None:
    """Return the content of a line of metrics.jsonl, or None if it is damaged or incomplete."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and isinstance(data.get("step"), int) else None


def metrics_lines(text: str) -> list[dict[str, Any]]:
    """Return the content of all complete lines of metrics.jsonl."""
    return [data for data in map(metrics_line, text.split("\n")) if data is not None]
