"""Conversions for CTranslate2: kept in the cache, for exactly these weights, complete or not at all."""

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead.errors import CheckpointError
from clearhead.formats import ctranslate2 as conversions
from clearhead.formats import load_checkpoint, save_checkpoint
from clearhead.formats.arrays import ModelArrays, arrays_of
from clearhead.formats.ctranslate2 import Converted, Storage, convert, converted, model_lacks
from clearhead.formats.model_folder import ModelFolder
from clearhead.model import ModelConfig, Transformer
from tests.unit.decoding.toys import random_model

pytest.importorskip("ctranslate2", reason="the engine is an extra: pip install '.[translate]'")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_checkpoint(random_model().float(), tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLEARHEAD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ctranslate2"


def conversion_of(folder: Path, storage: Storage = "float32", calls: list[Path] | None = None) -> Converted:
    def load() -> ModelArrays:
        if calls is not None:
            calls.append(folder)
        return arrays_of(load_checkpoint(folder))

    return converted(ModelFolder(folder, folder, is_marian=False), storage, load)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_conversion_is_made_once_and_kept_in_the_cache(saved: Path, cache: Path) -> None:
    before, calls = files_of(saved), []
    first, second = (conversion_of(saved, "int8", calls) for _ in range(2))
    assert first == second
    assert not first.is_temporary
    assert calls == [saved]
    assert first.folder.parent == cache
    assert set(files_of(first.folder)) == {"SHA256SUMS", "config.json", "model.bin", "shared_vocabulary.json"}
    assert files_of(saved) == before


def test_each_precision_has_its_own_conversion(saved: Path) -> None:
    storages: tuple[Storage, ...] = ("float32", "int8", "float16")
    sizes = {storage: (conversion_of(saved, storage).folder / "model.bin").stat().st_size for storage in storages}
    assert sizes["int8"] < sizes["float16"] < sizes["float32"]


def test_equal_models_share_a_conversion_wherever_they_are(saved: Path, tmp_path: Path) -> None:
    calls: list[Path] = []
    first = conversion_of(saved, calls=calls)
    copy = tmp_path / "copy"
    shutil.copytree(saved, copy, copy_function=shutil.copyfile)
    assert conversion_of(copy, calls=calls) == first
    assert len(calls) == 1


def test_weights_of_the_same_size_and_time_are_told_apart_by_their_content(saved: Path) -> None:
    weights = saved / "model.safetensors"
    old, stat = conversion_of(saved).folder, weights.stat()
    save_checkpoint(random_model(seed=7).float(), saved)
    os.utime(weights, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (weights.stat().st_size, weights.stat().st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)
    new = conversion_of(saved).folder
    assert new != old
    assert (new / "model.bin").read_bytes() != (old / "model.bin").read_bytes()


def test_a_conversion_in_the_folder_of_a_model_is_ignored(saved: Path) -> None:
    honest = conversion_of(saved).folder
    forged = saved / "ctranslate2-float32-0123456789abcdef"
    shutil.copytree(honest, forged)
    (forged / "model.bin").write_bytes(b"forged")
    assert conversion_of(saved).folder == honest


@pytest.mark.parametrize("name", ["model.bin", "config.json", "shared_vocabulary.json", "SHA256SUMS"])
def test_a_damaged_conversion_is_made_again(saved: Path, name: str) -> None:
    place, calls = conversion_of(saved).folder, []
    intact = files_of(place)
    content = bytearray(intact[name])
    content[len(content) // 2] ^= 1
    (place / name).write_bytes(content)
    assert conversion_of(saved, calls=calls).folder == place
    assert len(calls) == 1
    assert files_of(place) == intact


def test_a_file_or_a_link_in_the_place_of_a_conversion_is_replaced(saved: Path, tmp_path: Path) -> None:
    place = conversion_of(saved).folder
    intact = files_of(place)
    moved = place.rename(tmp_path / "moved")
    place.write_text("not a folder")
    conversion_of(saved)
    assert files_of(place) == intact
    place.rename(tmp_path / "again")
    (moved / "model.bin").write_bytes(b"damaged")
    place.symlink_to(moved)
    conversion_of(saved)
    assert not place.is_symlink()
    assert files_of(place) == intact
    assert (moved / "model.bin").read_bytes() == b"damaged"


def test_an_incomplete_conversion_is_made_again(saved: Path) -> None:
    place = conversion_of(saved).folder
    (place / "SHA256SUMS").unlink()
    conversion_of(saved)
    assert (place / "SHA256SUMS").is_file()


@pytest.mark.parametrize("has_cache", [True, False])
def test_a_failed_conversion_leaves_no_files(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_cache: bool
) -> None:
    def fill_the_disk(model: ModelArrays, folder: Path, storage: str) -> None:
        (folder / "model.bin").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    (tmp_path / "file").touch()
    monkeypatch.setenv("CLEARHEAD_CACHE", str(place if has_cache else tmp_path / "file"))
    monkeypatch.setattr(conversions, "convert", fill_the_disk)
    with pytest.raises(CheckpointError, match="place.* could not be written.*No space left.*No partial .*engine torch"):
        conversion_of(saved)
    assert [path for path in place.rglob("*") if path.is_file()] == []
    assert [path for path in place.rglob("*") if path.name != "ctranslate2"] == []


def test_without_a_cache_the_conversion_is_temporary(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CLEARHEAD_CACHE", str(tmp_path / "file"))
    conversion = conversion_of(saved)
    assert conversion.is_temporary
    assert (conversion.folder / "model.bin").is_file()
    shutil.rmtree(conversion.folder)


def test_a_conversion_that_another_user_made_is_not_needed(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = conversion_of(saved).folder

    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(conversions, "read_manifest", refuse)
    monkeypatch.setattr(os, "access", lambda path, mode: path != place)
    conversion = conversion_of(saved)
    assert conversion.is_temporary
    shutil.rmtree(conversion.folder)


def test_conversions_that_nobody_uses_are_deleted_after_a_month(saved: Path, cache: Path) -> None:
    old, unused = conversion_of(saved, "int8").folder, 31 * 86400
    os.utime(old / "SHA256SUMS", (time.time() - unused, time.time() - unused))
    part = cache / ".float32-0123.part"
    part.mkdir()
    os.utime(part, (time.time() - unused, time.time() - unused))
    new = conversion_of(saved, "float32").folder
    assert list(cache.iterdir()) == [new]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"shape": "decoder"}, "the model has the shape decoder"),
        ({"positions": "rotary"}, "it does not support rotary positions"),
        ({"scale_scores": False}, "it always scales attention scores"),
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
        convert(arrays_of(Transformer(config)), tmp_path, "float32")


def test_conversion_changes_no_number_of_the_model(tmp_path: Path) -> None:
    model = random_model(has_output_bias=True)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    convert(arrays_of(model), tmp_path, "int8")
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
