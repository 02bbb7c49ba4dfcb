"""Defaults that follow the run: batch, rate, warm-up and dropout depend on its length and its text, and then stay."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from clearhead.data.config import CorpusConfig
from clearhead.data.store import PairStore, build_store
from clearhead.errors import RunError
from clearhead.text.config import TextConfig
from clearhead.text.train import train_vocabularies
from clearhead.training.config import RunConfig, check_run_config, load_run_config
from clearhead.training.launch import launch
from clearhead.training.run import RunFolder
from clearhead.training.run_defaults import fill_defaults, keep_defaults
from tests.unit.training.runs import settings_of, train

COPY = {"train": [{"built_in": "copy"}]}
AUTOMATIC = ("batch_tokens", "warm_up", "rate")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> PairStore:
    """A store with 997 pairs and some ten thousand tokens."""
    config = config_of(training={"steps": 7})
    vocabularies = train_vocabularies([("ba do ki", "ba do ki")], TextConfig(kind="word", vocabulary=64))
    data = config.data.model_copy(update={"max_pairs": 997})
    return build_store([CorpusConfig(built_in="copy")], vocabularies, data, tmp_path_factory.mktemp("store") / "train")


def config_of(**changes: Any) -> RunConfig:
    config, mistakes = check_run_config({"data": COPY, **changes})
    assert config is not None
    assert not mistakes, mistakes
    return config


def chosen(config: RunConfig) -> tuple[Any, ...]:
    return tuple(getattr(config.training, name) for name in AUTOMATIC)


def test_a_longer_run_has_larger_batches_a_longer_warm_up_and_more_dropout(store: PairStore) -> None:
    short, long = (fill_defaults(config_of(training={"epochs": epochs}), store) for epochs in (2, 400))
    assert short.training.tokens_per_batch <= long.training.tokens_per_batch
    assert short.training.warm_up_steps < long.training.warm_up_steps
    assert (short.model["dropout"], long.model["dropout"]) == (0.1, 0.3)


def test_the_warm_up_is_never_longer_than_the_run(store: PairStore) -> None:
    for steps in (1, 9, 800, 10**6):
        warm_up = fill_defaults(config_of(training={"steps": steps}), store).training.warm_up_steps
        assert warm_up <= max(1, steps / 8)


def test_a_wide_model_has_a_lower_rate(store: PairStore) -> None:
    rates = [
        fill_defaults(config_of(preset=preset, training={"steps": 700}), store).training.peak_rate
        for preset in ("tiny", "small", "big")
    ]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > rates[-1]


def test_explicit_settings_stay_as_they_are(store: PairStore) -> None:
    config = config_of(model={"dropout": 0.17}, training={"steps": 7, "batch_tokens": 97, "warm_up": 3, "rate": 0.011})
    assert fill_defaults(config, store) == config
    assert fill_defaults(config_of(preset="big", training={"steps": 7}), store).model == {}  # it has its own dropout


@pytest.mark.parametrize("task", ["classify", "language-model"])
def test_other_tasks_keep_their_rate_and_dropout(store: PairStore, task: str) -> None:
    config = config_of(training={"steps": 7}).model_copy(update={"task": task})
    filled = fill_defaults(config, store)
    assert (filled.training.rate, filled.model) == (1e-3, {})


def test_chosen_values_are_written_and_kept_when_the_run_is_resumed(tmp_path: Path) -> None:
    unset = {"training": {**dict.fromkeys(AUTOMATIC), "steps": 4}}
    result = train(tmp_path / "run", **unset)
    assert result.outcome.steps == 4
    before = RunFolder(tmp_path / "run").read_config()
    assert None not in chosen(before)
    assert "dropout" in before.model
    # the config of the start, with more updates: a new run would choose another warm-up and dropout
    longer = settings_of(training={**dict.fromkeys(AUTOMATIC), "steps": 4000, "minutes": 1e-9})
    assert keep_defaults(longer, before).model == before.model
    launch(longer, tmp_path / "run", resume=True, console=Console(file=StringIO()))
    assert chosen(RunFolder(tmp_path / "run").read_config()) == chosen(before)


def test_a_config_of_the_run_that_was_edited_is_still_refused(tmp_path: Path) -> None:
    train(tmp_path / "run")
    config = tmp_path / "run" / "config.yaml"
    config.write_text(config.read_text().replace("seed: 1\n", "seed: 3\n"))
    with pytest.raises(RunError, match=r"config\.yaml has changed"):
        train(tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("written", "change", "length"),
    [("epochs: 20", "training.steps=11", (11, None)), ("steps: 20", "training.epochs=3", (None, 3.0))],
)
def test_a_length_on_the_command_line_replaces_that_of_the_file(
    tmp_path: Path, written: str, change: str, length: tuple[int | None, float | None]
) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(f"data: {{train: [{{built_in: copy}}]}}\ntraining: {{{written}}}\n")
    config = load_run_config(path, [change])
    assert (config.training.steps, config.training.epochs) == length
