"""Questions of the phrasebook: marked at both ends in Spanish, and only in persons that make sense."""

import re

import pytest

from clearhead.data.phrasebook.patterns import Pattern
from clearhead.data.phrasebook.questions import (
    question,
    question_of_circumstance,
    question_of_object,
    question_of_subject,
    where_to,
)
from tests.unit.data.phrasebook.drawing import drawn

PATTERNS = [question, question_of_circumstance, question_of_object, question_of_subject, where_to]
WORDS = {"Where": "¿Dónde ", "When": "¿Cuándo ", "Why": "¿Por qué "}


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
def test_a_question_has_its_marks(pattern: Pattern) -> None:
    for sentence in drawn(pattern):
        assert re.fullmatch(r"[A-Z][^?]*\?", sentence.english)
        assert re.fullmatch(r"¿[A-ZÁÉÍÓÚ][^¿?]*\?", sentence.spanish)


def test_a_question_in_the_first_person_is_only_about_what_one_can_do() -> None:
    asked_of_me = [sentence.english for sentence in drawn(question, 2000) if " I " in sentence.english[:7]]
    assert asked_of_me
    assert all(english.startswith("Can I ") for english in asked_of_me)


def test_the_word_that_asks_is_the_same_in_both_languages() -> None:
    sentences = drawn(question_of_circumstance)
    assert {sentence.english.split()[0] for sentence in sentences} == set(WORDS)
    for sentence in sentences:
        assert sentence.spanish.startswith(WORDS[sentence.english.split()[0]])


def test_how_many_agrees_with_what_is_counted() -> None:
    counted = [sentence for sentence in drawn(question_of_object, 1500) if sentence.english.startswith("How many ")]
    spanish = {sentence.english.split()[2]: sentence.spanish.split()[:2] for sentence in counted}
    assert spanish["apples"] == ["¿Cuántas", "manzanas"]
    assert spanish["eggs"] == ["¿Cuántos", "huevos"]


def test_whom_takes_the_personal_a() -> None:
    for sentence in drawn(question_of_object):
        assert sentence.english.startswith("Who ") == sentence.spanish.startswith("¿A quién ")


def test_who_is_one_person() -> None:
    for sentence in drawn(question_of_subject):
        assert sentence.english.startswith("Who ")
        assert sentence.spanish.startswith("¿Quién ")
        assert not re.match(r"Who (are|have|do) ", sentence.english)


def test_a_direction_is_asked_for_with_adonde() -> None:
    for sentence in drawn(where_to):
        assert re.fullmatch(r"Where (am|is|are) .+ going\?", sentence.english)
        assert re.match(r"¿Adónde (voy|vas|va|vamos|van)\b", sentence.spanish)
