"""A packed model: small, complete, verified, and the same model for every engine."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from clearhead.decoding.engines.engine import EngineName
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import CheckpointError
from clearhead.files.manifest import read_manifest
from clearhead.formats.model_folder import find_model, load_config
from clearhead.formats.packing import pack_model
from clearhead.text.statistics import TextStatistics
from tests.built_in import EN_ES, write_description
from tests.small_run import TEXTS, make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_run(tmp_path_factory.mktemp("run"))
    (folder / "README.md").write_text("# The card\n")
    return folder


@pytest.fixture
def about(tmp_path: Path) -> Path:
    return write_description(tmp_path / "about.json", [EN_ES])


def test_all_files_are_there_and_verified(run: Path, about: Path, tmp_path: Path) -> None:
    folder = pack_model(run, tmp_path / "packed", about)
    assert (folder / "README.md").read_text() == "# The card\n"
    assert set(read_manifest(folder) or {}) == {"README.md", "config.json", "model.json", "model.safetensors"}
    assert load_config(find_model(folder)) == load_config(find_model(run))
    stored = load_file(folder / "model.safetensors")
    assert stored["encoder.embedding.weight"].dtype == np.int8
    weights = folder / "model.safetensors", run / "best" / "model.safetensors"
    assert weights[0].stat().st_size < 0.5 * weights[1].stat().st_size
    assert Translator.load(folder, engine="numpy").notes == ()


def test_the_statistics_of_the_training_text_are_packed_too(run: Path, about: Path, tmp_path: Path) -> None:
    trained = tmp_path / "trained"
    shutil.copytree(run, trained)
    statistics = TextStatistics(several_sentences=0.5, log_probs={"1": -2.0})
    statistics.save(trained)
    folder = pack_model(trained, tmp_path / "packed", about)
    expected = statistics.model_copy(update={"source_language": "en"})  # from the description
    assert Translator.load(folder, engine="numpy").statistics == expected


def test_every_engine_translates_alike(run: Path, about: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="one of the three engines is an extra")
    folder = pack_model(run, tmp_path / "packed", about)
    names: tuple[EngineName, ...] = ("numpy", "torch", "ctranslate2")
    search = SearchSettings(beam=3, max_length=13)
    outputs = [
        [
            translation.text
            for translation in Translator.load(folder, engine=name).translate([t for t, _ in TEXTS], search)
        ]
        for name in names
    ]
    assert outputs[0] == outputs[1] == outputs[2]


def test_a_changed_file_is_refused(run: Path, about: Path, tmp_path: Path) -> None:
    folder = pack_model(run, tmp_path / "packed", about)
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-7] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(CheckpointError, match=r"model\.safetensors has changed since it was written"):
        Translator.load(folder, engine="numpy")


def test_a_missing_card_and_an_existing_folder_are_named(run: Path, about: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="exists already. Choose a new folder"):
        pack_model(run, tmp_path, about)
    bare = tmp_path / "bare"
    shutil.copytree(run, bare)
    (bare / "README.md").unlink()
    with pytest.raises(CheckpointError, match=r"README\.md does not exist\. Give the card"):
        pack_model(bare, tmp_path / "packed", about)
    assert not (tmp_path / "packed").exists()
    pack_model(bare, tmp_path / "packed", about, run / "README.md")
