"""The rule of a planned run: more time never gives a smaller model, and each choice has a reason."""

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
from clearhead.training.plan_rule import (
    SIZES,
    Situation,
    Size,
    choose_rate,
    choose_recipe,
    choose_sample,
    choose_schedule,
    choose_updates,
    choose_vocabulary,
    choose_warm_up,
    fill_defaults,
    first_batch,
    is_worthwhile,
    keep_defaults,
    possible_sizes,
    usable_pairs,
)
from clearhead.training.run import RunFolder
from tests.unit.training.runs import settings_of, train

# Corpora with their measured lengths: pairs, source and target tokens of an epoch.
BENGALI, CAPTIONS, SPANISH, PARLIAMENT = (
    (3_888, 29_000, 31_000),
    (27_840, 380_000, 420_000),
    (111_499, 950_000, 1_000_000),
    (396_000, 11_000_000, 12_000_000),
)
CPU, GPU = (5_000.0, "cpu"), (700_000.0, "cuda")
COPY = {"train": [{"built_in": "copy"}]}
AUTOMATIC = ("batch_tokens", "warm_up", "rate")


def situation(text: tuple[int, int, int], seconds: float, device: str) -> Situation:
    return Situation(*text, seconds, device)


def largest(text: tuple[int, int, int], seconds: float, device: tuple[float, str]) -> Size:
    """Return the largest size that is worthwhile, with speeds in proportion to the number of weights on a CPU."""
    speed, name = device
    here = situation(text, seconds, name)
    chosen = SIZES[0]
    for size in SIZES[1:]:
        slower = size.num_weights / SIZES[0].num_weights if name == "cpu" else size.d_model / 256
        if not is_worthwhile(size, here, speed / slower):
            break
        chosen = size
    return chosen


@pytest.mark.parametrize(
    ("text", "seconds", "device", "width"),
    [
        (BENGALI, 90, GPU, 256),
        (CAPTIONS, 90, GPU, 256),
        (SPANISH, 90, GPU, 256),
        (SPANISH, 900, GPU, 512),
        (PARLIAMENT, 3, GPU, 128),
        (CAPTIONS, 500, CPU, 128),
        (PARLIAMENT, 500, CPU, 128),
    ],
)
def test_the_model_is_as_large_as_text_and_time_allow(
    text: tuple[int, int, int], seconds: float, device: tuple[float, str], width: int
) -> None:
    assert largest(text, seconds, device).d_model == width


@pytest.mark.parametrize("text", [BENGALI, CAPTIONS, SPANISH, PARLIAMENT])
@pytest.mark.parametrize("device", [CPU, GPU])
def test_more_time_never_gives_a_smaller_model(text: tuple[int, int, int], device: tuple[float, str]) -> None:
    order = [SIZES.index(largest(text, seconds, device)) for seconds in (20, 120, 600, 10**5)]
    assert order[0] == min(order)
    assert order[-1] == max(order)


def test_sizes_are_ordered() -> None:
    assert [size.num_weights for size in SIZES] == sorted(size.num_weights for size in SIZES)
    assert SIZES[0].num_weights == 2 * (4 * 128**2 + 2 * 128 * 512) + 2 * (8 * 128**2 + 2 * 128 * 512)


@pytest.mark.parametrize(
    ("pairs", "device", "pieces"),
    [
        *((3_888, "cuda", 2000), (8_400, "cuda", 4000), (27_840, "cuda", 10_000), (396_000, "cuda", 16_000)),
        *((800, "cpu", 2000), (3_888, "cpu", 4000), (27_840, "cpu", 6000), (396_000, "cpu", 6000)),
    ],
)
def test_the_vocabulary_follows_the_amount_of_text(pairs: int, device: str, pieces: int) -> None:
    choice = choose_vocabulary(pairs, device)
    assert choice.settings == {"text.vocabulary": pieces}
    assert choice.reason


def test_pieces_are_learned_from_a_sample_if_the_time_is_short() -> None:
    choice = choose_sample(396_000, 153.0, 120.0, 200_000)
    assert choice is not None
    assert choice.settings == {"text.max_sentences": 31_000}
    assert (choice.value, "5 % of the time" in choice.reason) == ("31,000 sentences", True)
    assert choose_sample(396_000, 153.0, 900.0, 200_000) is None  # the default is a sample already
    assert choose_sample(15_000, 153.0, 120.0, 200_000) is None  # all 30,000 sentences
    few = choose_sample(396_000, 153.0, 3.0, 200_000)
    assert few is not None
    assert few.settings == {"text.max_sentences": 10_000}


def test_text_that_cannot_be_read_in_the_time_is_not_prepared() -> None:
    parliament = (400_000, 122_000_000)
    assert usable_pairs(*parliament, 120.0, "cuda") == 400_000
    assert usable_pairs(*parliament, 120.0, "cpu") == 62_950
    assert usable_pairs(*parliament, 1.0, "cpu") == 5_000
    assert usable_pairs(300, 12_000, 1.0, "cpu") == 300


