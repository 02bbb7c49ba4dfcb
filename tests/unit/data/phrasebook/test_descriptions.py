"""Ser, estar and tener: which of them a sentence takes, and what agrees with what."""

import re

from clearhead.data.phrasebook.descriptions import (
    age,
    be,
    because,
    comparison,
    copula,
    having,
    how_quality,
    introduction,
    origin,
    profession,
    quality,
    subject_pairs,
    what_a,
    why_state,
)
from clearhead.data.phrasebook.phrases import PRONOUNS, Draw, Phrase
from clearhead.data.phrasebook.words import ADJECTIVES
from tests.unit.data.phrasebook.drawing import drawn

SER = ("soy", "eres", "es", "somos", "son")
ESTAR = ("estoy", "estás", "está", "estamos", "están")
TENER = ("tengo", "tienes", "tiene", "tenemos", "tienen")


def has_one_of(words: tuple[str, ...], spanish: str) -> bool:
    return bool(set(words) & set(re.findall(r"\w+", spanish.lower())))


def test_to_be_is_contracted_or_not_and_denied_or_not() -> None:
    draw = Draw(1)
    ways = {be(draw, PRONOUNS[0], "tired", is_denied) for is_denied in (False, True) for _ in range(50)}
    assert ways >= {"I am tired", "I'm tired", "I am not tired", "I'm not tired"}
    assert not any("amn't" in way for way in ways)


def test_the_copula_is_the_one_of_the_adjective() -> None:
    of_either = [adjective for adjective in ADJECTIVES if adjective.copula in ("ser", "estar")]
    assert {"tired", "tall"} <= {adjective.english for adjective in of_either}
    for adjective in of_either:
        expected = ESTAR if adjective.copula == "estar" else SER
        assert [copula(adjective, person) for person in range(5)] == list(expected)


def test_a_subject_of_two_nouns_gives_a_pair_for_each_noun() -> None:
    assert len(subject_pairs(Phrase("Ana and Luis", "Ana y Luis", noun="Ana&Luis"), "tired")) == 2
    assert subject_pairs(PRONOUNS[0], "tired") == ()


def test_a_quality_takes_ser_or_estar() -> None:
    for sentence in drawn(quality):
        assert has_one_of(SER, sentence.spanish) != has_one_of(ESTAR, sentence.spanish), sentence


def test_a_state_is_asked_for_with_estar() -> None:
    for sentence in drawn(why_state):
        assert sentence.english.startswith("Why ")
        assert re.match(r"¿Por qué (no )?", sentence.spanish)
        assert has_one_of((*ESTAR, *TENER, *SER), sentence.spanish), sentence


def test_because_is_porque() -> None:
    sentences = drawn(because)
    for sentence in sentences:
        assert (" because " in sentence.english) == (" porque " in sentence.spanish)
    reasoned = [sentence for sentence in sentences if " because " in sentence.english]
    assert len(reasoned) > len(sentences) / 2, "few clauses have no reason that fits"


def test_an_introduction_takes_ser() -> None:
    for sentence in drawn(introduction):
        assert has_one_of(SER, sentence.spanish), sentence


def test_an_exclamation_has_its_marks_and_its_que() -> None:
    for pattern, start in ((how_quality, "How "), (what_a, "What ")):
        for sentence in drawn(pattern):
            is_exclaimed = sentence.english.startswith(start)
            assert sentence.english.endswith("!") == is_exclaimed
            assert bool(re.fullmatch(r"¡Qué .+!", sentence.spanish)) == is_exclaimed, sentence
    assert all(sentence.english.endswith("!") for sentence in drawn(what_a))
    assert not any("broken" in sentence.english for sentence in drawn(how_quality) if "How" in sentence.english)


def test_a_comparison_is_mas_que_or_tan_como() -> None:
    for sentence in drawn(comparison):
        if re.search(r"\bas \w+ as\b", sentence.english):
            assert re.search(r"\btan .+ como\b", sentence.spanish), sentence
        else:
            assert " than " in sentence.english
            assert re.search(r"\b(más|mejor|mejores|peor|peores|mayor|mayores|menos)\b.* que\b", sentence.spanish), (
                sentence
            )


def test_hunger_and_age_take_tener() -> None:
    for pattern in (having, age):
        for sentence in drawn(pattern):
            assert has_one_of(TENER, sentence.spanish), sentence
            assert not has_one_of((*SER, *ESTAR), sentence.spanish), sentence
    assert all(re.search(r" (años\.|años\?)$|^¿Cuántos años ", sentence.spanish) for sentence in drawn(age))


def test_a_profession_has_an_article_in_spanish_only_with_an_adjective() -> None:
    professions = {sentence.english: sentence.spanish for sentence in drawn(profession, 4000)}
    assert professions["She is a doctor."] == "Es médica."
    for spanish in professions.values():
        assert has_one_of(SER, spanish), spanish


def test_an_origin_takes_ser_de() -> None:
    for sentence in drawn(origin):
        assert " from " in sentence.english or sentence.english.endswith(" from?")
        assert re.search(r"\bde\b", sentence.spanish.lower())
        assert has_one_of(SER, sentence.spanish), sentence
