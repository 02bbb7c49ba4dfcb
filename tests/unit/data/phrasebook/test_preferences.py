"""Me gusta, me gustaría, me duele: the Spanish verb agrees with what is liked or hurts."""

import re

from clearhead.data.phrasebook.preferences import hurting, like_thing, like_to, would_like
from tests.unit.data.phrasebook.drawing import drawn

WHOM = {"I": "me", "You": "te", "He": "le", "She": "le", "We": "nos", "They": "les"}


def test_who_likes_is_the_object() -> None:
    for pattern in (like_thing, like_to, would_like):
        pronouns = 0
        for sentence in drawn(pattern):
            subject = sentence.english.split()[0]
            if subject in WHOM:
                pronouns += 1
                assert re.match(rf"(No )?{WHOM[subject]} gust", sentence.spanish, re.IGNORECASE), sentence
        assert pronouns > 50


def test_the_verb_agrees_with_the_thing() -> None:
    for sentence in drawn(like_thing):
        is_plural = re.search(r" gustan (los|las|mis|tus|sus|nuestr[oa]s|est[oa]s|es[oa]s) ", sentence.spanish)
        assert is_plural or re.search(r" gusta ", sentence.spanish), sentence
    liked = {sentence.english: sentence.spanish for sentence in drawn(like_thing, 6000)}
    assert liked["I like apples."] == "Me gustan las manzanas."
    assert liked["She likes milk."] == "Le gusta la leche."


def test_what_one_likes_to_do_is_singular() -> None:
    for sentence in drawn(like_to):
        assert " like to " in sentence.english or " likes to " in sentence.english
        assert re.search(r"\bgusta \w+r(me|te|se|nos)?\b", sentence.spanish), sentence


def test_would_like_is_never_a_question_in_the_first_person() -> None:
    for sentence in drawn(would_like):
        assert "gustaría" in sentence.spanish
        assert not sentence.english.startswith("Would I ")


def test_two_hands_hurt_and_one_head_hurts() -> None:
    for sentence in drawn(hurting):
        is_plural = re.search(r"\b(hands|legs|eyes|feet)\b", sentence.english) is not None
        assert (" duelen " in sentence.spanish) == is_plural
        assert (" duele " in sentence.spanish) != is_plural
        assert not sentence.english.startswith(("Do my ", "Does my "))
