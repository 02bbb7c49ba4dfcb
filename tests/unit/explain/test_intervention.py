"""Changes of a what-if question: whole words are swapped, heads are named, and nothing to change is an error."""

import re

import pytest

from clearhead.errors import ConfigError, DataError
from clearhead.explain.explanation_file import plain_data
from clearhead.explain.intervention import Intervention, Patch, gates_of_heads, swap_words
from clearhead.model.gates import NO_GATES, Gates
from tests.unit.decoding.toys import random_model

MODEL = random_model(36)


@pytest.mark.parametrize(
    ("text", "words", "swapped"),
    [
        ("The bank of the river.", {"river": "city"}, "The bank of the city."),
        ("a bank, a banker, a bank", {"bank": "shop"}, "a shop, a banker, a shop"),
        ("cat and dog", {"cat": "dog", "dog": "cat"}, "dog and cat"),
        ("an old man", {"old man": "tree"}, "an tree"),
        ("a.b axb", {"a.b": "c"}, "c axb"),
        ("यह नदी है", {"नदी": "घर"}, "यह घर है"),
        ("我爱北京", {"北京": "上海"}, "我爱上海"),
    ],
)
def test_whole_words_are_swapped(text: str, words: dict[str, str], swapped: str) -> None:
    assert swap_words(text, words) == swapped


def test_no_words_leave_the_text_as_it_is() -> None:
    assert swap_words("a b", {}) == "a b"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("money", "'The bank of the river.' does not contain the word 'money', which should be swapped."),
        ("riv", "does not contain the word 'riv', which should be swapped."),
        ("rivers", "Did you mean 'river'?"),
        ("the River", "does not contain the word 'the River'"),
    ],
)
def test_a_word_that_is_not_in_the_text_is_refused(word: str, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        swap_words("The bank of the river.", {word: "city"})


def test_a_vowel_sign_is_part_of_its_word() -> None:
    with pytest.raises(DataError, match="does not contain the word 'नद'"):
        swap_words("यह नदी है", {"नद": "घर"})


def test_an_empty_word_is_refused() -> None:
    with pytest.raises(ConfigError, match="a word to swap is empty"):
        swap_words("a b", {"a": " "})


def test_there_must_be_something_to_change() -> None:
    with pytest.raises(ConfigError, match="there is nothing to change"):
        Intervention()


def test_one_name_may_be_given_as_text() -> None:
    gates = Intervention(without="encoder.0.*", uniform="decoder.1.self_attention.head.1").gates(MODEL)
    assert isinstance(gates, Gates)
    assert {where: gate.tolist() for where, gate in gates.outputs.items()} == {"encoder.0.self_attention": [0, 0]}
    assert {where: gate.tolist() for where, gate in gates.scores.items()} == {"decoder.1.self_attention": [1, 0]}
    assert Intervention(swap={"a": "b"}).gates(MODEL) is NO_GATES


def test_the_data_of_a_change_names_its_patch() -> None:
    change = Intervention(patch=Patch("encoder.1", "some words"))
    assert plain_data(change)["patch"] == {"layer": "encoder.1", "sentence": "some words", "words": {}}
    assert plain_data(Intervention(swap={"a": "b"}))["patch"] is None


def test_a_head_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no heads were named\. Name a head to remove, or one to make uniform\."):
        gates_of_heads(MODEL)
    message = "there is no head 'encoder.2.self_attention.head.5' in this model."
    with pytest.raises(ConfigError, match=re.escape(message)):
        gates_of_heads(MODEL, without=["encoder.2.self_attention.head.5"])
