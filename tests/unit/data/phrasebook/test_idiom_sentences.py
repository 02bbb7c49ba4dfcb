"""Idioms inside sentences: in any sentence they are translated as a unit."""

from clearhead.data.phrasebook.idiom_sentences import conjugated_idiom, idiom_alone, reported_idiom, saying, vocative
from clearhead.data.phrasebook.idioms import CLAUSES, SAYINGS
from tests.unit.data.phrasebook.drawing import drawn


def spoken(english: str, expressions: dict[str, str]) -> list[str]:
    """Return the Spanish of each expression that an English sentence contains."""
    return [spanish for idiom, spanish in expressions.items() if idiom.lower() in english.lower()]


def test_an_idiom_keeps_its_own_translation() -> None:
    for pattern in (reported_idiom, idiom_alone):
        for sentence in drawn(pattern):
            expressions = spoken(sentence.english, CLAUSES)
            assert any(spanish.lower() in sentence.spanish.lower() for spanish in expressions), sentence


def test_a_reported_idiom_follows_that() -> None:
    for sentence in drawn(reported_idiom):
        assert " that " in sentence.english
        assert " que " in sentence.spanish


def test_a_saying_is_attributed_to_somebody() -> None:
    for sentence in drawn(saying):
        assert sentence.english.startswith("As ")
        assert sentence.spanish.startswith("Como ")
        expressions = spoken(sentence.english, SAYINGS)
        assert any(sentence.spanish.lower().endswith(f", {spanish.lower()}.") for spanish in expressions), sentence


def test_once_in_a_blue_moon_is_translated_in_a_sentence() -> None:
    sentences = drawn(conjugated_idiom)
    rare = [sentence.spanish for sentence in sentences if "once in a blue moon" in sentence.english]
    assert rare
    assert len({spanish.rstrip(".").split()[-1] for spanish in rare}) == 1, "the same words end each of them"
    assert any("log" in sentence.english for sentence in sentences)


def test_a_name_comes_before_the_last_punctuation_mark() -> None:
    for sentence in drawn(vocative):
        name, end = sentence.english.rsplit(", ", 1)[1][:-1], sentence.english[-1]
        assert end in ".!?"
        assert sentence.spanish.endswith(end)
        assert sentence.spanish.rsplit(", ", 1)[1][:2] == name[:2], "names are the same but for an accent"
