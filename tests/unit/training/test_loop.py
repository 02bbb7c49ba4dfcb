"""Complete runs: logging, validation, saving and stopping; a run that is stopped anywhere resumes identically."""

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from clearhead import training as training_package
from clearhead.errors import CheckpointError, ConfigError
from clearhead.evaluation.scores import Score
from clearhead.formats import load_checkpoint
from clearhead.formats.weights import own_tensors
from clearhead.model.device import choose_device
from clearhead.training import loop as loop_module
from clearhead.training import step as step_module
from clearhead.training.config import TrainingConfig
from clearhead.training.run import RunFolder
from clearhead.training.schedule import rate_at
from clearhead.training.state import checkpoints
from clearhead.training.step import Updater, choose_arithmetic
from clearhead.training.validate import Validator
from tests.tolerances import assert_close
from tests.unit.training.runs import Result, metrics, same, settings_of, train

FILES = ("last/model.safetensors", "best/model.safetensors", "checkpoints/step-00000012/state.safetensors")


class KilledError(BaseException):
    """Simulates the end of a process."""


def assert_same_end(one: Result, folder: Path, files: tuple[str, ...] = FILES) -> None:
    for name in files:
        assert same(one.tensors(name), Result(one.outcome, "", folder).tensors(name)), name
    assert metrics(one.folder) == metrics(folder)
    assert not list(folder.rglob("*.part"))


def test_a_run_logs_judges_and_saves_when_it_is_due(full_run: Result) -> None:
    assert full_run.outcome.stopped == "steps"
    assert full_run.outcome.steps == 12
    logged = [line["step"] for line in full_run.metrics() if "loss" in line]
    judged = [line["step"] for line in full_run.metrics() if "valid/loss" in line]
    assert (logged, judged) == ([3, 6, 9, 12], [5, 10, 12])
    assert [place.name[-2:] for place in checkpoints(full_run.folder / "checkpoints")] == ["08", "12"]
    assert "Batches of 1 shape (packed): 1 × (64 + 64); " in full_run.output
    assert "% padding" in full_run.output


def test_it_learns_and_the_best_is_kept(full_run: Result) -> None:
    losses = [line["valid/loss"] for line in full_run.metrics() if "valid/loss" in line]
    assert losses[0] > losses[1] > losses[2]
    assert full_run.outcome.best_step == 12
    assert full_run.outcome.scores["loss"].value == losses[-1]
    assert full_run.outcome.scores["loss"].signature.startswith("unit:token|vocabulary:")
    assert same(full_run.tensors("best/model.safetensors"), full_run.tensors("last/model.safetensors"))


def test_the_rate_follows_the_schedule(full_run: Result) -> None:
    training = settings_of().training
    rates = [line["rate"] for line in full_run.metrics() if "rate" in line]
    assert rates == pytest.approx([rate_at(step, training, 12) for step in (3, 6, 9, 12)])


def test_the_same_config_gives_the_same_numbers_and_another_seed_others(full_run: Result, tmp_path: Path) -> None:
    again = train(tmp_path / "again")
    assert_same_end(full_run, again.folder)
    other = train(tmp_path / "other", training={"seed": 2})
    assert not same(full_run.tensors(), other.tensors())


# Stopped and resumed

MOMENTS: dict[str, tuple[str, int]] = {
    "in the midst of an update": ("loop.rate_at", 7),
    "before a validation": ("loop.Validator.scores", 2),
    "before the checkpoint of a validation": ("run_writer.save_state", 2),
    "before a plain checkpoint": ("run_writer.save_state", 3),
    "after the checkpoint of a validation": ("run_writer.forget_old", 2),
    "before the best model is written": ("run_writer.save_checkpoint", 2),
    "before the last best model is written": ("run_writer.save_checkpoint", 3),
    "before the last model is written": ("run_writer.save_checkpoint", 4),
}


