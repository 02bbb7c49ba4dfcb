"""One word in two sentences: the static vector is the same, the contextual ones are not."""

import json

import numpy as np
import pytest
import torch

from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.translator import Translator
from clearhead.errors import DataError
from clearhead.explain import LoadedModel, compare
from clearhead.explain.comparison import cosine
from clearhead.explain.explanation_text import comparison_text
from clearhead.explain.opening import double_copy

ONE, OTHER = "the red cat sees a small book.", "where is the old book?"


def test_the_static_vectors_of_a_word_are_equal_and_the_contextual_ones_drift(german: Translator) -> None:
    comparison = compare(german, ONE, OTHER, word="Book", language="de")
    assert comparison.word == "book"
    assert (comparison.static_distance, comparison.static_cosine) == (0.0, pytest.approx(1.0))
    assert len(comparison.cosines) == 2  # the embedding and one layer
    assert all(-1 <= value < 0.9999 for value in comparison.cosines)
    assert all(value > 0 for value in comparison.distances)


def test_the_vectors_are_those_of_the_encoder(german: Translator) -> None:
    comparison = compare(german, ONE, OTHER, word="book", language="de")
    model = double_copy(german.model)
    sides = comparison.sides
    with torch.no_grad():
        states = [model.encode(torch.tensor([side.row.ids])).states[0].numpy() for side in sides]
    if model.encoder is not None and model.encoder.last_norm is None:
        vectors = [state[list(side.positions)].mean(axis=0) for state, side in zip(states, sides, strict=True)]
        assert comparison.cosines[-1] == pytest.approx(cosine(vectors[0], vectors[1]))
    letters = "".join(sides[1].row.pieces[position] for position in sides[1].positions)
    assert letters == "▁book"  # without the question mark


def test_without_a_word_the_longest_shared_one_is_taken(german: Translator) -> None:
    assert compare(german, ONE, OTHER, language="de").word == "book"
    with pytest.raises(DataError, match="the two sentences have no word in common"):
        compare(german, "a dog", "where is it", language="de")
    with pytest.raises(DataError, match=r"'where is the old book\?' does not contain the word 'cat'"):
        compare(german, ONE, OTHER, word="cat", language="de")


def test_it_is_written_as_json_and_as_text(german: Translator) -> None:
    comparison = compare(german, ONE, OTHER, word="book", language="de")
    data = json.loads(json.dumps(comparison.to_dict()))
    assert data["clearhead_comparison"] == 1
    assert [layer["cosine"] for layer in data["layers"]] == pytest.approx(comparison.cosines, abs=1e-6)
    assert data["sides"][0]["text"] == ONE
    translations = [
        translation.text for translation in german.translate([ONE, OTHER], options=TranslationOptions(language="de"))
    ]
    assert [side["translation"] for side in data["sides"]] == translations
    text = comparison_text(comparison)
    assert f"  1. {ONE} → {translations[0]}\n" in text
    assert "static         1.0000  0.0000" in text
    assert "after layer 1" in text


def test_a_language_model_is_compared_by_its_decoder(language_model: LoadedModel) -> None:
    comparison = compare(language_model, "the small book", "where is the book", word="the")
    assert comparison.static_distance == 0.0
    assert len(comparison.cosines) == 4
    same = compare(language_model, "the small book", "the old house", word="the")
    assert same.cosines == pytest.approx(np.ones(4))  # nothing before it differs


def test_the_cosine_of_nothing_is_0() -> None:
    assert cosine(np.zeros(3), np.ones(3)) == 0.0
    assert cosine(np.array([3.0, 4.0]), np.array([4.0, 3.0])) == pytest.approx(24 / 25)
