"""Plans as objects: what is measured, how a plan is shown and written, and the folder while it is made."""

import time
from dataclasses import replace
from io import StringIO
from itertools import islice
from pathlib import Path

import pytest
import torch
import yaml
from rich.console import Console

from clearhead.data.config import CorpusConfig
from clearhead.data.phrasebook import pairs as phrasebook
from clearhead.errors import DataError, RunError
from clearhead.training import plan as plan_module
from clearhead.training import plan_rule
from clearhead.training.config import check_run_config, load_run_config
from clearhead.training.final_test import run_test
from clearhead.training.launch import launch
from clearhead.training.plan import PlanRequest, RunPlan, make_plan
from clearhead.training.plan_measure import Speed, measure, sample_batches
from clearhead.training.plan_report import plan_table, plan_yaml
from clearhead.training.plan_rule import SIZES, Choice
from clearhead.training.prepare import prepare
from clearhead.training.progress import Reporter
from clearhead.training.run import RunFolder
from tests.unit.training.runs import settings_of

SETTINGS = {
    "data": {"train": [{"source": "a.en", "target": "a.es"}], "valid": {"source": "b.en", "target": "b.es"}},
    "model": {"d_model": 256, "dropout": 0.3},
    "training": {"steps": 2000},
}
CHOICES = (
    Choice("model", "width 256", "fits the time", {"model.d_model": 256}),
    Choice("length", "2,000 updates", "40 epochs", {"training.steps": 2000}),
)


def example() -> RunPlan:
    config, mistakes = check_run_config(SETTINGS, check_files=False)
    assert config is not None
    assert not mistakes
    speed = Speed(0.02, 8000.0, 11_300_000, 3 * 2**30)
    return RunPlan(config, "cuda", 27_840, 50.0, speed, ("Too little text.",), CHOICES)


def test_a_plan_is_shown_as_a_table_with_its_figures_and_warnings() -> None:
    assert plan_table(example()) == (
        "model   width 256      fits the time\n"
        "length  2,000 updates  40 epochs\n"
        "\n"
        "11.3 million parameters · 3.0 GiB of memory · 400,000 target tokens/s on the GPU\n"
        "one epoch takes 1 s · 40 epochs · training takes about 40 s\n"
        "Warning: Too little text."
    )


def test_a_plan_is_written_as_a_config_with_reasons(tmp_path: Path) -> None:
    text = plan_yaml(example())
    assert yaml.safe_load(text) == SETTINGS
    assert "  d_model: 256                                # fits the time\n" in text
    (tmp_path / "plan.yaml").write_text(text)
    config = load_run_config(tmp_path / "plan.yaml", check_files=False)
    assert config.training.steps == 2000


def test_the_speed_of_real_updates_is_measured(tmp_path: Path) -> None:
    config = settings_of()
    with RunFolder.create(tmp_path / "run", config) as folder:
        prepared = prepare(config, folder, Reporter(console=Console(file=StringIO())))
    batches = sample_batches(prepared.train, prepared.vocabularies, config.training.batch_tokens)
    before = {name: tensor.clone() for name, tensor in prepared.model.state_dict().items()}
    speed = measure(prepared.model, batches, config, torch.device("cpu"), 0.05)
    assert speed.seconds_per_update > 0
    assert 0 < speed.tokens_per_update <= 96
    assert speed.num_parameters == sum(parameter.numel() for parameter in prepared.model.parameters())
    assert speed.tokens_per_second == speed.tokens_per_update / speed.seconds_per_update
    assert any(not torch.equal(before[name], tensor) for name, tensor in prepared.model.state_dict().items())


def write_phrasebook(folder: Path, number: int) -> CorpusConfig:
    for side, name in enumerate(("source", "target")):
        lines = [pair[side] for pair in islice(phrasebook("train"), number)]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return CorpusConfig(source=str(folder / "source"), target=str(folder / "target"))


def plan_in(folder: Path, request: PlanRequest) -> RunPlan:
    with RunFolder.create_for_plan(folder / "run") as run_folder:
        return make_plan(request, run_folder, Reporter(console=Console(file=StringIO())))


def test_a_plan_uses_a_sample_of_a_text_that_is_too_long_for_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_rule, "_MIN_PAIRS", 211)
    monkeypatch.setattr(plan_rule, "_USABLE", {"cpu": 0})
    monkeypatch.setattr(plan_rule, "_MIN_LEARNED", 307)
    monkeypatch.setattr(plan_rule, "_LEARNED", 0)
    changes = ["model.d_model=24", "training.device=cpu", "training.steps=1"]  # one update: less than an epoch
    request = PlanRequest(write_phrasebook(tmp_path, 601), 0.05, 0.0, changes)
    plan = plan_in(tmp_path, request)
    text = plan.choices[0]
    assert (text.name, text.value, text.settings) == ("text", "211 of 601 pairs", {})
    assert plan.num_pairs < 211
    assert plan.config.text.max_sentences == 307
    assert "max_sentences: 307" in plan_yaml(plan)
    assert any(
        "the model will read only" in warning and "One epoch of the sample" in warning for warning in plan.warnings
    )


def test_the_updates_that_a_user_sets_decide_the_schedule(tmp_path: Path) -> None:
    changes = ["model.d_model=24", "training.device=cpu", "training.steps=80"]
    plan = plan_in(tmp_path, PlanRequest(write_phrasebook(tmp_path, 307), 0.05, 0.0, changes))
    assert (plan.config.training.steps, plan.config.training.warm_up) == (80, 10)