def test_little_text_is_not_enough_for_the_widest_model() -> None:
    assert possible_sizes(1_999) == SIZES[:1]
    assert possible_sizes(2_000) == possible_sizes(27_840) == SIZES[:3]
    assert possible_sizes(111_499) == SIZES


def test_tiny_data_gets_the_smallest_model_with_its_reason() -> None:
    for speed, name in (CPU, GPU):
        recipe = choose_recipe(SIZES[0], situation((80, 500, 600), 90, name), speed)
        assert recipe.choices[0].reason == "the smallest, because 80 pairs are too few for a larger model"
    assert choose_recipe(SIZES[2], situation(BENGALI, 90, "cuda"), 700_000).choices[0].reason.startswith("the largest")


def test_the_number_of_updates_is_stated_once_when_it_is_known() -> None:
    for text, seconds, device in ((CAPTIONS, 500, CPU), (BENGALI, 90, GPU), (CAPTIONS, 90, GPU), (PARLIAMENT, 9, GPU)):
        speed, name = device
        recipe = choose_recipe(SIZES[1], situation(text, seconds, name), speed)
        batch = next(choice for choice in recipe.choices if choice.name == "batch")
        assert batch.reason in (
            "small, because many updates are needed in the time",
            "the smallest that this device uses well",
            "about 12 batches or more in each epoch",
        )


def test_a_cpu_has_no_time_for_r_drop() -> None:
    short = choose_recipe(SIZES[1], situation(BENGALI, 540, "cpu"), 6_000)
    assert (short.r_drop, short.choices[2].settings["model.dropout"]) == (0.0, 0.1)
    assert "R-Drop would halve the number of updates" in short.choices[-1].reason
    long = choose_recipe(SIZES[1], situation(BENGALI, 5_400, "cpu"), 6_000)
    assert (long.r_drop, long.choices[2].settings["model.dropout"]) == (5.0, 0.3)


def test_text_that_is_read_often_is_regularised() -> None:
    size = SIZES[2]
    often = choose_recipe(size, situation(CAPTIONS, 90, "cuda"), 700_000)
    assert (often.r_drop, often.choices[2].settings["model.dropout"]) == (5.0, 0.3)
    seldom = choose_recipe(size, situation(PARLIAMENT, 90, "cuda"), 700_000)
    assert (seldom.r_drop, seldom.choices[2].settings["model.dropout"]) == (0.0, 0.1)
    once = choose_recipe(SIZES[1], situation(PARLIAMENT, 500, "cpu"), 5_000)
    assert (once.r_drop, once.choices[2].settings["model.dropout"]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "seconds", "device", "tokens"),
    [
        (PARLIAMENT, 90, GPU, 16_384),
        (CAPTIONS, 90, GPU, 8192),
        (BENGALI, 90, GPU, 2048),
        (CAPTIONS, 500, CPU, 2048),
        (CAPTIONS, 5, CPU, 512),
    ],
)
def test_batches_allow_enough_updates(
    text: tuple[int, int, int], seconds: float, device: tuple[float, str], tokens: int
) -> None:
    speed, name = device
    here = situation(text, seconds, name)
    assert choose_recipe(SIZES[1], here, speed).batch_tokens == tokens
    assert first_batch(here) >= 512


def test_the_rate_is_lower_for_wide_models_and_small_batches() -> None:
    assert choose_rate(128, 8192) == 7e-3
    assert choose_rate(256, 8192) == 3.5e-3
    assert choose_rate(128, 2048) == 3.5e-3
    assert choose_rate(512, 32_768) == choose_rate(512, 8192) == 1.8e-3
    assert choose_rate(256, 8192, is_post_norm=True) < choose_rate(256, 8192)


def test_a_run_ends_when_the_text_is_exhausted_or_the_time_is_over() -> None:
    here = situation(BENGALI, 100, "cuda")
    assert choose_updates(150, here, 0.01, 2000) == 150 * 31_000 // 2000
    assert choose_updates(150, here, 1.0, 2000) == 100
    assert choose_updates(150, here, 1000.0, 2000) == 1


def test_everything_that_follows_from_the_length_is_chosen_with_a_reason() -> None:
    recipe = choose_recipe(SIZES[1], situation(CAPTIONS, 500, "cpu"), 5_000)
    choices = choose_schedule(recipe, 1600, 5.5)
    settings = {path: value for choice in choices for path, value in choice.settings.items()}
    assert settings == {
        "training.steps": 1600,
        "training.rate": 3.5e-3,
        "training.optimiser": "muon",
        "training.warm_up": 200,
        "training.schedule": "cosine",
        "training.average": "ema",
        "training.ema_decay": 0.99375,
    }
    assert all(choice.reason for choice in (*choices, *recipe.choices))
    assert choose_warm_up(3) == 1
    assert choose_warm_up(10**6) == 1000


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
