"""Vocabularies learned from text: the same every time, no larger than the text allows, silent."""

import pytest

from clearhead.errors import ConfigError, DataError
from clearhead.text.config import TextConfig
from clearhead.text.train import find_labels, train_vocabularies
from tests.unit.text.sentences import ENGLISH, GERMAN, PAIRS


def test_learning_twice_gives_the_same_bytes_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    first, second = (train_vocabularies(iter(PAIRS), TextConfig(vocabulary=61), ("hi",)) for _ in range(2))
    assert first.digest == second.digest
    assert capfd.readouterr() == ("", "")
    assert first.source.size == 61
    assert not any("yields only" in note for note in first.notes)


def test_a_sample_is_drawn_by_the_seed_from_all_of_the_text() -> None:
    config = TextConfig(kind="word", max_sentences=14, coverage=1.0)
    digests = {seed: train_vocabularies(PAIRS, config, seed=seed).digest for seed in (1, 2)}
    assert digests[1] == train_vocabularies(iter(PAIRS), config, seed=1).digest
    assert digests[1] != digests[2]
    last = [("zebra", "Zebra")]
    trained = [train_vocabularies([*PAIRS[:10], *last], config, seed=seed) for seed in range(10)]
    has_last = [3 not in vocabularies.source.encode(["zebra"])[0] for vocabularies in trained]
    assert True in has_last
    assert False in has_last


def test_each_sentence_has_a_chance_to_be_drawn_the_first_and_the_last() -> None:
    config = TextConfig(kind="word", max_sentences=1)
    tokenisers = [train_vocabularies([("a", "a"), ("b", "b")], config, seed=seed).source for seed in range(20)]
    assert {tokeniser.pieces([4])[0] for tokeniser in tokenisers} == {"▁a", "▁b"}
    assert {tokeniser.size for tokeniser in tokenisers} == {5}


def test_a_vocabulary_larger_than_the_text_is_reduced_with_a_note() -> None:
    vocabularies = train_vocabularies(PAIRS, TextConfig(kind="word", vocabulary=5000))
    words = {word for text in [*ENGLISH, *GERMAN] for word in text.split()}
    assert vocabularies.source.size == len(words) + 4
    size = vocabularies.source.size
    assert vocabularies.notes == (
        f"text.vocabulary = 5000, but the text yields only {size} pieces, so the vocabulary has {size}.",
    )


def test_each_of_two_vocabularies_reports_that_it_is_reduced() -> None:
    vocabularies = train_vocabularies(PAIRS, TextConfig(kind="word", vocabulary=5000, is_joint=False))
    assert not vocabularies.is_joint
    assert ["of the source" in note for note in vocabularies.notes] == [True, False]
    assert vocabularies.target.encode(["cat"]) == [[3]]
    assert vocabularies.source.encode(["Katze"]) == [[3]]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_the_error_for_a_small_vocabulary_has_the_smallest_valid_size(kind: str) -> None:
    def train(size: int) -> int:
        config = TextConfig.model_validate({"kind": kind, "vocabulary": size, "coverage": 1.0})
        return train_vocabularies(PAIRS, config, ("hi",)).source.size

    least = len({letter for text in [*ENGLISH, *GERMAN] for letter in text}) + 4 + 1
    with pytest.raises(ConfigError, match=rf"^text\.vocabulary = 7 is too small: the characters alone need {least}\. "):
        train(7)
    assert train(least) == least


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_script_of_many_characters_takes_half_of_the_vocabulary_and_bytes_spell_the_rest(kind: str) -> None:
    characters = [chr(0x4E00 + number) for number in range(900)]
    texts = ["".join(characters[start % 900 : start % 900 + 9]) for start in range(0, 7000, 7)]
    pairs = [(text, characters[0] + "a" * (number % 97 + 1)) for number, text in enumerate(texts)]
    config = TextConfig.model_validate({"kind": kind, "vocabulary": 1030})
    tokeniser = train_vocabularies(pairs, config).source
    assert tokeniser.size <= 1030
    num_kept = sum(map(tokeniser.has_piece, characters))
    assert num_kept == (1030 - 4 - 256) // 2 - 1  # and a
    assert tokeniser.has_piece(characters[0])
    assert tokeniser.decode(tokeniser.encode(texts)) == texts


