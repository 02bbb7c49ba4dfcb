"""Conversions for CTranslate2: saved beside the model, for exactly these weights, complete or not at all."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead.errors import CheckpointError
from clearhead.formats import ctranslate2 as conversions
from clearhead.formats import load_checkpoint, save_checkpoint
from clearhead.formats.ctranslate2 import convert, converted, find_conversion, model_lacks
from clearhead.model import ModelConfig, Transformer
from tests.unit.decoding.toys import random_model

pytest.importorskip("ctranslate2", reason="the engine is an extra: pip install '.[translate]'")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_checkpoint(random_model().float(), tmp_path / "model")
    return tmp_path / "model"


def loading(folder: Path, calls: list[Path]) -> Callable[[], Transformer]:
    def load() -> Transformer:
        calls.append(folder)
        return load_checkpoint(folder)

    return load


def test_a_conversion_is_made_once_and_kept_beside_the_model(saved: Path) -> None:
    calls: list[Path] = []
    first, second = (converted(saved, "int8", loading(saved, calls)) for _ in range(2))
    assert first == second
    assert not first.is_temporary
    assert calls == [saved]
    assert first.folder.parent == saved
    assert first.folder.name.startswith("ctranslate2-int8-")
    assert {path.name for path in first.folder.iterdir()} == {
        "clearhead.json",
        "config.json",
        "model.bin",
        "shared_vocabulary.json",
    }


def test_each_precision_has_its_own_conversion(saved: Path) -> None:
    folders = {converted(saved, storage, loading(saved, [])).folder for storage in ("float32", "int8", "float16")}
    assert len(folders) == 3
    sizes = {folder.name.split("-")[1]: (folder / "model.bin").stat().st_size for folder in folders}
    assert sizes["int8"] < sizes["float16"] < sizes["float32"]


def test_other_weights_are_converted_again_and_the_old_conversion_is_removed(saved: Path) -> None:
    calls: list[Path] = []
    old = converted(saved, "float32", loading(saved, calls)).folder
    save_checkpoint(random_model(seed=7).float(), saved)
    new = converted(saved, "float32", loading(saved, calls)).folder
    assert new != old
    assert not old.exists()
    assert len(calls) == 2


def test_a_copied_model_keeps_its_conversion(saved: Path, tmp_path: Path) -> None:
    old = converted(saved, "float32", loading(saved, [])).folder
    copied = tmp_path / "copied"
    shutil.copytree(saved, copied, copy_function=shutil.copyfile)
    assert find_conversion(copied, "float32") == copied / old.name


def test_weights_of_the_same_size_and_another_time_are_read(saved: Path) -> None:
    converted(saved, "float32", loading(saved, []))
    weights = saved / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    os.utime(weights, ns=(1, 1))
    assert find_conversion(saved, "float32") is None


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"clearhead_ctranslate2": 3}'])
def test_an_incomplete_folder_is_not_a_conversion(saved: Path, damage: bytes) -> None:
    place = converted(saved, "float32", loading(saved, [])).folder
    (place / "clearhead.json").write_bytes(damage)
    assert find_conversion(saved, "float32") is None


def test_a_failed_conversion_leaves_no_files(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill_the_disk(model: Transformer, folder: Path, storage: str) -> None:
        (folder / "model.bin").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    before = sorted(path.name for path in saved.iterdir())
    monkeypatch.setattr(conversions, "convert", fill_the_disk)
    with pytest.raises(CheckpointError, match="could not be written.*No space left.*No partial files.*engine torch"):
        converted(saved, "float32", loading(saved, []))
    assert sorted(path.name for path in saved.iterdir()) == before


def test_a_model_in_a_read_only_folder_is_converted_elsewhere(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.mkdir

    def refuse(path: Path, *more: Any, **others: Any) -> None:
        if path.parent == saved:
            raise PermissionError(13, "Permission denied")
        real(path, *more, **others)

    monkeypatch.setattr(Path, "mkdir", refuse)
    conversion = converted(saved, "float32", loading(saved, []))
    assert conversion.is_temporary
    assert (conversion.folder / "model.bin").is_file()
    shutil.rmtree(conversion.folder)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"shape": "decoder"}, "the model has the shape decoder"),
        ({"positions": "rotary"}, "positions = rotary is not supported"),
        ({"positions": "none"}, "positions = none is not supported"),
        ({"encoder_norm": "all"}, "a norm over all numbers"),
        ({"d_decoder": 24, "tied": "two"}, "d_decoder = 24 is not d_model"),
        ({"encoder_blocks": 0}, "one layer on each side"),
    ],
)
def test_an_unsupported_model_is_rejected(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    config = ModelConfig(source_vocabulary=31, d_model=12, num_heads=2, d_ff=17, **changes)
    assert reason in str(model_lacks(config))
    with pytest.raises(CheckpointError, match=f"does not support this model: .*{reason}.*Use the engine torch"):
        convert(Transformer(config), tmp_path, "float32")


def test_conversion_changes_no_number_of_the_model(tmp_path: Path) -> None:
    model = random_model(has_output_bias=True)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    convert(model, tmp_path, "int8")
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_a_conversion_in_an_older_format_is_replaced(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversions, "_FORMAT", 1)
    old = converted(saved, "float32", loading(saved, [])).folder
    monkeypatch.undo()
    assert find_conversion(saved, "float32") is None
    new = converted(saved, "float32", loading(saved, [])).folder
    assert find_conversion(saved, "float32") == new != old
    assert not old.exists()
