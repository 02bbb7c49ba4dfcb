"""The tokeniser of an OPUS-MT folder gives the ids and texts that Transformers' MarianTokenizer gives."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from clearhead.errors import CheckpointError, DataError
from clearhead.text.config import TextConfig
from clearhead.text.loading import open_vocabularies
from clearhead.text.marian import load_marian_vocabularies
from clearhead.text.tokeniser import Vocabularies
from tests.unit.text.sentences import ENGLISH, GERMAN

TEXTS = [*ENGLISH[:5], ">>deu<< the cat sees a book.", "  Die   Katze ", "ﬁve ①", "a Ü ß unknown 😀", ""]


def make_folder(folder: Path, is_separate: bool = False) -> Path:
    """Write a small OPUS-MT folder: models of SentencePiece's own defaults, one numbering for both or one each."""
    pieces: dict[str, list[str]] = {}
    for side, texts in (("source", ENGLISH), ("target", GERMAN)):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_writer=model, vocab_size=53, hard_vocab_limit=False, minloglevel=2
        )
        (folder / f"{side}.spm").write_bytes(model.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        pieces[side] = [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]
    sides = [pieces["source"], pieces["target"]] if is_separate else [[*pieces["source"], *pieces["target"]]]
    for name, held in zip(("vocab.json", "target_vocab.json"), sides, strict=False):
        order = dict.fromkeys(["</s>", "<unk>", *held, ">>deu<<", ">>nld<<", "<pad>"])
        (folder / name).write_text(json.dumps({piece: number for number, piece in enumerate(order)}))
    settings: dict[str, Any] = {"source_lang": "en", "target_lang": "de", "separate_vocabs": is_separate}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize("is_separate", [False, True])
@pytest.mark.filterwarnings("ignore:Recommended")  # sacremoses, which only changes punctuation
def test_ids_and_texts_are_those_of_transformers(tmp_path: Path, is_separate: bool) -> None:
    transformers = pytest.importorskip("transformers", reason="ids are compared with Hugging Face Transformers")
    folder = make_folder(tmp_path, is_separate)
    theirs = transformers.MarianTokenizer.from_pretrained(str(folder))
    ours = load_marian_vocabularies(folder)
    assert ours.is_joint is not is_separate
    texts = [text for text in TEXTS if not (is_separate and text.startswith(">>"))]
    expected = theirs(texts).input_ids
    assert [[*ids, ours.source.eos] for ids in ours.source.encode(texts)] == expected
    targets = theirs(text_target=GERMAN).input_ids
    assert [[*ids, ours.target.eos] for ids in ours.target.encode(GERMAN)] == targets
    assert ours.target.decode(targets) == GERMAN
    if not is_separate:  # there Transformers leaves out what has the id of the other side's padding
        assert theirs.batch_decode(targets, skip_special_tokens=True) == GERMAN
    assert (ours.source.pad, ours.source.eos, ours.source.unk) == (theirs.pad_token_id, 0, 1)
    assert ours.source.size == ours.source.pad + 1


def test_a_decoder_starts_from_the_padding(tmp_path: Path) -> None:
    vocabularies = load_marian_vocabularies(make_folder(tmp_path))
    assert vocabularies.target.bos == vocabularies.target.pad == vocabularies.target.size - 1
    assert vocabularies.source.pieces([0, 1, vocabularies.source.pad]) == ["</s>", "<unk>", "<pad>"]


def test_text_that_spells_a_special_token_is_only_text_unlike_in_transformers(tmp_path: Path) -> None:
    tokeniser = load_marian_vocabularies(make_folder(tmp_path)).source
    assert not {tokeniser.eos, tokeniser.pad} & set(tokeniser.encode(["the </s> <pad> cat"])[0])


def test_its_languages_are_the_tags_of_its_vocabulary(tmp_path: Path) -> None:
    vocabularies = load_marian_vocabularies(make_folder(tmp_path))
    assert vocabularies.languages == ("deu", "nld")
    ids = vocabularies.source.encode([">>nld<< the cat"])
    assert ids[0][0] == vocabularies.source.tag("nld")
    assert vocabularies.source.decode(ids) == ["the cat"]
    with pytest.raises(DataError, match=r"^>>dew<< is not a language of this vocabulary\. Did you mean 'deu'\?"):
        vocabularies.source.encode([">>dew<< the cat"])


def test_it_is_the_same_in_a_run_folder(tmp_path: Path) -> None:
    before = load_marian_vocabularies(make_folder(tmp_path))
    before.save(tmp_path / "run")
    after = Vocabularies.load(tmp_path / "run")
    assert after.digest == before.digest
    assert after.is_joint
    assert after.source.encode(TEXTS) == before.source.encode(TEXTS)
    assert (after.languages, after.target.bos) == (before.languages, before.target.bos)


def test_damaged_ids_in_a_run_folder_are_reported(tmp_path: Path) -> None:
    load_marian_vocabularies(make_folder(tmp_path)).save(tmp_path / "run")
    path = tmp_path / "run" / "tokeniser" / "tokeniser.json"
    path.with_name("SHA256SUMS").unlink()
    saved = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**saved, "ids": {"source": saved["ids"]["source"]}}), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"tokeniser\.json has no ids of the target\. Copy it again\.$"):
        Vocabularies.load(tmp_path / "run")
    path.write_text(json.dumps({**saved, "ids": {**saved["ids"], "source": {"<pad>": -5}}}), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"ids\.source\.<pad>: Input should be greater than or equal to 0"):
        Vocabularies.load(tmp_path / "run")


