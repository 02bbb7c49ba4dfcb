"""Vocabularies taken from elsewhere: a run folder, an OPUS-MT folder, a lone SentencePiece model."""

import io
from pathlib import Path

import pytest
import sentencepiece

from clearhead.errors import CheckpointError, DataError
from clearhead.text.config import TextConfig
from clearhead.text.loading import open_vocabularies
from clearhead.text.train import train_vocabularies
from tests.unit.text.sentences import ENGLISH, PAIRS


def test_a_run_folder_keeps_its_spelling_and_takes_the_new_sampling(tmp_path: Path) -> None:
    run = train_vocabularies(PAIRS, TextConfig(vocabulary=61, lower_case=True), ("hi",))
    run.save(tmp_path / "run")
    for place in (tmp_path / "run", tmp_path / "run" / "tokeniser"):
        opened = open_vocabularies(place, TextConfig(sampling=0.2, normalisation="none"), ("hi",))
        assert opened.source.config == run.source.config.model_copy(update={"sampling": 0.2})
        assert opened.source.encode(["THE CAT"]) == run.source.encode(["the cat"])
    with pytest.raises(DataError, match=r"^>>bn<< is not a language of this vocabulary\. It has >>hi<<\.$"):
        open_vocabularies(tmp_path / "run", TextConfig(), ("bn",))


def test_a_model_without_padding_gets_it_after_its_last_piece(tmp_path: Path) -> None:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(ENGLISH), model_writer=model, vocab_size=37, bos_id=-1, minloglevel=2
    )
    (tmp_path / "their.model").write_bytes(model.getvalue())
    tokeniser = open_vocabularies(tmp_path / "their.model", TextConfig()).source
    assert (tokeniser.unk, tokeniser.eos, tokeniser.pad, tokeniser.bos, tokeniser.size) == (0, 2, 37, 38, 39)
    ids = tokeniser.encode(ENGLISH[:3])
    assert tokeniser.decode([[tokeniser.bos, *row, tokeniser.eos, tokeniser.pad] for row in ids]) == ENGLISH[:3]
    assert tokeniser.pieces([37, 38, 2]) == ["<pad>", "<s>", "</s>"]


def test_a_model_without_the_tags_of_the_corpora_is_refused(tmp_path: Path) -> None:
    train_vocabularies(PAIRS, TextConfig(vocabulary=61)).source.save(tmp_path / "one.spm")
    with pytest.raises(
        CheckpointError, match=r"one\.spm: this SentencePiece model has no piece >>hi<<\. To train a vocabulary"
    ):
        open_vocabularies(tmp_path / "one.spm", TextConfig(), ("hi",))


def test_a_folder_without_a_tokeniser_and_a_missing_one_are_reported(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"contains no tokeniser\. A run folder has tokeniser/tokeniser\.json"):
        open_vocabularies(tmp_path, TextConfig())
    (tmp_path / "opus-mt-en-de").mkdir()
    with pytest.raises(CheckpointError, match=r"opus-mt-en-dr does not exist\. Did you mean 'opus-mt-en-de'\?$"):
        open_vocabularies(tmp_path / "opus-mt-en-dr", TextConfig())