def kill_at(monkeypatch: pytest.MonkeyPatch, what: str, call: int) -> None:
    """End the process at the n-th call of a function."""
    owner: Any = training_package
    for part in what.split(".")[:-1]:
        owner = getattr(owner, part)
    name = what.split(".")[-1]
    real: Callable[..., Any] = getattr(owner, name)
    calls = []

    def killing(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == call:
            raise KilledError
        return real(*arguments)

    monkeypatch.setattr(owner, name, killing)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_is_killed_at_any_moment_resumes_bit_identically(
    full_run: Result, tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        kill_at(patch, *MOMENTS[moment])
        with pytest.raises(KilledError):
            train(tmp_path / "run")
    gone_on = train(tmp_path / "run", resume=True)
    assert_same_end(full_run, gone_on.folder)
    assert gone_on.outcome.best_step == full_run.outcome.best_step
    assert {n: s.value for n, s in gone_on.outcome.scores.items()} == {
        n: s.value for n, s in full_run.outcome.scores.items()
    }


def interrupt_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Request a stop after a number of updates, as Ctrl-C does."""
    real = loop_module._Run._reason

    def reason(self: Any, stop: Any) -> Any:
        stop.is_asked = stop.is_asked or self.progress.step == step
        return real(self, stop)

    monkeypatch.setattr(loop_module._Run, "_reason", reason)


@pytest.mark.parametrize("step", [0, 1, 5, 7, 8, 11])
def test_an_interrupted_run_saves_and_resumes(
    full_run: Result, tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        interrupt_at(patch, step)
        stopped = train(tmp_path / "run")
    assert (stopped.outcome.stopped, stopped.outcome.steps) == ("interrupted", step)
    assert [place.name for place in checkpoints(tmp_path / "run/checkpoints")][-1] == f"step-{step:08d}"
    assert (tmp_path / "run/last/model.safetensors").is_file()
    gone_on = train(tmp_path / "run", resume=True)
    assert f"Resuming from update {step}." in gone_on.output
    assert_same_end(full_run, gone_on.folder)
    assert len(checkpoints(gone_on.folder / "checkpoints")) == 2


@pytest.mark.parametrize("average", ["ema", "last"])
def test_averages_are_the_same_after_interruptions(
    tmp_path: Path, average: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"training": {"average": average, "average_last": 3, "keep_checkpoints": 1}}
    uninterrupted_run = train(tmp_path / "whole", **options)
    for number, step in enumerate((3, 7, 11)):
        with monkeypatch.context() as patch:
            interrupt_at(patch, step)
            train(tmp_path / "run", resume=number > 0, **options)
    gone_on = train(tmp_path / "run", resume=True, **options)
    assert_same_end(uninterrupted_run, gone_on.folder)
    plain = train(tmp_path / "plain", training={"keep_checkpoints": 1})
    state = "checkpoints/step-00000012/model.safetensors"
    assert same(plain.tensors(state), uninterrupted_run.tensors(state)), (
        "an average must not change how the weights are learned"
    )
    assert not same(plain.tensors(), uninterrupted_run.tensors())


def test_the_last_checkpoints_are_averaged_by_hand(tmp_path: Path) -> None:
    result = train(tmp_path / "run", training={"average": "last", "average_last": 3})
    places = [tmp_path / f"run/checkpoints/step-{step:08d}" for step in (4, 8, 12)]
    models = [own_tensors(load_checkpoint(place)) for place in places]
    last = result.tensors()
    for name in last:
        expected = torch.stack([model[name].detach().double() for model in models]).mean(dim=0)
        assert_close(last[name], expected, "float32", name)


def test_a_damaged_checkpoint_is_skipped_with_a_message(
    full_run: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        interrupt_at(patch, 9)
        train(tmp_path / "run")
    for name in ("step-00000009/state.safetensors", "step-00000008/model.safetensors"):
        file = tmp_path / "run/checkpoints" / name
        file.write_bytes(file.read_bytes()[:100])
    gone_on = train(tmp_path / "run", resume=True)
    assert "step-00000009 is skipped: " in gone_on.output
    assert "step-00000008 is skipped: " in gone_on.output
    assert "Resuming from update 4." in gone_on.output
    assert_same_end(full_run, gone_on.folder)


def test_a_checkpoint_that_lacks_a_tensor_is_skipped_with_a_message(
    full_run: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        interrupt_at(patch, 9)
        train(tmp_path / "run")
    file = tmp_path / "run/checkpoints/step-00000009/state.safetensors"
    tensors = load_file(file)
    del tensors["sums"]
    save_file(tensors, file)
    (file.parent / "SHA256SUMS").unlink()
    gone_on = train(tmp_path / "run", resume=True)
    assert "step-00000009 has other tensors than this run: 1 are only in one of them (sums …)." in gone_on.output
    assert "Resuming from update 8." in gone_on.output
    assert_same_end(full_run, gone_on.folder)


def test_no_file_is_removed_if_no_checkpoint_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        interrupt_at(patch, 9)
        train(tmp_path / "run")
    places = checkpoints(tmp_path / "run/checkpoints")
    for place in places:
        (place / "state.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"no checkpoint in .*checkpoints can be read. step-00000009 is skipped"):
        train(tmp_path / "run", resume=True)
    assert checkpoints(tmp_path / "run/checkpoints") == places


def test_a_finished_run_can_be_made_longer(full_run: Result, tmp_path: Path) -> None:
    train(tmp_path / "run", training={"steps": 8})
    longer = train(tmp_path / "run", resume=True)
    assert longer.outcome.steps == 12
    # The end of the shorter run was logged and judged; apart from that, nothing differs.
    extra = [line for line in longer.metrics() if line["step"] == 8]
    assert len(extra) == 2
    for name in (FILES[0], "checkpoints/step-00000012/model.safetensors"):
        assert same(full_run.tensors(name), longer.tensors(name))


def test_a_longer_cosine_falls_by_its_new_end(tmp_path: Path) -> None:
    cosine = {"schedule": "cosine", "steps": 6}
    train(tmp_path / "run", training=cosine)
    longer = train(tmp_path / "run", resume=True, training={**cosine, "steps": 12})
    config = settings_of(training={**cosine, "steps": 12}).training
    rates = {line["step"]: line["rate"] for line in longer.metrics() if "rate" in line}
    assert rates[6] == pytest.approx(0.0, abs=1e-12)
    assert rates[9] == pytest.approx(rate_at(9, config, 12))
    assert rates[12] == pytest.approx(0.0, abs=1e-12)


def test_fewer_updates_than_were_made_end_it_at_once(tmp_path: Path) -> None:
    train(tmp_path / "run", training={"steps": 8})
    shorter = train(tmp_path / "run", resume=True, training={"steps": 6})
    assert (shorter.outcome.steps, shorter.outcome.stopped) == (8, "steps")


def test_minutes_are_of_each_process_and_what_they_leave_is_judged(tmp_path: Path) -> None:
    options = {"training": {"minutes": 1e-9}, "validation": {"every": 100}}
    first = train(tmp_path / "run", **options)
    assert (first.outcome.stopped, first.outcome.steps) == ("minutes", 0)
    assert first.outcome.best_step == 0
    again = train(tmp_path / "run", resume=True, **options)
    assert (again.outcome.stopped, again.outcome.steps) == ("minutes", 0)
    assert len(again.metrics()) == 1, "it was judged twice"
    on = train(tmp_path / "run", resume=True, training={"minutes": 10}, validation={"every": 100})
    assert (on.outcome.stopped, on.outcome.steps, on.outcome.best_step) == ("steps", 12, 12)


def test_seconds_are_those_of_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every update takes a second of this clock and nothing else takes any: real saves can take longer than all updates."""
    seconds = 0
    step = Updater.step

    def step_of_one_second(self: Updater, *arguments: Any) -> None:
        nonlocal seconds
        seconds += 1
        step(self, *arguments)

    monkeypatch.setattr(loop_module, "time", SimpleNamespace(perf_counter=lambda: float(seconds)))
    monkeypatch.setattr(Updater, "step", step_of_one_second)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 6)
        first = train(tmp_path / "run")
    seconds += 1000  # between the processes
    second = train(tmp_path / "run", resume=True)
    assert first.outcome.seconds == first.outcome.steps == 6
    assert second.outcome.seconds == second.outcome.steps > 6


def test_epochs_are_turned_into_updates(tmp_path: Path) -> None:
    result = train(tmp_path / "run", training={"steps": None, "epochs": 2.5})
    epochs = [line["epoch"] for line in result.metrics() if "epoch" in line]
    assert result.outcome.stopped == "epochs"
    assert epochs[-1] == 2.0


# Judging


def scores_by_hand(monkeypatch: pytest.MonkeyPatch, values: list[float]) -> None:
    """Let validation find these losses, one after another."""
    losses = iter(values)

    def scores(self: Validator, model: Any, precision: Any) -> dict[str, Score]:
        return {"loss": Score("loss", next(losses), "by hand", is_higher_better=False)}

    monkeypatch.setattr(Validator, "scores", scores)


def test_it_stops_when_patience_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores_by_hand(monkeypatch, [3.0, 2.0, 2.5, 1.5, 1.5, 1.6])
    options = {"training": {"steps": 50}, "validation": {"every": 2, "patience": 2}}
    result = train(tmp_path / "run", **options)
    assert (result.outcome.stopped, result.outcome.steps, result.outcome.best_step) == ("patience", 12, 8)
    assert result.outcome.scores["loss"].value == 1.5
    scores_by_hand(monkeypatch, [1.4, 1.5, 1.5, 1.5, 1.5])
    more = {**options, "validation": {"every": 2, "patience": 3}}
    longer = train(tmp_path / "run", resume=True, **more)
    assert (longer.outcome.stopped, longer.outcome.steps, longer.outcome.best_step) == ("patience", 20, 14)


def test_it_stops_when_a_score_is_good_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores_by_hand(monkeypatch, [3.0, 2.1, 2.0, 1.5, 1.4])
    options = {"training": {"steps": 50}, "validation": {"every": 2, "enough": 2.0}}  # a loss: lower is better
    result = train(tmp_path / "run", **options)
    assert (result.outcome.stopped, result.outcome.steps, result.outcome.best_step) == ("enough", 6, 6)
    more = {**options, "validation": {"every": 2, "enough": 1.45}}
    longer = train(tmp_path / "run", resume=True, **more)
    assert (longer.outcome.stopped, longer.outcome.steps) == ("enough", 10)


def test_validation_starts_after_the_given_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores_by_hand(monkeypatch, [3.0, 2.1, 2.0])
    train(tmp_path / "run", training={"steps": 9}, validation={"every": 2, "after": 5})
    judged = [line["step"] for line in RunFolder(tmp_path / "run").read_metrics() if "valid/loss" in line]
    assert judged == [6, 8, 9]  # and at the end


def test_patience_is_counted_over_interruptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"training": {"steps": 50}, "validation": {"every": 2, "patience": 2}}
    scores_by_hand(monkeypatch, [1.0, 2.0])
    with monkeypatch.context() as patch:
        interrupt_at(patch, 5)
        train(tmp_path / "run", **options)
    scores_by_hand(monkeypatch, [2.0])
    assert train(tmp_path / "run", resume=True, **options).outcome.steps == 6


