"""What ends a run before its time: a signal, no memory, NaN, an exploding loss, a full disk; no checkpoint is lost."""

import errno
import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead.errors import CheckpointError, RunError
from clearhead.model import Batch, Loss, Transformer
from clearhead.training import step as step_module
from clearhead.training.config import TrainingConfig, check_run_config
from clearhead.training.interruption import FOLDER, Stop, explain_memory_errors, stopping, update_too_large
from clearhead.training.objective import LossFunction, objective
from clearhead.training.state import checkpoints
from tests.unit.training.runs import BASE, Result, merged, metrics, same, train
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
        "Or start again with a lower training.rate or a longer training.warm_up."
    )
    assert error.value.options == {"resume": "", "changes": "training.rate=LOWER"}
    saved = json.loads(place.read_text())
    (batch,) = faults.batches
    assert batch.target is not None
    ids = [token for row in saved["rows"] for token in row["target_ids"]]
    assert saved["step"] == 7
    assert sorted(ids) == sorted(token for token in batch.target.flatten().tolist() if token != 0)
    assert saved["rows"][0]["source"].endswith("</s>")
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


def test_a_config_with_roll_backs_is_refused_with_what_to_do() -> None:
    _, mistakes = check_run_config(merged(BASE, {"training": {"on_divergence": "roll_back"}}))
    assert [mistake.sentence for mistake in mistakes] == [
        "training.on_divergence was removed from clearhead. A run that diverges stops. Resume it from its last good "
        "checkpoint with a lower rate."
    ]
    assert check_run_config(merged(BASE, {"training": {"on_divergence": "stop"}}))[1] == ()


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
    rows = json.loads((tmp_path / "run" / FOLDER / "step-00000001.json").read_text())["rows"]
    assert rows
    for row in rows:
        number = len(row["source_ids"]) - 2
        assert row["label"] == ("odd", "even")[number % 2]


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_requests_a_stop_and_the_second_stops_at_once(number: signal.Signals) -> None:
    with stopping() as stop:
        assert not stop.is_asked
        os.kill(os.getpid(), number)
        assert stop.is_asked
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)


def test_signals_are_handled_as_before_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with stopping():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_thread_that_cannot_handle_signals_does_not_change_them() -> None:
    stops: list[Stop] = []

    def work() -> None:
        with stopping() as stop:
            stops.append(stop)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert stops == [Stop(False)]


def test_an_error_about_memory_is_explained() -> None:
    with pytest.raises(RunError) as error, explain_memory_errors(lambda: update_too_large(1009)):
        raise MemoryError
    assert str(error.value) == (
        "Update 1,009 needs more memory than is available, even one row at a time. Saved checkpoints are not lost. Lower "
        "data.max_tokens or use a smaller model."
    )
    with pytest.raises(RunError, match="too large"), explain_memory_errors("too large"):
        raise RuntimeError("CUDA out of memory")


def test_another_error_is_not_changed() -> None:
    with pytest.raises(RuntimeError, match="sizes differ"), explain_memory_errors("too large"):
        raise RuntimeError("sizes differ")
