"""Who does what: pronouns, orders, gifts and two clauses in the phrasebook."""

import re

from clearhead.data.phrasebook.phrases import Draw
from clearhead.data.phrasebook.statements import (
    COMMON_TENSES,
    draw_addressee,
    gift,
    let_us,
    object_pronoun,
    order,
    pronoun_of_thing,
    reported_speech,
    statement,
    two_clauses,
    wish,
)
from tests.unit.data.phrasebook.drawing import drawn


def test_a_question_is_never_about_me() -> None:
    draw = Draw(7)
    assert "I" not in {draw_addressee(draw).english for _ in range(500)}


def test_a_statement_occurs_in_every_tense() -> None:
    english = " ".join(sentence.english for sentence in drawn(statement, 800))
    for mark in (" is going to ", " can ", "n't ", "ing "):
        assert mark in english
    assert COMMON_TENSES.count("present") == 2, "the present is drawn twice as often as in a plain list"


def test_a_wish_is_never_both_a_question_and_negated() -> None:
    for sentence in drawn(wish):
        assert not (sentence.english.endswith("?") and re.search(r"n't | not ", sentence.english))


def test_an_order_is_polite_or_shouted_and_forbidden_with_no() -> None:
    for sentence in drawn(order):
        is_polite = sentence.english.endswith(", please.")
        assert sentence.spanish.endswith(", por favor.") == is_polite
        assert is_polite or (sentence.english.endswith("!") and sentence.spanish.startswith("¡"))
        is_forbidden = sentence.english.startswith(("Don't ", "Do not "))
        assert bool(re.match(r"¡?No ", sentence.spanish)) == is_forbidden


def test_lets_go_is_vamos_and_lets_do_is_vamos_a() -> None:
    for sentence in drawn(let_us):
        spanish = sentence.spanish.strip("¡!.")
        if sentence.english.startswith("Let's go"):
            assert re.match(r"Vamos( a casa| al? | ?$|\b)", spanish)
        else:
            assert re.match(r"Vamos a \w+(r|rnos)\b", spanish), sentence


def test_a_pronoun_comes_before_the_verb_and_is_another_person() -> None:
    clitics = {"me": "me", "you": "te", "him": "lo", "her": "la", "us": "nos", "them": "los"}
    for sentence in drawn(object_pronoun):
        whom = sentence.english.rstrip(".?").split()[-1]
        assert clitics[whom] in re.findall(r"\w+", sentence.spanish.lower())
        assert not (whom == "me" and sentence.english.startswith("I "))


def test_it_and_them_agree_with_the_thing() -> None:
    for sentence in drawn(pronoun_of_thing):
        clitic = re.search(r" y (\w+) \w+\.$", sentence.spanish)
        assert clitic is not None, sentence
        assert clitic[1] in ("los", "las") if sentence.english.endswith(" them.") else clitic[1] in ("lo", "la")


def test_a_gift_names_its_receiver_with_a_pronoun_in_spanish() -> None:
    for sentence in drawn(gift):
        assert re.search(r"\b(me|te|le|nos|les)\b", sentence.spanish.lower()), sentence


def test_reported_speech_follows_that_and_que() -> None:
    for sentence in drawn(reported_speech):
        assert re.match(r".+ (says?|knows?|thinks?) that ", sentence.english), sentence
        assert " que " in sentence.spanish


def test_but_negates_the_second_clause() -> None:
    for sentence in drawn(two_clauses):
        if ", but " in sentence.english:
            assert re.search(r", but .*(n't|not)\b", sentence.english), sentence
            assert re.search(r", pero .*\bno\b", sentence.spanish), sentence
