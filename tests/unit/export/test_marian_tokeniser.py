"""The tokeniser of a model as files of MarianTokenizer: the same ids, read back by clearhead too."""

import json
from pathlib import Path

import pytest

from clearhead.errors import CheckpointError
from clearhead.export.marian_tokeniser import tokenizer_writers
from clearhead.formats.model_folder import find_model, load_vocabularies
from clearhead.text.marian import load_marian_vocabularies
from clearhead.text.tokeniser import Tokeniser
from tests.small_run import TEXTS, make_run

FIRST = Path(__file__).parents[2] / "golden" / "first_release"


def test_the_written_tokeniser_gives_the_same_ids(tmp_path: Path) -> None:
    model = find_model(make_run(tmp_path / "run"))
    folder = tmp_path / "files"
    folder.mkdir()
    for name, write in tokenizer_writers(model).items():
        write(folder / name)
    own, copied = load_vocabularies(model), load_marian_vocabularies(folder)
    sentences = [text for pair in TEXTS for text in pair]
    assert copied.source.encode(sentences) == own.source.encode(sentences)
    assert copied.target.decode(own.target.encode(sentences)) == own.target.decode(own.target.encode(sentences))
    assert json.loads((folder / "tokenizer_config.json").read_text())["separate_vocabs"] is False


def test_the_files_of_an_opus_folder_are_copied() -> None:
    writers = tokenizer_writers(find_model(FIRST / "marian"))
    assert set(writers) == {"source.spm", "target.spm", "vocab.json", "tokenizer_config.json"}


def test_a_vocabulary_without_the_special_tokens_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = find_model(make_run(tmp_path / "run"))
    pieces = Tokeniser.pieces
    monkeypatch.setattr(Tokeniser, "pieces", lambda self, ids: [name.strip("<>") for name in pieces(self, ids)])
    with pytest.raises(
        CheckpointError, match="MarianTokenizer cannot represent this vocabulary: it lacks <pad>, </s>."
    ):
        tokenizer_writers(model)