def test_a_score_that_is_no_number_is_never_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores_by_hand(monkeypatch, [math.nan, 2.0, math.inf])
    result = train(tmp_path / "run")
    assert (result.outcome.best_step, result.outcome.scores["loss"].value) == (10, 2.0)


def test_the_lower_loss_decides_between_equal_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores_by_validation = iter([(0.0, 3.0), (0.0, 2.0), (0.0, 2.5), (0.0, math.nan)])

    def scores(self: Validator, model: Any, precision: Any) -> dict[str, Score]:
        bleu, loss = next(scores_by_validation)
        return {"bleu": Score("BLEU", bleu, "by hand"), "loss": Score("loss", loss, "by hand", is_higher_better=False)}

    monkeypatch.setattr(Validator, "scores", scores)
    result = train(tmp_path / "run", validation={"every": 3, "metric": "bleu"})
    assert (result.outcome.best_step, result.outcome.scores["loss"].value) == (6, 2.0)


def test_a_loss_that_is_not_finite_beside_a_good_score_is_omitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scores(self: Validator, model: Any, precision: Any) -> dict[str, Score]:
        return {
            "bleu": Score("BLEU", 5.0, "by hand"),
            "loss": Score("loss", math.inf, "by hand", is_higher_better=False),
        }

    monkeypatch.setattr(Validator, "scores", scores)
    result = train(tmp_path / "run", validation={"metric": "bleu"})
    assert result.outcome.best_step == 5
    assert set(result.outcome.scores) == {"bleu"}


