"""Tokenisers: ids that decode to the same text, special tokens that no text can spell, and tokenisations determined by a seed."""

import json
import subprocess
import sys
import threading
from collections import Counter
from math import exp
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from clearhead.errors import CheckpointError, DataError
from clearhead.text.config import TextConfig
from clearhead.text.special import BOS, EOS, PAD, UNK
from clearhead.text.tokeniser import Tokeniser, Vocabularies, split_tag
from clearhead.text.train import train_vocabularies
from tests.unit.text.sentences import ENGLISH, GERMAN, PAIRS

HARD = [
    "smile 😀 and 👩\u200d🔬",
    "नमस्ते दुनिया, क्\u200dष",
    "আমি বাংলায় গান গাই",
    "שלום עולם, \u200fمرحبا بالعالم",
    "中文 and 日本語",
    "</s> <pad> <s> <unk> <0x41>",
    "",
]


@pytest.fixture(scope="module")
def bytewise() -> Tokeniser:
    return train_vocabularies(PAIRS, TextConfig(vocabulary=313, byte_fallback=True, sampling=0.1)).source


@pytest.fixture(scope="module")
def tagged() -> Vocabularies:
    return train_vocabularies(PAIRS, TextConfig(vocabulary=151), ("hi", "ben_Beng"))


