"""Imports: models of other programs become model folders, and what cannot be read is named."""

import errno
import json
from pathlib import Path

import numpy as np
import pytest

from clearhead import Translator
from clearhead.errors import CheckpointError
from clearhead.export import importing
from clearhead.export.importing import import_model
from clearhead.formats.model_folder import find_model, load_arrays

FIRST = Path(__file__).parents[2] / "golden" / "first_release"
SENTENCES = ["the cat sees a dog.", "the dog sleeps."]


@pytest.mark.parametrize(
    ("source", "kind"),
    [("marian", "MarianMT"), ("run", "a clearhead model")],
)
def test_a_model_is_imported_with_its_weights_and_its_tokeniser(source: str, kind: str, tmp_path: Path) -> None:
    result = import_model(FIRST / source, tmp_path / "model")
    expected, arrays = load_arrays(find_model(FIRST / "run")).arrays, load_arrays(find_model(tmp_path / "model")).arrays
    assert result.kind == kind
    assert result.parameters == sum(array.size for array in arrays.values())
    for name, array in expected.items():
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)
    texts = [line.text for line in Translator.load(tmp_path / "model", engine="numpy").translate(SENTENCES)]
    assert texts == ["die Katze sieht einen Hund.", "der Hund schläft."]
    assert find_model(tmp_path / "model").notes == (), "its files are verified"


def test_an_imported_run_can_be_exported_and_imported_again(tmp_path: Path) -> None:
    import_model(FIRST / "run", tmp_path / "first")
    import_model(tmp_path / "first", tmp_path / "second")
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("first", "second")]
    assert files[0] == files[1] == (FIRST / "run" / "best" / "model.safetensors").read_bytes()


def test_what_cannot_be_imported_is_named(tmp_path: Path) -> None:
    for name in ("ctranslate2", "onnx"):
        with pytest.raises(CheckpointError, match="whose weights are in the layout of that program and are not read"):
            import_model(FIRST / name, tmp_path / "model")
    with pytest.raises(
        CheckpointError, match=r"onxx does not exist. Did you mean 'onnx'\?.* Give the folder of a model"
    ):
        import_model(FIRST / "onxx", tmp_path / "model")
    with pytest.raises(
        CheckpointError, match=r"trace.json is a file. Give the folder of a model: MarianMT folders with"
    ):
        import_model(FIRST / "trace.json", tmp_path / "model")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CheckpointError, match="contains no model.* clearhead imports MarianMT folders"):
        import_model(empty, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    folder = tmp_path / "marian"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "marian"}))
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n")
    with pytest.raises(
        CheckpointError, match=r"is a pickle, which can run any code when it is opened, so it is not read"
    ):
        import_model(folder, tmp_path / "model")


def test_a_disk_that_fills_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(importing, "finish", fail)
    with pytest.raises(CheckpointError, match="could not be written: No space left on device. No partial files remain"):
        import_model(FIRST / "run", tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CheckpointError, match="exists already"):
        import_model(FIRST / "run", tmp_path)
