"""The curve of BLEU against time, and the clock and sampler of the trainer that clearhead is compared with."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = str(Path(__file__).resolve().parents[3] / "benchmarks")


@pytest.fixture
def curve(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHMARKS)
    import train_curve

    return train_curve


@pytest.fixture
def marian(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("transformers", reason="Transformers is optional")
    monkeypatch.syspath_prepend(BENCHMARKS)
    import train_marian

    return train_marian


def test_the_points_of_clearhead_are_its_validations_with_the_tokens_until_then(curve: Any, tmp_path: Path) -> None:
    lines = [
        {"step": 10, "time": 110.0, "tokens_per_second": 100.0, "waiting": 0.0},
        {"step": 20, "time": 120.0, "tokens_per_second": 100.0, "waiting": 0.0},
        {"step": 20, "time": 123.0, "valid/loss": 3.0, "valid/bleu": 5.0},
        {"step": 30, "time": 133.0, "tokens_per_second": 100.0, "waiting": 0.0},
        {"step": 30, "time": 137.0, "valid/loss": 2.0, "valid/bleu": 9.0},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert curve.clearhead_curve(tmp_path, 100.0) == [
        curve.CurvePoint(23.0, 20, 2000.0, 5.0),
        curve.CurvePoint(37.0, 30, 3000.0, 9.0),
    ]
    assert curve.clearhead_curve(tmp_path / "missing", 100.0) == []


def test_the_comparison_names_the_first_time_with_a_sufficient_score(curve: Any) -> None:
    ours = [
        curve.CurvePoint(20.0, 1, 1.0, 4.0),
        curve.CurvePoint(40.0, 2, 2.0, 9.0),
        curve.CurvePoint(60.0, 3, 3.0, 8.0),
    ]
    theirs = [curve.CurvePoint(60.0, 1, 1.0, 1.0), curve.CurvePoint(300.0, 5, 5.0, 5.0)]
    table = curve.comparison({"ours": ours, "theirs": theirs, "other": []}, 500)
    assert table.splitlines()[-2:] == [
        "| ours | 8.00 | 60 | 40 s | never |",
        "| theirs | 5.00 | 300 | 40 s | 300 s |",
    ]


def test_the_curve_is_drawn_from_its_file(curve: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is optional")
    points = [curve.CurvePoint(30.0, 1, 1.0, 4.0), curve.CurvePoint(60.0, 2, 2.0, 9.0)]
    curve.save_curves({"ours": points}, 500, tmp_path / "curve.json")
    svg = (tmp_path / "curve.svg").read_bytes()
    assert b">ours<" in svg
    assert curve.draw(tmp_path / "curve.json").read_bytes() == svg


def test_the_clock_stands_still_in_a_pause_and_the_rate_reaches_0_at_the_deadline(
    marian: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(marian.time, "time", lambda: now)
    clock = marian.Clock(100.0, 200.0)
    rate = marian.ClockSchedule(clock, warm_up=4)
    assert [rate(step) for step in range(4)] == [0.25, 0.5, 0.75, 1.0]
    assert rate(4) == 1.0
    with clock.pause():
        now += 50.0
    assert clock.now() == 100.0
    now += 50.0
    assert rate(5) == pytest.approx(0.5)
    now += 60.0
    assert rate(6) == 0.0


def test_batches_have_sentences_of_similar_length_in_random_order(marian: Any) -> None:
    lengths = np.random.default_rng(1).integers(1, 100, size=103)
    sampler = marian.GroupedSampler(lengths, batch_size=10)
    order = list(sampler)
    assert sorted(order) == list(range(103))
    batches = [lengths[order[start : start + 10]] for start in range(0, 100, 10)]
    assert max(np.ptp(batch) for batch in batches) < 30
    means = [batch.mean() for batch in batches]
    assert means != sorted(means)
    assert means != sorted(means, reverse=True)