def test_without_sentences_to_judge_by_the_last_model_is_what_there_is(tmp_path: Path) -> None:
    result = train(tmp_path / "run", data={"valid": None}, validation={"metric": None})
    assert (result.outcome.best_step, result.outcome.scores) == (None, {})
    assert (tmp_path / "run/last/model.safetensors").is_file()
    assert not (tmp_path / "run/best").exists()
    assert not [line for line in result.metrics() if "valid/loss" in line]


# Odd sizes


@pytest.mark.parametrize("batching", ["packed", "bucketed"])
@pytest.mark.parametrize("tokens", [16, 2**24])
def test_tiny_and_huge_batches_work(tmp_path: Path, batching: str, tokens: int) -> None:
    result = train(
        tmp_path / "run", data={"max_pairs": 31, "train": [{"built_in": "copy"}]},
        training={"batching": batching, "batch_tokens": tokens, "steps": 3},
    )  # fmt: skip
    assert result.outcome.steps == 3


def test_a_corpus_of_one_pair_is_learned_by_heart(tmp_path: Path) -> None:
    (tmp_path / "one.tsv").write_text("let's go\tvamos\n")
    result = train(
        tmp_path / "run",
        data={"train": [{"tsv": str(tmp_path / "one.tsv"), "source_field": "1", "target_field": "2"}], "valid": None},
        text={"kind": "char"}, validation={"metric": None}, model={"dropout": 0.0},
        training={"steps": 60, "rate": 0.02, "label_smoothing": 0.0, "checkpoint_every": 100, "log_every": 10},
    )  # fmt: skip
    losses = [line["loss"] for line in result.metrics()]
    assert losses[-1] < 0.2 < 1.0 < losses[0]


def test_a_model_with_norms_over_sentences_has_one_sentence_per_row(tmp_path: Path) -> None:
    result = train(tmp_path / "run", model={"encoder_norm": "all"}, training={"steps": 2})
    assert "(bucketed)" in result.output


def test_a_missing_gpu_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    with pytest.raises(ConfigError, match="PyTorch finds no GPU"):
        choose_device("cuda")


def test_a_cpu_computes_in_float32_without_compiling() -> None:
    assert choose_arithmetic(TrainingConfig(), torch.device("cpu")) == (torch.float32, False)


def test_settings_are_followed() -> None:
    config = TrainingConfig(precision="bfloat16", is_compiled=True)
    assert choose_arithmetic(config, torch.device("cpu")) == (torch.bfloat16, True)


def test_a_gpu_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "set_float32_matmul_precision", lambda name: None)
    monkeypatch.setattr(step_module, "choose_kernels", lambda is_deterministic: None)
    assert choose_arithmetic(TrainingConfig(), torch.device("cuda")) == (torch.bfloat16, True)
