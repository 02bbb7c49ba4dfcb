"""What benchmarks/train_speed.py reads from the logs of the systems that it measures."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = str(Path(__file__).resolve().parents[3] / "benchmarks")


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHMARKS)
    import train_peers

    return train_peers


def test_tokens_of_joeynmt_are_its_speeds_times_the_time_since_the_line_before(peers: Any, tmp_path: Path) -> None:
    log = tmp_path / "joey.log"
    log.write_text(
        "2026-01-02 03:04:03,000 - INFO - joeynmt.data - Loading train set...\n"
        "2026-01-02 03:04:05,000 - INFO - joeynmt.training - EPOCH 1\n"
        "2026-01-02 03:04:07,500 - INFO - joeynmt.training - Epoch   1, Step:        2, Batch Loss:     9.1, "
        "Batch Acc: 0.0, Tokens per Sec:      200, Lr: 0.000002\n"
        "2026-01-02 03:04:09,500 - INFO - joeynmt.training - Epoch   1, Step:        4, Batch Loss:     9.0, "
        "Batch Acc: 0.0, Tokens per Sec:      300, Lr: 0.000004\n",
        encoding="utf-8",
    )
    start = datetime.strptime("2026-01-02 03:04:00,000", "%Y-%m-%d %H:%M:%S,%f").timestamp()
    assert peers.joey_points(log, start) == [peers.Point(7.5, 500.0), peers.Point(9.5, 1100.0)]


def test_the_first_interval_of_clearhead_has_as_many_tokens_per_update_as_the_others(
    peers: Any, tmp_path: Path
) -> None:
    lines = [
        {
            "step": 2,
            "time": 107.0,
            "tokens_per_second": 1.0,
            "waiting": 0.9,
        },  # with compilation, and time that started before
        {"step": 4, "time": 109.0, "tokens_per_second": 300.0, "waiting": 0.01},
        {"step": 4, "time": 109.5, "valid/bleu": 3.0},
        {"step": 6, "time": 113.5, "tokens_per_second": 150.0, "waiting": 0.03},  # 4 s after the validation
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    points, waiting = peers.clearhead_points(tmp_path, 100.0)
    assert points == [peers.Point(7.0, 600.0), peers.Point(9.0, 1200.0), peers.Point(13.5, 1800.0)]
    assert waiting == pytest.approx(0.02)
