"""COMET is requested by name, and missing requirements are reported before any work is done."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from clearhead.errors import ConfigError, DataError
from clearhead.evaluation.comet import check_comet, comet


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    path = tmp_path / "small-da" / "checkpoints" / "model.ckpt"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"weights")
    return path


class Predictor:
    """A metric that likes outputs as long as their reference."""

    def predict(self, rows: list[dict[str, str]], **options: object) -> SimpleNamespace:
        assert options == {"batch_size": 16, "gpus": 0, "progress_bar": False}
        likes = [len(row["mt"]) == len(row["ref"]) and bool(row["src"]) for row in rows]
        return SimpleNamespace(system_score=sum(likes) / len(likes))


def pretend(monkeypatch: pytest.MonkeyPatch, is_readable: bool = True) -> None:
    def load(path: str, *, local_files_only: bool = False) -> Predictor:
        assert local_files_only, "the encoder would be downloaded"
        if not is_readable:
            raise KeyError("state_dict")
        return Predictor()

    package = ModuleType("comet")
    package.load_from_checkpoint = load  # type: ignore[attr-defined]
    package.__version__ = "2.2.7"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "comet", package)


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch, checkpoint: Path) -> None:
    monkeypatch.setitem(sys.modules, "comet", None)
    with pytest.raises(ConfigError) as missing:
        check_comet(str(checkpoint), ["a"])
    assert str(missing.value) == (
        "COMET needs the package unbabel-comet, which is not installed. "
        "Run pip install '.[comet]' in a clone of clearhead."
    )


def test_a_missing_model_or_source_is_reported(
    monkeypatch: pytest.MonkeyPatch, checkpoint: Path, tmp_path: Path
) -> None:
    pretend(monkeypatch)
    with pytest.raises(ConfigError) as no_model:
        check_comet(None, ["a"])
    assert str(no_model.value) == (
        "COMET needs a model on disk. clearhead does not download one; use the package's comet-download-model. "
        "Give its checkpoint, model.ckpt."
    )
    assert no_model.value.options == ("comet_model",)
    with pytest.raises(ConfigError, match=r"the COMET model .*gone.ckpt does not exist"):
        check_comet(str(tmp_path / "gone.ckpt"), ["a"])
    with pytest.raises(DataError, match=r"^COMET also needs the source text\.$"):
        check_comet(str(checkpoint), None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="contains 0 checkpoints"):
        check_comet(str(tmp_path / "empty"), ["a"])


def test_a_score_has_the_name_of_its_model(monkeypatch: pytest.MonkeyPatch, checkpoint: Path) -> None:
    pretend(monkeypatch)
    path = check_comet(str(checkpoint.parents[1]), ["s"] * 4)
    assert path == checkpoint
    score = comet(path, ["ab", "c", "d", "e"], ["xy", "z", "long", "q"], ["s", "s", "s", "s"])
    assert score.value == 75.0
    assert score.signature == "nrefs:1|model:small-da|scale:100|version:2.2.7"


def test_a_file_that_is_not_a_checkpoint_is_reported(monkeypatch: pytest.MonkeyPatch, checkpoint: Path) -> None:
    pretend(monkeypatch, is_readable=False)
    with pytest.raises(ConfigError, match=r"COMET cannot open .*model.ckpt: 'state_dict'"):
        comet(checkpoint, ["a"], ["a"], ["a"])
