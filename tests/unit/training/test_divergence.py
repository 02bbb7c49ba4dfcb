"""NaN, exploding losses, no memory, a full disk: a clear message, the saved batch, and no lost checkpoint."""

import errno
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from clearhead.errors import CheckpointError, RunError
from clearhead.model import Batch, Loss, Transformer
from clearhead.training import loop as loop_module
from clearhead.training import step as step_module
from clearhead.training.config import TrainingConfig
from clearhead.training.divergence import FOLDER
from clearhead.training.objective import LossFunction, objective
from clearhead.training.state import checkpoints
from tests.unit.training.runs import Result, metrics, same, train
from tests.unit.training.test_loop import interrupt_at

Objective = Callable[[Transformer, Batch, TrainingConfig, LossFunction], Loss]


class Faults:
    """An objective that goes wrong at some updates, counted over all processes of a test."""

    def __init__(self, *bad: int, factor: float = float("nan"), is_forgiving: bool = True) -> None:
        self.bad, self.factor, self.is_forgiving, self.calls = list(bad), factor, is_forgiving, 0
        self.batches: list[Batch] = []

    def __call__(self, model: Transformer, batch: Batch, config: TrainingConfig, loss_function: LossFunction) -> Loss:
        loss = objective(model, batch, config, loss_function)
        if not model.training:
            return loss
        self.calls += 1
        if self.calls not in self.bad and (self.is_forgiving or self.calls < min(self.bad)):
            return loss
        self.batches.append(batch)
        return Loss(loss.total * self.factor, loss.num_tokens)


def put_in(monkeypatch: pytest.MonkeyPatch, faults: Objective) -> None:
    monkeypatch.setattr(step_module, "objective", faults)


def test_a_loss_that_is_no_number_stops_with_a_sentence_and_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = Faults(7)
    put_in(monkeypatch, faults)
    with pytest.raises(RunError) as error:
        train(tmp_path / "run")
    place = tmp_path / "run" / FOLDER / "step-00000007.json"
    assert str(error.value) == (
        f"The loss or its gradient was not a finite number at update 7. The batch of that update is saved in {place}. "
        "The last good checkpoint is step-00000005: resume the run with a lower training.rate. "
        "Or start again with a lower training.rate, a longer training.warm_up, or training.on_divergence: roll_back."
    )
    assert error.value.options == {"resume": "", "changes": "training.rate=LOWER"}
    saved = json.loads(place.read_text())
    (batch,) = faults.batches
    assert batch.target is not None
    ids = [token for pair in saved["pairs"] for token in pair["target_ids"]]
    assert saved["step"] == 7
    assert sorted(ids) == sorted(token for token in batch.target.flatten().tolist() if token != 0)
    assert saved["pairs"][0]["source"].endswith("</s>")
    assert [line["step"] for line in metrics(tmp_path / "run") if "loss" in line] == [3, 6]
    assert [path.name for path in checkpoints(tmp_path / "run/checkpoints")][-1] == "step-00000005"


def test_a_run_can_resume_from_the_last_good_checkpoint(
    full_run: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        put_in(patch, Faults(7))
        with pytest.raises(RunError):
            train(tmp_path / "run")
    gone_on = train(tmp_path / "run", resume=True)
    assert gone_on.outcome.steps == 12
    assert same(gone_on.tensors(), full_run.tensors())


def test_a_divergence_before_any_checkpoint_says_that_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in(monkeypatch, Faults(2))
    with pytest.raises(RunError, match=r"at update 2\. .*There is no checkpoint yet\. Start again"):
        train(tmp_path / "run")


def test_a_huge_rate_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"The loss exploded: at update \d+ it was [\d.]+ nats above its minimum"):
        train(tmp_path / "run", training={"rate": 3.0, "warm_up": 0, "steps": 40})


def test_weights_that_are_not_finite_are_never_saved(tmp_path: Path) -> None:
    with pytest.raises(
        RunError, match=r"^The weights were not finite numbers after update 1\. The batch .* no checkpoint"
    ):
        train(tmp_path / "run", training={"weight_decay": 1e300, "warm_up": 0, "checkpoint_every": 1})
    assert not checkpoints(tmp_path / "run/checkpoints")


def test_an_exploding_loss_forgets_the_checkpoints_after_the_last_good_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It explodes at update 7, is saved at 8, and is seen at the log of update 9; that of update 6 was good.
    put_in(monkeypatch, Faults(7, 8, 9, factor=100.0))
    with pytest.raises(RunError, match=r"exploded: at update 9 it was .* The last good checkpoint is step-00000004:"):
        train(tmp_path / "run")
    assert [path.name for path in checkpoints(tmp_path / "run/checkpoints")] == ["step-00000004"]


def test_rolling_back_halves_the_rate_and_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in(monkeypatch, Faults(7))
    result = train(tmp_path / "run", training={"on_divergence": "roll_back", "schedule": "constant", "warm_up": 0})
    assert result.outcome.steps == 12
    assert "at update 7. The batch of that update is saved in" in result.output
    assert "Returning to step-00000005, with the learning rate multiplied by 0.5 from now on." in result.output
    rates = {line["step"]: line["rate"] for line in result.metrics() if "rate" in line}
    assert rates == pytest.approx({3: 1e-3, 6: 0.5e-3, 9: 0.5e-3, 12: 0.5e-3})
    assert [line["step"] for line in result.metrics() if "valid/loss" in line] == [5, 10, 12]
    assert all(line["loss"] < 5 for line in result.metrics() if "loss" in line)