def test_sampling_can_be_turned_on_by_a_run(tmp_path: Path) -> None:
    tokeniser = open_vocabularies(make_folder(tmp_path), TextConfig(sampling=0.1), ("nld",)).source
    assert tokeniser.sample(ENGLISH, 3) == tokeniser.sample(ENGLISH, 3) != tokeniser.sample(ENGLISH, 5)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "vocab.json",
            None,
            r"has no vocab\.json\. The tokeniser of an OPUS-MT folder is source\.spm, target\.spm, vocab\.json\.$",
        ),
        ("vocab.json", "{", r"vocab\.json is not JSON: "),
        ("vocab.json", "[]", r"vocab\.json contains a list, but an object \{…\} is required\.$"),
        (
            "vocab.json",
            "{}",
            r"vocab\.json must map each piece to its id, an integer from 0 to 16,777,215, but it is empty\.$",
        ),
        ("vocab.json", '{"</s>": "0"}', r"an integer from 0 to 16,777,215, but '</s>' has '0'\.$"),
        ("vocab.json", f'{{"</s>": "{"x" * 9999}"}}', r"an integer from 0 to 16,777,215, but '</s>' has 'x{50,60}…\.$"),
        ("vocab.json", '{"</s>": 0, "a": 0}', r"vocab\.json maps two pieces to the same id\."),
        ("vocab.json", '{"</s>": 0, "<unk>": 1}', r": the vocabulary has no <pad>, which MarianMT requires\.$"),
        ("vocab.json", '{"</s>": 1000000000000000000}', r"16,777,215, but '</s>' has 1000000000000000000\.$"),
        ("vocab.json", f'{{"</s>": 1{"0" * 400}}}', r"16,777,215, but '</s>' has 1{0,60}0+…\.$"),
        ("vocab.json", '{"</s>": -1}', r"16,777,215, but '</s>' has -1\.$"),
        ("source.spm", "", r"source\.spm: this is not a SentencePiece model, or it is truncated\. Copy it again\.$"),
        ("target.spm", "", r"target\.spm: this is not a SentencePiece model, or it is truncated\. Copy it again\.$"),
        ("source.spm", "text", r": this is not a SentencePiece model, or it is truncated\."),
        ("tokenizer_config.json", '{"eos_token": "<end>"}', r"eos_token is '<end>'\. Only '</s>' is supported\.$"),
    ],
)
def test_a_damaged_folder_is_reported_with_its_file(
    tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    path = make_folder(tmp_path) / name
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(CheckpointError, match=message):
        load_marian_vocabularies(tmp_path)
