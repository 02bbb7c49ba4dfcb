"""Models that are opened to be explained."""

from pathlib import Path

import pytest

from clearhead.decoding.translator import Translator
from clearhead.errors import CheckpointError, ConfigError
from clearhead.explain import LoadedModel, explain, open_model
from clearhead.explain.opening import double_copy, explained_model, model_name
from clearhead.explain.token_row import TokenRow
from clearhead.formats import save_checkpoint
from clearhead.model import Transformer
from clearhead.text.config import TextConfig
from clearhead.text.train import train_vocabularies
from tests.small_run import make_run
from tests.unit.explain.models import single_stack


def test_a_run_and_its_checkpoint_open_as_a_translator(tmp_path: Path) -> None:
    run = make_run(tmp_path / "my-run")
    for path in (run, run / "best"):
        translator = open_model(path)
        assert isinstance(translator, Translator)
        assert model_name(translator) == "my-run"
        assert explain(translator, "the cat").model.name == "my-run"


@pytest.mark.parametrize("shape", ["decoder", "encoder"])
def test_other_shapes_open_too(tmp_path: Path, shape: str) -> None:
    loaded = single_stack(shape)
    loaded.vocabularies.save(tmp_path / "lm")
    assert isinstance(loaded.model, Transformer)
    save_checkpoint(loaded.model, tmp_path / "lm" / "best")
    opened = open_model(tmp_path / "lm")
    assert isinstance(opened, LoadedModel)
    assert opened.name == "lm"
    outputs = [output.probability for output in explain(opened, "the cat").outputs]
    assert outputs == pytest.approx([output.probability for output in explain(loaded, "the cat").outputs], rel=1e-5)


def test_an_exported_model_says_what_to_open_instead(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"")
    with pytest.raises(ConfigError, match="exported to CTranslate2, whose steps are fused away. Open the run or"):
        open_model(tmp_path)
    with pytest.raises(CheckpointError, match="does not exist"):
        open_model(tmp_path / "nothing")


def test_the_copy_is_in_float64_and_the_model_is_unchanged() -> None:
    loaded = single_stack("decoder")
    facts = explained_model(loaded)
    assert str(double_copy(loaded.model).dtype) == "torch.float64"
    assert facts.precision == str(loaded.model.dtype).removeprefix("torch.") == "float32"
    assert facts.name == "random"


def test_a_row_knows_the_word_of_each_token() -> None:
    tokeniser = single_stack("decoder").vocabularies.target
    ids = tokeniser.encode(["the red cat"])[0]
    row = TokenRow.of(tokeniser, [*ids, tokeniser.eos], "the red cat")
    assert row.words == ("the", "red", "cat")
    assert row.word_of[-1] is None
    assert row.without(1) == "the cat"
    assert row.by_word.sum(axis=1).tolist() == [1.0] * len(ids) + [0.0]


@pytest.mark.parametrize("kind", ["unigram", "char"])
def test_without_spaces_between_words_each_piece_counts_as_one(kind: str) -> None:
    texts = [("我喜欢猫。", "私は猫が好き。"), ("他喜欢狗。", "彼は犬が好き。"), ("cat 猫", "dog 犬")] * 3
    tokeniser = train_vocabularies(texts, TextConfig.model_validate({"kind": kind, "vocabulary": 300})).source
    text = "我喜欢 cat 狗鱼。"  # 鱼 is spelled in bytes, or unknown
    ids = tokeniser.encode([text])[0]
    row = TokenRow.of(tokeniser, [*ids, tokeniser.eos], text)
    assert "cat" in row.words
    assert "我" in row.words[0]
    assert len(row.words) >= 4
    assert None not in row.word_of[:-1]
    assert row.by_word.sum(axis=0).min() >= 1, "every word has a token"
    assert row.without(row.words.index("cat")).replace(" ", "") == "".join(row.words).replace("cat", "")
    assert row.without(len(row.words) - 1).startswith("我喜欢 cat"), "no spaces are added between the pieces"