def test_a_small_vocabulary_has_no_bytes_by_default_and_says_so() -> None:
    vocabularies = train_vocabularies(PAIRS, TextConfig(vocabulary=151))
    assert not vocabularies.source.has_bytes
    assert vocabularies.notes[0].startswith("text.vocabulary = 151 is too small for byte pieces by default, so ")
    assert "byte" not in " ".join(train_vocabularies(PAIRS, TextConfig(vocabulary=151, byte_fallback=False)).notes)
    assert "byte" not in " ".join(train_vocabularies(PAIRS, TextConfig(kind="char", vocabulary=151)).notes)


def test_rare_characters_are_dropped_up_to_the_coverage() -> None:
    pairs = [("abcd " * 50, "e")]
    kept = train_vocabularies(pairs, TextConfig(vocabulary=15, coverage=0.99)).source
    assert [kept.has_piece(character) for character in "abcde"] == [True, True, True, True, False]
    assert all(map(train_vocabularies(pairs, TextConfig(vocabulary=15)).source.has_piece, "abcde"))


@pytest.mark.parametrize("kind", ["word", "char"])
def test_bytes_also_take_ids_in_a_vocabulary_of_words_or_characters(kind: str) -> None:
    config = TextConfig.model_validate({"kind": kind, "vocabulary": 100, "byte_fallback": True})
    with pytest.raises(ConfigError, match=r"^text\.vocabulary = 100 is too small: .* need 261\."):
        train_vocabularies(PAIRS, config)


def test_the_side_that_needs_more_is_named() -> None:
    pairs = [(source, "ÄÖÜß中文字日本語한국어의다른글자") for source in ENGLISH]
    room = len({letter for text in ENGLISH for letter in text}) + 4
    config = TextConfig(vocabulary=room, is_joint=False, coverage=1.0)
    with pytest.raises(ConfigError, match="the characters of the source alone need"):
        train_vocabularies([(target, source) for source, target in pairs], config.model_copy(update={"vocabulary": 11}))
    many = [(source, target + "가나다라마바사아자차카타파하") for source, target in pairs]
    with pytest.raises(ConfigError, match="the characters of the target alone need"):
        train_vocabularies(many, config)


@pytest.mark.parametrize("pairs", [[], [(" ", "\t"), ("", "\x07")]])
def test_no_text_at_all_is_refused(pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(DataError, match=r"^There is no text to train a vocabulary on: "):
        train_vocabularies(pairs, TextConfig())


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_one_short_sentence_is_enough_to_learn_from(kind: str) -> None:
    tokeniser = train_vocabularies([("a", "b")], TextConfig.model_validate({"kind": kind})).source
    assert tokeniser.decode(tokeniser.encode(["a", "b"])) == ["a", "b"]


def test_the_tag_in_front_is_no_text_to_learn() -> None:
    pairs = [(f">>hi<< {source}", target) for source, target in PAIRS]
    assert (
        train_vocabularies(pairs, TextConfig(), ("hi",)).digest
        == train_vocabularies(PAIRS, TextConfig(), ("hi",)).digest
    )


def test_a_classifier_learns_pieces_of_its_texts_and_all_of_its_labels() -> None:
    pairs = [(source, "de" if "book" in source else "en") for source in ENGLISH]
    vocabularies = train_vocabularies(pairs, TextConfig(kind="word"), task="classify")
    assert vocabularies.labels == ("de", "en") == find_labels(pairs)
    assert vocabularies.source.encode(["de"]) == [[3]]


def test_sentences_in_the_place_of_labels_are_refused() -> None:
    pairs = ((f"{number}", f"label {number}") for number in range(10_001))
    with pytest.raises(
        DataError,
        match=r"^There are more than 10,000 different labels, the last 'label 10000'\. Is the target a label\?",
    ):
        find_labels(pairs)


def test_a_language_model_learns_from_its_text() -> None:
    vocabularies = train_vocabularies(
        [("", target) for target in GERMAN], TextConfig(kind="word"), task="language-model"
    )
    assert vocabularies.is_joint
    assert 3 not in vocabularies.target.encode(["die Katze"])[0]