@pytest.mark.parametrize(
    ("first", "speeds", "chosen", "measured"),
    [
        (0, {0: 9e3, 1: 8e3, 2: 7e3}, 2, [0, 1, 2]),
        (0, {0: 9e3, 1: 2.0}, 0, [0, 1]),
        (2, {2: 7e3}, 2, [2]),
        (2, {2: 2.0, 1: 8e3}, 1, [2, 1]),
        (2, {2: 2.0, 1: 2.0, 0: 2.0}, 0, [2, 1, 0]),
    ],
)
def test_only_the_sizes_that_matter_are_measured(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: int,
    speeds: dict[int, float],
    chosen: int,
    measured: list[int],
) -> None:
    sizes = []

    def measure_size(planner: object, size: plan_rule.Size) -> Speed:
        sizes.append(SIZES.index(size))
        return Speed(1 / speeds[sizes[-1]], 1.0, 7, 0)

    monkeypatch.setattr(plan_module._Planner, "_measure_size", measure_size)
    monkeypatch.setattr(plan_module, "FIRST_SIZE", {"cpu": first})
    monkeypatch.setattr(plan_rule, "_TINY", 0)  # as with much text
    request = PlanRequest(write_phrasebook(tmp_path, 307), 0.5, time.perf_counter(), ["training.device=cpu"])
    plan = plan_in(tmp_path, request)
    assert sizes == measured
    assert plan.config.model["d_ff"] == SIZES[chosen].d_ff


def test_tiny_data_gets_the_smallest_model_where_others_get_a_larger_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_module, "FIRST_SIZE", {"cpu": 2})  # as on a GPU
    request = PlanRequest(write_phrasebook(tmp_path, 307), 0.05, time.perf_counter(), ["training.device=cpu"])
    plan = plan_in(tmp_path, request)
    model = next(choice for choice in plan.choices if choice.name == "model")
    assert model.value == "2 + 2 layers of width 128"
    assert model.reason.startswith("the smallest, because ")


def test_equal_sides_stop_a_strict_plan_and_are_a_warning_of_others(tmp_path: Path) -> None:
    lines = [pair[0] for pair in islice(phrasebook("train"), 601)]
    for name in ("source", "target"):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    corpus = CorpusConfig(source=str(tmp_path / "source"), target=str(tmp_path / "target"))
    changes = ["model.d_model=24", "training.device=cpu", "training.steps=1"]
    request = PlanRequest(corpus, 0.05, 0.0, changes)
    with pytest.raises(DataError, match=r"identical in 100 % .* To train on this text nevertheless, force it\."):
        plan_in(tmp_path, replace(request, is_strict=True))
    assert any("identical in 100 %" in warning for warning in plan_in(tmp_path, request).warnings)


def test_a_folder_that_is_being_planned_holds_no_run_and_is_planned_again(tmp_path: Path) -> None:
    with RunFolder.create_for_plan(tmp_path / "run") as folder:
        (folder.path / "text" / "train.source").write_text("one\n")
        assert not folder.holds_a_run
    with pytest.raises(RunError, match="contains no run, so there is nothing to resume"):
        RunFolder.reopen(tmp_path / "run")
    with RunFolder.create_for_plan(tmp_path / "run") as folder:
        assert not (folder.path / "text" / "train.source").exists()
        folder.begin(settings_of())
        assert folder.holds_a_run
        assert not (folder.path / "planning").exists()


def test_the_time_of_a_plan_leaves_some_for_updates() -> None:
    request = PlanRequest(CorpusConfig(tsv="a.tsv"), minutes=1.0, started=-(10.0**9))
    assert request.seconds_left("cpu") == 3.0


def test_a_test_set_is_translated_and_scored_at_the_end(tmp_path: Path) -> None:
    config = settings_of(data={"test": {"built_in": "copy"}, "max_pairs": 97})
    outcome = launch(config, tmp_path / "run", console=Console(file=StringIO()))
    assert set(outcome.test_scores) == {"bleu", "chrf"}
    assert len(outcome.samples) == 10
    assert outcome.samples[0].source == outcome.samples[0].reference
    assert RunFolder(tmp_path / "run").read_outcome() is not None
    read = RunFolder(tmp_path / "run").read_outcome()
    assert read is not None
    assert read.samples == outcome.samples
    assert run_test(RunFolder(tmp_path / "run"), config, outcome).samples == outcome.samples


def test_a_test_set_is_only_for_translation() -> None:
    config, mistakes = check_run_config(
        {
            "task": "language-model",
            "data": {"train": [{"built_in": "copy"}], "test": {"built_in": "copy"}},
            "training": {"steps": 3},
        }
    )
    assert config is not None
    assert [mistake.sentence for mistake in mistakes] == [
        "data.test is only for translation, but task = 'language-model'. Remove data.test."
    ]


def test_the_test_set_is_not_the_training_text() -> None:
    data = {"train": [{"built_in": "copy", "split": "test"}], "test": {"built_in": "copy"}}
    _, mistakes = check_run_config({"data": data, "training": {"steps": 3}})
    assert [mistake.sentence for mistake in mistakes] == [
        "data.test is the same text as data.train.0, so its scores would be meaningless. Test on sentences that are not "
        "used for training."
    ]
