"""The files of an export: names of tokens, permissions and hashes."""

from pathlib import Path

import pytest

from clearhead.errors import CheckpointError
from clearhead.export.folders import copy_tokeniser, finish, token_names
from clearhead.files.manifest import read_manifest
from clearhead.formats.arrays import ModelArrays
from clearhead.formats.ctranslate2 import TokenNames, read_token_names
from clearhead.formats.model_folder import find_model, load_arrays, load_vocabularies

FIRST = Path(__file__).parents[2] / "golden" / "first_release"
RUN = find_model(FIRST / "run")


def test_every_token_has_a_name_of_its_own() -> None:
    arrays, vocabularies = load_arrays(RUN), load_vocabularies(RUN)
    names = token_names(vocabularies, arrays)
    assert names.source == names.target == tuple(vocabularies.source.pieces(range(arrays.config.source_vocabulary)))
    larger = arrays.config.model_copy(update={"source_vocabulary": 71, "target_vocabulary": 71})
    more = token_names(vocabularies, ModelArrays(larger, {}))
    assert len(set(more.source)) == len(more.source) == 71
    assert more.source[-1] == "<70>"


def test_names_of_tokens_are_read_back_and_must_fit_the_model(tmp_path: Path) -> None:
    config = load_arrays(RUN).config
    names = read_token_names(FIRST / "ctranslate2", config)
    assert names == token_names(load_vocabularies(RUN), load_arrays(RUN))
    assert len(TokenNames.numbers(config).target) == config.target_size
    larger = config.model_copy(update={"source_vocabulary": 71})
    with pytest.raises(CheckpointError, match="names of tokens, but the model has 71"):
        read_token_names(FIRST / "ctranslate2", larger)
    (tmp_path / "shared_vocabulary.json").write_text('{"a": 1}')
    with pytest.raises(CheckpointError, match="is not a list of tokens"):
        read_token_names(tmp_path, config)


def test_a_finished_folder_lists_all_its_files_which_others_can_read(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    copy_tokeniser(RUN, folder)
    (folder / "weights").write_bytes(b"7")
    (folder / "weights").chmod(0o600)
    finish(folder)
    assert set(read_manifest(folder) or ()) == {"weights"}
    assert (folder / "weights").stat().st_mode & 0o777 == 0o644
    assert (folder / "tokeniser" / "SHA256SUMS").is_file()