def test_the_first_four_ids_are_the_special_tokens(bytewise: Tokeniser) -> None:
    assert bytewise.size == 313
    assert (bytewise.pad, bytewise.bos, bytewise.eos, bytewise.unk) == (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert bytewise.pieces(range(4)) == ["<pad>", "<s>", "</s>", "<unk>"]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_any_text_can_be_decoded_with_byte_fallback(kind: str) -> None:
    config = TextConfig.model_validate({"kind": kind, "vocabulary": 397, "byte_fallback": True})
    tokeniser = train_vocabularies(PAIRS, config).source
    texts = [*HARD, *ENGLISH[:7], "  a   b "]
    assert tokeniser.decode(tokeniser.encode(texts)) == [tokeniser.normalised(text) for text in texts]


@given(st.lists(st.text(), max_size=5), st.integers(0, 2**64))
def test_any_text_can_be_decoded_sampled_or_not(bytewise: Tokeniser, texts: list[str], seed: int) -> None:
    expected = [bytewise.normalised(text) for text in texts]
    assert bytewise.decode(bytewise.encode(texts)) == expected
    assert bytewise.decode(bytewise.sample(texts, seed)) == expected


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_unseen_characters_are_unknown_without_byte_fallback(kind: str) -> None:
    config = TextConfig.model_validate({"kind": kind, "vocabulary": 151})
    tokeniser = train_vocabularies(PAIRS, config).source
    ids = tokeniser.encode(HARD)
    assert tokeniser.unk in ids[0]
    assert ids[-1] == []


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_unknown_pieces_are_never_shown_in_a_text(kind: str) -> None:
    tokeniser = train_vocabularies(PAIRS, TextConfig.model_validate({"kind": kind, "vocabulary": 151})).source
    the_cat = tokeniser.encode(["the cat"])[0]
    assert tokeniser.decode([[tokeniser.unk, *the_cat, tokeniser.unk]]) == ["the cat"]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_digits_signs_accents_and_emoji_survive_by_default_although_the_training_text_has_none(kind: str) -> None:
    config = TextConfig.model_validate({"kind": kind})
    tokeniser = train_vocabularies(PAIRS, config).source
    texts = ["I have 37 cats (99 % grey) [x] {y}: $4.50, 3/4!", "Ángel, ¿qué año? Übermut & naïve", "sushi 🍣 👩‍🔬"]
    ids = tokeniser.encode(texts)
    assert not any(tokeniser.unk in row for row in ids)
    assert tokeniser.decode(ids) == texts
    assert tokeniser.config.byte_fallback is True


def test_bytes_that_are_no_character_are_omitted(bytewise: Tokeniser) -> None:
    euro = [bytewise.byte_ids[byte] for byte in "€".encode()]
    the_cat = bytewise.encode(["the cat"])[0]
    rows = [[*the_cat, *euro], [*the_cat, *euro[:2]], [euro[1], *the_cat, euro[0], *euro], [*euro[1:]]]
    assert bytewise.decode(rows) == ["the cat€", "the cat", "the cat€", ""]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_text_that_spells_a_special_token_is_only_text(kind: str) -> None:
    markup = [(f"{one}</s>{one} <s><pad>", f"<pad>{two} <s> </s>") for one, two in PAIRS]
    config = TextConfig.model_validate({"kind": kind, "vocabulary": 173})
    tokeniser = train_vocabularies(markup, config).source
    for row in tokeniser.encode([side for pair in markup for side in pair]):
        assert not {tokeniser.pad, tokeniser.bos, tokeniser.eos} & set(row)


def test_special_tokens_are_omitted_from_the_text_but_shown_as_pieces(bytewise: Tokeniser) -> None:
    ids = bytewise.encode(["the cat"])[0]
    framed = [bytewise.bos, *ids, bytewise.eos, bytewise.pad, bytewise.pad]
    assert bytewise.decode([framed, []]) == ["the cat", ""]
    assert bytewise.pieces(framed)[0] == "<s>"
    assert bytewise.pieces(framed)[-3:] == ["</s>", "<pad>", "<pad>"]


@pytest.mark.parametrize("wrong", [-1, 313])
def test_an_id_outside_the_vocabulary_is_named(bytewise: Tokeniser, wrong: int) -> None:
    message = rf"^id {wrong} is not in the vocabulary\. Ids go from 0 to 312\.$"
    with pytest.raises(DataError, match=message):
        bytewise.decode([[5, wrong]])
    with pytest.raises(DataError, match=message):
        bytewise.pieces([wrong])


def test_one_text_instead_of_a_list_is_refused(bytewise: Tokeniser) -> None:
    with pytest.raises(DataError, match=r"^a list of sentences is required, not a single text: 'the cat'\.$"):
        bytewise.encode("the cat")


def test_the_same_seed_gives_the_same_tokenisation_after_other_samples(bytewise: Tokeniser) -> None:
    texts = ENGLISH * 7  # several parts
    first = bytewise.sample(texts, seed=3)
    for seed in (4, 3, 2**31 - 1, 2**40):
        bytewise.sample(texts[: 11 + seed % 5], seed)
    assert bytewise.sample(texts, seed=3) == first
    assert bytewise.sample(texts, seed=4) != first
    assert bytewise.decode(first) == texts


def test_the_same_seed_gives_the_same_cuts_in_other_threads_at_the_same_time(bytewise: Tokeniser) -> None:
    expected = {seed: bytewise.sample(ENGLISH, seed) for seed in range(5)}
    samples: dict[int, list[list[int]]] = {}
    threads = [
        threading.Thread(target=lambda seed=seed: samples.update({seed: bytewise.sample(ENGLISH, seed)}))
        for seed in expected
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert samples == expected


def test_bpe_drops_merges_at_random_and_words_are_never_sampled() -> None:
    bpe = train_vocabularies(PAIRS, TextConfig(kind="bpe", vocabulary=151, sampling=0.3)).source
    assert bpe.sample(ENGLISH, 1) == bpe.sample(ENGLISH, 1) != bpe.encode(ENGLISH)
    words = train_vocabularies(PAIRS, TextConfig(kind="word", sampling=0.3)).source
    assert words.sample(ENGLISH, 1) == words.encode(ENGLISH)
    assert bpe.sample([], 1) == []


def test_without_sampling_a_sample_is_the_best_cut(tagged: Vocabularies) -> None:
    assert tagged.source.sample(ENGLISH, 5) == tagged.source.encode(ENGLISH)


def test_a_language_tag_is_one_id_in_front_of_the_same_ids(tagged: Vocabularies) -> None:
    plain, with_tag = tagged.source.encode(["the cat", ">>ben_Beng<< the cat"])
    assert with_tag == [tagged.source.tags["ben_Beng"], *plain]
    assert tagged.source.pieces(with_tag)[0] == ">>ben_Beng<<"
    assert tagged.source.decode([with_tag]) == ["the cat"]
    assert tagged.languages == ("hi", "ben_Beng")


def test_a_tag_that_is_not_in_front_is_only_text(tagged: Vocabularies) -> None:
    assert not set(tagged.source.tags.values()) & set(tagged.source.encode(["see >>hi<< there"])[0])


def test_a_tag_in_front_is_only_text_where_there_are_no_languages(bytewise: Tokeniser) -> None:
    assert bytewise.decode(bytewise.encode([">>hi<< the cat"])) == [">>hi<< the cat"]


def test_an_unknown_language_gets_a_close_match(tagged: Vocabularies) -> None:
    message = (
        r"^>>ben_Bing<< is not a language of this vocabulary\. Did you mean 'ben_Beng'\? It has >>hi<<, >>ben_Beng<<\.$"
    )
    with pytest.raises(DataError, match=message):
        tagged.source.encode([">>ben_Bing<< the cat"])


def test_a_tag_is_split_from_its_sentence() -> None:
    assert split_tag(">>hi<< the cat") == ("hi", " the cat")
    assert split_tag(">> not a tag <<") == (None, ">> not a tag <<")
    assert split_tag("a >>hi<<") == (None, "a >>hi<<")


def test_lower_case_leaves_tags_as_they_are() -> None:
    tokeniser = train_vocabularies(PAIRS, TextConfig(vocabulary=151, lower_case=True), ("zh_Hant",)).source
    assert tokeniser.encode([">>zh_Hant<< THE CAT"]) == tokeniser.encode([">>zh_Hant<<the cat"])


@pytest.mark.parametrize("is_joint", [True, False])
def test_vocabularies_are_the_same_after_saving(tmp_path: Path, is_joint: bool) -> None:
    config = TextConfig(vocabulary=151, is_joint=is_joint, normalisation="nfkc", lower_case=True)
    before = train_vocabularies(PAIRS, config, ("hi",))
    before.save(tmp_path)
    after = Vocabularies.load(tmp_path)
    assert (after.digest, after.is_joint, after.languages) == (before.digest, is_joint, ("hi",))
    assert after.source.config == config.model_copy(update={"byte_fallback": False})  # too small for bytes
    assert after.source.encode([">>hi<< ﬁve CATS"]) == before.source.encode([">>hi<< ﬁve CATS"])
    assert after.target.encode(GERMAN) == before.target.encode(GERMAN)
    names = {"joint.spm"} if is_joint else {"source.spm", "target.spm"}
    assert {path.name for path in (tmp_path / "tokeniser").iterdir()} == {*names, "tokeniser.json", "SHA256SUMS"}


def test_a_vocabulary_of_an_earlier_version_never_spells_training_text_as_bytes(tmp_path: Path) -> None:
    train_vocabularies(PAIRS, TextConfig(vocabulary=331, byte_fallback=True)).save(tmp_path)
    assert Vocabularies.load(tmp_path).source.config.byte_share == 0.05
    settings = tmp_path / "tokeniser" / "tokeniser.json"
    saved = json.loads(settings.read_bytes())
    del saved["text"]["byte_share"]
    settings.write_text(json.dumps(saved))
    (tmp_path / "tokeniser" / "SHA256SUMS").unlink()
    assert Vocabularies.load(tmp_path).source.config.byte_share == 0


def test_saving_again_replaces_and_a_failure_leaves_nothing_behind(tmp_path: Path, bytewise: Tokeniser) -> None:
    for size in (61, 53):
        train_vocabularies(PAIRS, TextConfig(vocabulary=size)).save(tmp_path)
    assert Vocabularies.load(tmp_path).source.size == 53
    assert [path.name for path in tmp_path.iterdir()] == ["tokeniser"]
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"file/tokeniser could not be written: .*\. Choose a writable folder"):
        Vocabularies(bytewise, bytewise).save(tmp_path / "file")
    assert {path.name for path in tmp_path.iterdir()} == {"tokeniser", "file"}


def test_another_model_beside_the_settings_is_refused(tmp_path: Path, bytewise: Tokeniser) -> None:
    train_vocabularies(PAIRS, TextConfig(vocabulary=151)).save(tmp_path)
    bytewise.save(tmp_path / "tokeniser" / "joint.spm")
    with pytest.raises(CheckpointError, match=r"joint\.spm has changed since it was written"):
        Vocabularies.load(tmp_path)
    (tmp_path / "tokeniser" / "SHA256SUMS").unlink()
    with pytest.raises(CheckpointError, match=r"joint\.spm is not the file that tokeniser\.json was written with"):
        Vocabularies.load(tmp_path)


def test_a_model_with_pieces_that_are_not_utf8_is_refused() -> None:
    model = train_vocabularies(PAIRS, TextConfig(vocabulary=151)).source.model
    mark = "\u2581".encode()
    place = model.index(mark, model.index(mark) + 1)
    with pytest.raises(CheckpointError, match=r"has pieces that are not UTF-8\. Copy it again\."):
        Tokeniser(model[: place + 1] + b"\xff" + model[place + 2 :], TextConfig())


def test_sentencepiece_does_not_read_a_model_with_another_hash(tmp_path: Path) -> None:
    train_vocabularies(PAIRS, TextConfig(vocabulary=151)).save(tmp_path)
    (tmp_path / "tokeniser" / "SHA256SUMS").unlink()
    (tmp_path / "tokeniser" / "joint.spm").write_bytes(b"not a model")
    with pytest.raises(CheckpointError, match=r"joint\.spm is not the file that tokeniser\.json was written with"):
        Vocabularies.load(tmp_path)


def test_damaged_settings_are_reported_with_their_file(tmp_path: Path) -> None:
    train_vocabularies(PAIRS, TextConfig(vocabulary=151)).save(tmp_path)
    path = tmp_path / "tokeniser" / "tokeniser.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "format": 7}))
    with pytest.raises(
        CheckpointError, match=r"tokeniser\.json is damaged, or was written by another version of clearhead: format: "
    ):
        Vocabularies.load(tmp_path)
    path.write_text(json.dumps({**settings, "\x1b[31m": 7}))
    with pytest.raises(CheckpointError, match=r"version of clearhead: \\x1b\[31m: Extra inputs are not permitted\.$"):
        Vocabularies.load(tmp_path)
    path.write_text("{")
    with pytest.raises(CheckpointError, match=r"tokeniser\.json is damaged"):
        Vocabularies.load(tmp_path)
    path.unlink()
    with pytest.raises(CheckpointError, match=r"tokeniser\.json does not exist\.$"):
        Vocabularies.load(tmp_path)


def test_a_file_that_is_not_a_model_is_reported_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "other.spm").write_bytes(b"not a model")
    with pytest.raises(CheckpointError, match=r"other\.spm: this is not a SentencePiece model, or it is truncated"):
        Tokeniser.load(tmp_path / "other.spm")


