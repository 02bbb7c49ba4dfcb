"""The phrasebook is the file that was checked, and no held-out sentence is in training."""

import re
from functools import cache
from hashlib import sha256

import pytest

from clearhead.data.phrasebook import Split, pairs, set_phrases
from clearhead.errors import DataError

SPLITS: tuple[Split, ...] = ("train", "valid", "test")
SIZES = {"train": 50_000, "valid": 1_000, "test": 1_000}
# Of the lines "English TAB Spanish" of each split, and of the set phrases. The grammar that drew them was tested on these.
DIGESTS = {
    "train": "c06c92c966b9d399",
    "valid": "5256d04683b21869",
    "test": "284c63da8e1e1f04",
    "set phrases": "9b8cff5b047bdab4",
}


@cache
def part(split: Split) -> list[tuple[str, str]]:
    return list(pairs(split))


def english(split: Split) -> set[str]:
    return {source for source, _ in part(split)}


def words(split: Split, side: int) -> set[str]:
    return {word for pair in part(split) for word in re.findall(r"[\w']+|[^\w\s]", pair[side])}


def test_the_corpus_is_the_one_that_was_checked() -> None:
    corpora = {**{split: part(split) for split in SPLITS}, "set phrases": list(set_phrases())}
    text = {name: "".join(f"{source}\t{target}\n" for source, target in rows) for name, rows in corpora.items()}
    assert {name: sha256(lines.encode()).hexdigest()[:16] for name, lines in text.items()} == DIGESTS


def test_every_split_has_its_size_and_no_english_sentence_twice() -> None:
    assert {split: len(part(split)) for split in SPLITS} == SIZES
    assert {split: len(english(split)) for split in SPLITS} == SIZES


def test_no_sentence_is_in_two_splits() -> None:
    assert english("train").isdisjoint(english("valid") | english("test"))
    assert english("valid").isdisjoint(english("test"))


@pytest.mark.parametrize("side", [0, 1], ids=["English", "Spanish"])
def test_every_held_out_word_is_known_from_training(side: int) -> None:
    assert words("valid", side) | words("test", side) <= words("train", side)


def test_both_sides_end_alike_and_begin_with_a_capital() -> None:
    for source, target in (pair for split in SPLITS for pair in part(split)):
        end = source[-1] if source[-1] in ".!?" else ""
        begin = {"?": "¿", "!": "¡"}.get(end, "")
        assert target.startswith(begin)
        assert target.endswith(end) if end else target[-1].isalpha()
        assert source[0].isupper()
        assert target[len(begin)].isupper()


def test_the_set_phrases_begin_the_training_split() -> None:
    assert part("train")[:244] == list(set_phrases())


@pytest.mark.parametrize(
    "ways",
    [
        {"Let's go": "Vamos", "Let's go.": "Vamos.", "Let's go!": "¡Vamos!"},
        {"How are you": "Cómo estás", "How are you?": "¿Cómo estás?"},
        {"It's a piece of cake.": "Es pan comido.", "He says that it's a piece of cake.": "Dice que es pan comido."},
    ],
    ids=["spellings", "question", "inside a sentence"],
)
def test_an_idiom_is_in_training_in_every_common_spelling_and_inside_sentences(ways: dict[str, str]) -> None:
    translations = dict(part("train"))
    assert {way: translations[way] for way in ways} == ways


def test_an_unknown_split_is_refused_with_the_choices() -> None:
    with pytest.raises(DataError) as refused:
        pairs("trian")  # type: ignore[arg-type]
    assert (
        str(refused.value) == "The phrasebook has no part 'trian'. Did you mean 'train'? Choices: train, valid, test."
    )


def test_the_set_phrases_have_no_part_to_hold_out() -> None:
    with pytest.raises(DataError) as refused:
        set_phrases("valid")
    assert str(refused.value) == (
        "The set phrases have no part 'valid': they are learnt by heart, so that all of them are for training. "
        "Hold out a part of the phrasebook: built_in: phrasebook."
    )
