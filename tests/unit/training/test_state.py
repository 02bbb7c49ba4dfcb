"""Checkpoints to resume from: complete or absent, with everything that determines the next update."""

import errno
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from clearhead.data.batches import Position
from clearhead.errors import CheckpointError
from clearhead.files.manifest import MANIFEST
from clearhead.formats import load_checkpoint
from clearhead.training import state as state_module
from clearhead.training.outcome import KeptScore
from clearhead.training.state import (
    Progress,
    checkpoints,
    forget_after,
    forget_old,
    load_state,
    planned_checkpoints,
    readable_checkpoints,
    remove_parts,
    save_state,
    step_of,
)
from clearhead.training.step import Updater
from tests.unit.training.models import settings, tiny_batch, tiny_model

PROGRESS = Progress(
    step=7, position=Position(1, 2, 3), seconds=11.5, num_tokens=1301, best=0.25, best_loss=1.75, best_step=5,
    best_scores={"bleu": KeptScore("BLEU", 0.25, "x")}, num_worse=2, judged_step=6,
    lowest_loss=1.5, parts=4,
)  # fmt: skip


def make_updater(seed: int = 0, **changes: object) -> Updater:
    config = settings(average="ema", **changes)
    return Updater(tiny_model(seed, dropout=0.1), config, is_compiled=False, precision=torch.float32)


def trained(seed: int = 0) -> Updater:
    updater = make_updater(seed)
    updater.step([tiny_batch(3)], 0.01, 1)
    return updater


def names(folder: Path) -> list[str]:
    return [place.name for place in checkpoints(folder)]


def save_steps(folder: Path, *steps: int) -> None:
    updater = trained()
    for step in steps:
        save_state(folder, updater, Progress(step))


def test_a_checkpoint_brings_everything_back(tmp_path: Path) -> None:
    updater = trained()
    torch.manual_seed(5)
    place = save_state(tmp_path, updater, PROGRESS)
    drawn = torch.rand(3)
    other = trained(seed=9)
    torch.manual_seed(6)
    assert load_state(place, other) == PROGRESS
    assert torch.equal(torch.rand(3), drawn), "the random state is another"
    one, two = updater.tensors(), other.tensors()
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert other.read() == updater.read()


def test_a_checkpoint_is_a_model_to_use(tmp_path: Path) -> None:
    updater = trained()
    place = save_state(tmp_path, updater, PROGRESS)
    assert place.name == "step-00000007"
    assert torch.equal(load_checkpoint(place).output.weight, updater.model.output.weight)


def test_saving_the_same_update_again_keeps_its_tensors(tmp_path: Path) -> None:
    updater = trained()
    place = save_state(tmp_path, updater, Progress(7))
    before = (place / "state.safetensors").stat()
    save_state(tmp_path, updater, PROGRESS)
    after = (place / "state.safetensors").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert load_state(place, updater) == PROGRESS
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000007"]


def test_a_full_disk_leaves_the_last_checkpoint_and_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_steps(tmp_path, 5)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(CheckpointError) as error:
        save_state(tmp_path, trained(), PROGRESS)
    assert str(error.value) == (
        f"the checkpoint {tmp_path}/step-00000007 could not be written ([Errno 28] No space left on device). "
        "The last complete checkpoint is step-00000005: free some disk space and resume the run."
    )
    assert error.value.options == ("resume",)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000005"]
    assert [wrong for _, wrong in readable_checkpoints(tmp_path)] == [""]


def test_a_full_disk_before_any_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, has_manifest: bool) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(state_module, "write_together", full)
    with pytest.raises(
        CheckpointError, match=r"No space left on device\). There is no checkpoint yet: free some disk space"
    ):
        save_state(tmp_path, trained(), PROGRESS)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["state.safetensors", "model.safetensors", "state.json"])
def test_a_damaged_checkpoint_is_reported(tmp_path: Path, name: str) -> None:
    save_steps(tmp_path, 5, 7)
    file = tmp_path / "step-00000007" / name
    file.write_bytes(file.read_bytes()[:-9])
    places_with_errors = list(readable_checkpoints(tmp_path))
    assert [place.name for place, _ in places_with_errors] == ["step-00000007", "step-00000005"]
    assert name in places_with_errors[0][1]
    assert places_with_errors[1][1] == ""