def test_the_digest_is_that_of_the_models_bytes(bytewise: Tokeniser, tmp_path: Path) -> None:
    bytewise.save(tmp_path / "one.spm")
    assert Tokeniser.load(tmp_path / "one.spm").digest == bytewise.digest
    assert len(bytewise.digest) == 64


def test_an_unknown_label_gets_a_close_match() -> None:
    vocabularies = train_vocabularies(
        [("good", "positive"), ("bad", "negative")], TextConfig(kind="char"), task="classify"
    )
    assert vocabularies.labels == ("negative", "positive")
    assert vocabularies.label("positive") == 1
    with pytest.raises(
        DataError,
        match=r"^'positiv' is not a label of this model\. Did you mean 'positive'\? Labels: negative, positive\.$",
    ):
        vocabularies.label("positiv")


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_seed_gives_the_same_cuts_in_another_process(kind: str, tmp_path: Path) -> None:
    own = train_vocabularies(
        PAIRS, TextConfig.model_validate({"kind": kind, "vocabulary": 151, "sampling": 0.3})
    ).source
    own.save(tmp_path / "own.spm")
    code = (
        "from clearhead.text.config import TextConfig; from clearhead.text.tokeniser import Tokeniser; import sys;"
        f"own = Tokeniser.load(sys.argv[1], TextConfig(kind='{kind}', sampling=0.3));"
        "print(own.sample(sys.argv[2:], 7))"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "own.spm"), *ENGLISH], capture_output=True, check=True
        )
        for _ in range(2)
    ]
    assert outputs[0].stdout == outputs[1].stdout
    assert outputs[0].stdout.decode().strip() == str(own.sample(ENGLISH, 7))


def test_unigram_draws_cuts_by_their_probability() -> None:
    """P(cut)^α, summed by hand over every cut of a word that has few."""
    own = train_vocabularies(PAIRS, TextConfig(vocabulary=151, sampling=0.5)).source
    word = "the"
    processor = sentencepiece.SentencePieceProcessor(model_proto=own.model)
    cuts = processor.nbest_encode(word, nbest_size=32, out_type=int)
    weights = [exp(0.5 * sum(processor.get_score(piece) for piece in cut)) for cut in cuts]
    drawn = Counter(map(tuple, own.sample([word] * 4000, 3)))
    assert len(cuts) > 1
    for cut, weight in zip(cuts, weights, strict=True):
        assert drawn[tuple(cut)] / 4000 == pytest.approx(weight / sum(weights), abs=0.03)
