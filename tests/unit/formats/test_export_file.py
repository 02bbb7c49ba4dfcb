"""export.json, and folders of other programs: what is opened, and what is refused with which sentence."""

import json
import shutil
from pathlib import Path

import pytest

from clearhead.errors import CheckpointError
from clearhead.files.writing import write_manifest
from clearhead.formats.export_file import EXPORT, export_files, read_export
from clearhead.formats.model_folder import find_model, load_arrays, load_config, load_model

FIRST = Path(__file__).parents[2] / "golden" / "first_release"


@pytest.fixture(params=["ctranslate2", "onnx"])
def export(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIRST / request.param, tmp_path / request.param))


def change(folder: Path, **changes: object) -> None:
    """Change entries of export.json, and write the manifest again."""
    data = json.loads((folder / EXPORT).read_text())
    (folder / EXPORT).write_text(json.dumps({**data, **changes}))
    write_manifest(folder, [path.name for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS"])


def test_an_export_has_the_config_of_its_model_and_the_hash_of_its_files(export: Path) -> None:
    model, run = find_model(export), find_model(FIRST / "run")
    assert model.runtime == export.name
    assert load_config(model) == load_config(run)
    assert read_export(export).origin == run.fingerprint != model.fingerprint
    assert model.notes == ()


def test_what_is_written_is_read_back(export: Path) -> None:
    description = read_export(export)
    (export / EXPORT).write_text(json.dumps(description.model_dump()))
    assert read_export(export) == description


def test_an_export_has_no_weights_to_compute_with(export: Path) -> None:
    model = find_model(export)
    for load in (load_model, load_arrays):
        with pytest.raises(CheckpointError, match="which runs the model as a whole and does not show its parts"):
            load(model)


def test_nothing_is_used_in_place_of_safetensors(export: Path) -> None:
    for name in ("config.json", "model.safetensors", "SHA256SUMS"):
        shutil.copy(FIRST / "run" / "best" / name, export / name)
    model = find_model(export)
    assert model.runtime is None
    assert model.file_names == ("config.json", "model.safetensors")
    assert load_arrays(model).config == load_config(find_model(FIRST / "run"))


def test_a_later_format_is_refused_with_the_version_to_install(export: Path) -> None:
    change(export, clearhead_export=2, clearhead_version="9.1")
    with pytest.raises(CheckpointError, match=r"export.json is in format 2, written by clearhead 9.1.*reads format 1"):
        find_model(export)


@pytest.mark.parametrize("changes", [{"runtime": "tvm"}, {"model": {"d_model": -1}}, {"clearhead_export": "x"}])
def test_a_damaged_description_is_refused(export: Path, changes: dict[str, object]) -> None:
    change(export, **changes)
    with pytest.raises(CheckpointError, match=r"export.json is damaged, or was not written by clearhead: "):
        find_model(export)


def test_an_altered_file_is_named(export: Path) -> None:
    name = "model.bin" if export.name == "ctranslate2" else "step.onnx"
    content = bytearray((export / name).read_bytes())
    content[-7] ^= 1
    (export / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=f"{name} has changed since it was written"):
        find_model(export).verify()


def test_an_export_without_its_manifest_is_not_opened(export: Path) -> None:
    (export / "SHA256SUMS").unlink()
    with pytest.raises(CheckpointError, match="has no SHA256SUMS, so its files cannot be verified"):
        find_model(export).verify()


def test_a_missing_file_is_named(export: Path) -> None:
    name = "model.bin" if export.name == "ctranslate2" else "encoder.onnx"
    (export / name).unlink()
    with pytest.raises(CheckpointError, match=f"has no {name}, which"):
        export_files(export, find_model(export).runtime)  # type: ignore[arg-type]


def test_files_of_another_program_are_refused(export: Path) -> None:
    (export / EXPORT).unlink()
    title = "CTranslate2 model" if export.name == "ctranslate2" else "ONNX files"
    with pytest.raises(CheckpointError, match=f"{title} that clearhead did not export. It has no export.json"):
        find_model(export)
