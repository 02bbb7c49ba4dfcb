"""What a config would do: the length of its run, and the speed of its updates on this device."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from clearhead.training import plan_measure as module
from clearhead.training.config import check_run_config
from clearhead.training.plan_measure import Forecast, Speed, forecast_warnings, make_forecast
from clearhead.training.progress import Reporter
from clearhead.training.run import RunFolder
from tests.unit.training.runs import settings_of

SPEED = Speed(0.5, 89.0, 1_300_000, 3 * 2**29)


def example(**training: object) -> Forecast:
    config = settings_of(training={"steps": None, "epochs": 7, "warm_up": 5, "batch_tokens": 96, **training})
    return Forecast(config, "cpu", 997, 40.0, SPEED)


def test_the_time_follows_from_the_measured_speed() -> None:
    assert str(example(accumulate=2)) == (
        "1.3 million parameters · 1.5 GiB of memory · 178 target tokens/s on the CPU\n"
        "140 updates of 192 tokens · one epoch takes 20 s · 7 epochs · training takes about 2 min, without validations"
    )
    data = example(steps=60, epochs=None).to_data()
    assert (data["updates"], data["epochs"], data["training_seconds"]) == (60, 1.5, 30.0)


def test_a_long_warm_up_and_a_time_limit_are_warnings() -> None:
    assert forecast_warnings(example(warm_up=200, minutes=1)) == (
        "The warm-up takes 200 of 280 updates, more than half of the run. The model will learn little. Lower "
        "training.warm_up or train longer.",
        "training.minutes = 1 stops the run after about 120 of 280 updates.",
    )


def test_a_config_is_prepared_and_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MEASURED", 0.01)
    config = settings_of()
    with RunFolder.create_for_plan(tmp_path / "run") as folder:
        forecast = make_forecast(config, folder, Reporter(console=Console(file=StringIO())))
    assert forecast.updates == config.training.steps
    assert forecast.speed.num_parameters > 0
    assert forecast.training_seconds > 0


def test_a_classifier_is_measured_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MEASURED", 0.01)
    for name, lines in (("text", [f"a b {index % 7}" for index in range(60)]), ("labels", ["yes", "no"] * 30)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    corpus = {"source": str(tmp_path / "text"), "target": str(tmp_path / "labels")}
    settings = {
        "task": "classify",
        "data": {"train": [corpus]},
        "model": {"d_model": 24, "d_ff": 29, "num_heads": 2, "encoder_blocks": 1},
        "training": {"steps": 3, "device": "cpu"},
    }
    config, mistakes = check_run_config(settings)
    assert config is not None, mistakes
    with RunFolder.create_for_plan(tmp_path / "run") as folder:
        forecast = make_forecast(config, folder, Reporter(console=Console(file=StringIO())))
    assert " source tokens/s on the CPU\n" in str(forecast)