def change(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda index: index.update(values)


DAMAGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a text instead of a number": (change(num_tokens="x"), "num_tokens = 'x' is not valid"),
    "null instead of a number": (change(seconds=None), "seconds = null is not valid"),
    "true instead of a number": (change(num_worse=True), "num_worse = true is not valid"),
    "a negative number": (change(num_worse=-1), "num_worse = -1 is not valid"),
    "NaN": (change(lowest_loss=math.nan), "lowest_loss = nan is not valid"),
    "infinity": (change(best=math.inf), "best = inf is not valid"),
    "a fraction of an update": (change(best_step=1.5), "best_step = 1.5 is not valid"),
    "no parts": (change(parts=0), "parts = 0 is not valid"),
    "a position that is a list": (change(position=[1, 2, 3]), "position = [1, 2, 3] is not valid"),
    "a position that is no number": (change(position={"epoch": "x", "block": 0, "batch": 0}), "position.epoch = 'x'"),
    "a negative position": (change(position={"epoch": -1, "block": 0, "batch": 0}), "update 7 and position -1, 0, 0"),
    "another update": (change(step=9), "it says update 9 and position 0, 0, 0, which is not possible in step-00000007"),
    "a score without a value": (change(best_scores={"bleu": {"name": "BLEU"}}), "best_scores.bleu.value = "),
    "scores in a list": (change(best_scores=[1]), "best_scores = [1] is not valid"),
    "a missing key": (lambda index: index.pop("position"), "it has no position."),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_state_with_impossible_values_is_reported_and_an_earlier_one_can_be_used(tmp_path: Path, damage: str) -> None:
    save_steps(tmp_path, 5, 7)
    path = tmp_path / "step-00000007/state.json"
    index = json.loads(path.read_bytes())
    DAMAGES[damage][0](index)
    path.write_text(json.dumps(index))
    (_, wrong), (earlier, right) = readable_checkpoints(tmp_path)
    assert wrong.startswith(f"{path} is damaged: ")
    assert DAMAGES[damage][1] in wrong
    assert (earlier.name, right) == ("step-00000005", "")


def test_a_state_of_the_first_version_is_read_unless_it_was_rolled_back(tmp_path: Path) -> None:
    place = save_state(tmp_path, trained(), PROGRESS)
    index = json.loads((place / "state.json").read_bytes())
    del index["best_loss"], index["judged_step"]
    (place / "state.json").write_text(json.dumps({**index, "rate_factor": 1.0}))
    assert load_state(place, trained()) == replace(PROGRESS, best_loss=None, judged_step=None)
    (place / "state.json").write_text(json.dumps({**index, "rate_factor": 0.5}))
    with pytest.raises(CheckpointError) as error:
        load_state(place, trained())
    assert str(error.value) == (
        f"{place / 'state.json'} is of a run that an earlier version continued with a lower rate after a divergence. "
        "Start again from its weights with training.init_from."
    )


TENSORS: dict[str, tuple[Callable[[dict[str, Tensor]], object], str]] = {
    "missing": (
        lambda tensors: tensors.pop("sums"),
        r"other tensors than this run: 1 are only in one of them \(sums …\)",
    ),
    "no random state": (
        lambda tensors: tensors.pop("random.cpu"),
        r"other tensors than this run: 1 are only in one of them \(random.cpu …\)",
    ),
    "extra": (
        lambda tensors: tensors.update(more=torch.zeros(1)),
        r"other tensors than this run: 1 are only in one of them \(more …\)",
    ),
    "shape": (
        lambda tensors: tensors.update(sums=torch.zeros(5, dtype=torch.float64)),
        r"sums is 5 \(float64\) instead",
    ),
    "dtype": (lambda tensors: tensors.update(sums=torch.zeros(3)), r"sums is 3 \(float32\) instead of 3 \(float64\)"),
    "random state": (lambda tensors: tensors["random.cpu"].fill_(255), r"has a random state that .* cannot use"),
}


@pytest.mark.parametrize("damage", TENSORS)
def test_a_state_with_other_tensors_is_refused_before_anything_changes(tmp_path: Path, damage: str) -> None:
    place = save_state(tmp_path, trained(), PROGRESS)
    tensors = load_file(place / "state.safetensors")
    TENSORS[damage][0](tensors)
    save_file(tensors, place / "state.safetensors")
    updater = trained(seed=9)
    before = {name: tensor.clone() for name, tensor in updater.tensors().items()}
    with pytest.raises(CheckpointError, match=TENSORS[damage][1]):
        load_state(place, updater)
    assert all(torch.equal(before[name], tensor) for name, tensor in updater.tensors().items())


@pytest.mark.parametrize("file", ["model.safetensors", "state.safetensors"])
@pytest.mark.parametrize("number", [math.nan, -math.inf])
def test_a_checkpoint_with_numbers_that_are_not_finite_is_reported(tmp_path: Path, file: str, number: float) -> None:
    save_steps(tmp_path, 5, 7)
    path = tmp_path / "step-00000007" / file
    tensors = load_file(path)
    name = next(name for name, tensor in tensors.items() if tensor.is_floating_point())
    tensors[name].view(-1)[-1] = number
    save_file(tensors, path)
    (path.parent / MANIFEST).unlink()
    (_, wrong), (_, right) = readable_checkpoints(tmp_path)
    assert wrong == (
        f"{path} is not usable: {name} contains numbers that are NaN or infinite. "
        "Use another checkpoint, or copy the file again from its source."
    )
    assert right == ""


@pytest.mark.parametrize("name", ["state.safetensors", "model.safetensors", "state.json", "config.json"])
def test_one_changed_bit_in_a_checkpoint_is_reported(tmp_path: Path, name: str) -> None:
    save_steps(tmp_path, 5, 7)
    file = tmp_path / "step-00000007" / name
    content = bytearray(file.read_bytes())
    place = content.index(b'"num_tokens": 0') + 14 if name == "state.json" else content.rindex(b"0")
    content[place] ^= 1
    file.write_bytes(content)
    reasons = [reason for _, reason in readable_checkpoints(tmp_path)]
    assert f"step-00000007/{name} has changed since it was written" in reasons[0]
    assert reasons[1] == ""


def test_a_checkpoint_of_an_older_version_without_hashes_is_readable(tmp_path: Path) -> None:
    save_steps(tmp_path, 5)
    (tmp_path / "step-00000005" / MANIFEST).unlink()
    assert [reason for _, reason in readable_checkpoints(tmp_path)] == [""]
    assert load_state(tmp_path / "step-00000005", make_updater()).step == 5
    save_state(tmp_path, trained(), Progress(5, seconds=2.5))
    assert [reason for _, reason in readable_checkpoints(tmp_path)] == [""], (
        "its hash of state.json alone is no manifest"
    )


def test_equal_states_are_equal_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        torch.manual_seed(5)
        save_state(tmp_path / name, trained(), PROGRESS)
    files = [
        {path.name: path.read_bytes() for path in (tmp_path / name / "step-00000007").iterdir()}
        for name in ("one", "two")
    ]
    assert files[0] == files[1]
    assert set(files[0]) == {"SHA256SUMS", "config.json", "model.safetensors", "state.json", "state.safetensors"}


def test_a_checkpoint_that_lacks_a_file_is_reported(tmp_path: Path) -> None:
    save_steps(tmp_path, 5)
    (tmp_path / "step-00000005/state.safetensors").unlink()
    ((_, wrong),) = readable_checkpoints(tmp_path)
    assert "state.safetensors" in wrong


def test_a_checkpoint_of_another_format_is_reported(tmp_path: Path) -> None:
    save_steps(tmp_path, 5)
    index = tmp_path / "step-00000005/state.json"
    index.write_text(index.read_text().replace('"format": 1', '"format": 99'))
    ((_, wrong),) = readable_checkpoints(tmp_path)
    assert "has format 99, but this version of clearhead reads format 1" in wrong


def test_a_checkpoint_of_another_configuration_is_refused(tmp_path: Path) -> None:
    plain = Updater(tiny_model(), settings(), is_compiled=False, precision=torch.float32)
    place = save_state(tmp_path, plain, PROGRESS)
    with pytest.raises(
        CheckpointError,
        match=r"other tensors than this run: \d+ are only in one of them \(average\..*It was written with another config",
    ):
        load_state(place, make_updater())


def test_an_incomplete_checkpoint_is_not_used(tmp_path: Path) -> None:
    save_steps(tmp_path, 5)
    (tmp_path / "step-00000009").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / ".step-00000011.ab12.part").mkdir()
    assert names(tmp_path) == ["step-00000005"]
    assert checkpoints(tmp_path / "nowhere") == []
    remove_parts(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes", "step-00000005", "step-00000009"]


def test_the_last_regular_checkpoints_and_the_very_last_are_kept(tmp_path: Path) -> None:
    save_steps(tmp_path, 10, 13, 20, 30, 37)
    assert [step_of(place) for place in planned_checkpoints(tmp_path, 10, 30)] == [10, 20]
    forget_old(tmp_path, 2, 10)
    assert names(tmp_path) == ["step-00000020", "step-00000030", "step-00000037"]
    save_steps(tmp_path, 40)
    forget_old(tmp_path, 2, 10)
    assert names(tmp_path) == ["step-00000030", "step-00000040"]
    forget_after(tmp_path, 30)
    assert names(tmp_path) == ["step-00000030"]
    assert len(list(tmp_path.iterdir())) == 1