def test_a_validation_that_was_rolled_back_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in(monkeypatch, Faults(*range(7, 13), factor=100.0))
    result = train(tmp_path / "run", training={"on_divergence": "roll_back", "log_every": 6})
    assert "Returning to step-00000004, with the learning rate multiplied by 0.5 from now on." in result.output
    assert [line["step"] for line in result.metrics() if "valid/loss" in line] == [5, 10, 12]


def test_time_spent_on_what_was_rolled_back_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    real = loop_module.rate_at

    def slow(*arguments: Any) -> float:
        now[0] += 100.0
        return real(*arguments)

    monkeypatch.setattr(loop_module, "rate_at", slow)
    monkeypatch.setattr(loop_module, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    put_in(monkeypatch, Faults(7))
    result = train(tmp_path / "run", training={"on_divergence": "roll_back"})
    assert "Returning to step-00000005" in result.output
    assert result.outcome.seconds == now[0] > 1400


def test_each_roll_back_halves_again_and_five_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in(monkeypatch, Faults(2, is_forgiving=False))
    with pytest.raises(RunError, match=r"The run was rolled back 5 times without success\. Inspect that batch\."):
        train(tmp_path / "run", training={"on_divergence": "roll_back"})
    assert (tmp_path / "run" / FOLDER).is_dir()


def test_a_divergence_that_is_found_while_stopping_is_reported_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in(monkeypatch, Faults(7))
    interrupt_at(monkeypatch, 7)
    with pytest.raises(RunError, match="was not a finite number at update 7"):
        train(tmp_path / "run")


def test_the_saved_batch_of_a_classifier_has_its_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"{'a b c d e f g'[: 2 * n + 1]}\t{('odd', 'even')[n % 2]}\n" for n in range(7))
    (tmp_path / "labels.tsv").write_text(lines)
    put_in(monkeypatch, Faults(1))
    corpus = {"tsv": str(tmp_path / "labels.tsv"), "source_field": "1", "target_field": "2"}
    with pytest.raises(RunError, match="at update 1"):
        train(
            tmp_path / "run", task="classify", data={"train": [corpus], "valid": None}, validation={"metric": None},
            model={"decoder_blocks": None},
        )  # fmt: skip
    pairs = json.loads((tmp_path / "run" / FOLDER / "step-00000001.json").read_text())["pairs"]
    assert pairs
    for pair in pairs:
        number = len(pair["source_ids"]) - 2
        assert pair["label"] == ("odd", "even")[number % 2]


# Memory


def test_out_of_memory_splits_the_batch_reports_it_and_learns_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"training": {"batch_tokens": 640, "epsilon": 1e-4}, "model": {"dropout": 0.0}}
    plain = train(tmp_path / "plain", **options)
    assert "10 × (64 + 64)" in plain.output

    def limited(model: Transformer, batch: Batch, config: TrainingConfig, loss_function: LossFunction) -> Loss:
        if model.training and batch.num_rows > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return objective(model, batch, config, loss_function)

    put_in(monkeypatch, limited)
    poor = train(tmp_path / "poor", **options)
    assert "Out of memory at update 1: each batch is now split into 4 parts, whose gradients are added." in poor.output
    assert poor.output.count("Out of memory") == 1
    one, other = plain.tensors(), poor.tensors()
    assert max(float((one[name] - other[name]).abs().max()) for name in one) < 1e-4
    state = json.loads((tmp_path / "poor/checkpoints/step-00000012/state.json").read_text())
    assert state["parts"] == 4, "a resumed run would run out of memory again"


def test_no_memory_for_one_row_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def limited(model: Transformer, batch: Batch, config: TrainingConfig, loss_function: LossFunction) -> Loss:
        raise torch.OutOfMemoryError("CUDA out of memory")

    put_in(monkeypatch, limited)
    with pytest.raises(RunError, match=r"Update 1 needs more memory than is available, even one row at a time\."):
        train(tmp_path / "run")


# Disk


@pytest.mark.parametrize("call", [1, 2, 3, 4, 5, 6, 7, 8, 9])
def test_a_full_disk_loses_nothing(
    full_run: Result, tmp_path: Path, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever tensors are written: of a checkpoint's model or state, of the best or of the last model."""
    from safetensors import torch as safetensors_torch

    calls = []
    real = safetensors_torch.save_file

    def filling(tensors: Any, path: Path, *more: Any) -> None:
        calls.append(path)
        if len(calls) >= call:
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        real(tensors, path, *more)

    with monkeypatch.context() as patch:
        patch.setattr(safetensors_torch, "save_file", filling)
        with pytest.raises(CheckpointError, match="could not be written.*No space left on device"):
            train(tmp_path / "run")
    assert not list((tmp_path / "run").rglob("*.part"))
    gone_on = train(tmp_path / "run", resume=True)
    for name in ("last/model.safetensors", "best/model.safetensors"):
        assert same(full_run.tensors(name), gone_on.tensors(name))
    assert full_run.metrics() == gone_on.metrics()
