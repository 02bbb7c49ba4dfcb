"""The files of a model that no output may overwrite."""

from pathlib import Path

from clearhead.formats.model_files import model_files, run_files
from clearhead.formats.model_folder import ModelFolder


def test_a_model_has_a_config_weights_a_tokeniser_and_the_records_of_its_run(tmp_path: Path) -> None:
    model_names = ("best/config.json", "best/model.safetensors", "tokeniser/source.model", "tokeniser/tokeniser.json")
    names = (*model_names, "config.yaml", "environment.json", "data.json", "metrics.jsonl", "outcome.json")
    for name in (*names, "best/notes.txt", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    model = ModelFolder(tmp_path / "best", tmp_path, is_marian=False)
    assert {path.relative_to(tmp_path).as_posix() for path in model_files(model)} == set(names)


def test_an_opus_mt_folder_has_its_tokeniser_beside_its_weights(tmp_path: Path) -> None:
    for name in ("config.json", "source.spm", "target.spm", "vocab.json", "model.safetensors"):
        (tmp_path / name).write_bytes(b"")
    assert len(model_files(ModelFolder(tmp_path, tmp_path, is_marian=True))) == 5


def test_all_files_of_training_belong_to_a_run_and_pages_and_pictures_of_it_do_not(tmp_path: Path) -> None:
    top = ("config.yaml", "README.md", "plan.yaml", "SHA256SUMS")
    inner = ("last/model.safetensors", "checkpoints/step-5/state.safetensors", "data/train.bin")
    names = (*top, *inner, "curves/events", "text/train.en", "tokeniser/joint.spm")
    for name in (*names, "heads.html", "curves.svg", "explanation.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert {path.relative_to(tmp_path).as_posix() for path in run_files(tmp_path)} == set(names)
