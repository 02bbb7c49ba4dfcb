"""The data of a film: all numbers of the frames, and only as much attention as a page can have."""

import base64
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clearhead.explain.film import data
from clearhead.explain.film.data import View, film_data, first_view, page_data, shown_layers
from clearhead.explain.film.scenes import read_film
from clearhead.training.film_file import FilmFrame
from tests.unit.explain.film.films import SOURCE, film_sentence_of, write_film


def test_the_page_has_the_numbers_of_the_frames(tmp_path: Path) -> None:
    film = read_film(write_film(tmp_path / "run"))
    text = page_data(film)
    assert "<" not in text, "it stands inside a script element"
    content = json.loads(text)
    assert content["layers"] == [0, 1, 2]
    assert content["sources"] == [list(SOURCE)] * 2
    for frame, saved in zip(film.frames, content["frames"], strict=True):
        for sentence, entry in zip(frame.sentences, saved["sentences"], strict=True):
            assert (entry["text"], tuple(entry["tokens"])) == (sentence.translation, sentence.target_tokens)
            attention = np.frombuffer(base64.b64decode(entry["a"]), "<f2").reshape(sentence.attention.shape)
            assert np.array_equal(attention, sentence.attention)
            assert np.array_equal(np.frombuffer(base64.b64decode(entry["p"]), "<f2"), sentence.probabilities)
    assert content["frames"][1]["metrics"] == {"loss": 3.0, "valid/loss": 4.0, "valid/bleu": 3.0}, "the last ones"


def test_of_too_much_attention_only_one_layer_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    film = read_film(write_film(tmp_path / "run"))
    assert (shown_layers(film), first_view(film)) == ([0, 1, 2], View(2, is_input=True))
    size = len(page_data(film))
    monkeypatch.setattr(data, "MAX_BYTES", 100)
    assert shown_layers(film) == [2]
    assert len(page_data(film)) < size
    entry = json.loads(page_data(film))["frames"][2]["sentences"][0]
    weights = np.frombuffer(base64.b64decode(entry["a"]), "<f2")
    assert np.array_equal(weights, film.frames[2].sentences[0].attention[2].ravel())


def test_the_first_view_has_the_rows_nearest_to_the_diagonal(tmp_path: Path) -> None:
    sentence = film_sentence_of(2)
    weights = np.full_like(sentence.attention, 0.25)
    weights[1] = np.eye(4)
    frame = FilmFrame(30, (replace(sentence, attention=weights),))
    assert first_view(read_film(write_film(tmp_path / "run", [frame]))) == View(1, is_input=False)


def test_the_film_is_also_plain_data(tmp_path: Path) -> None:
    content = film_data(read_film(write_film(tmp_path / "run")))
    assert content["sentences"][0] == {"source": "the red cat", "reference": "el gato rojo"}
    assert content["frames"][2]["step"] == 30
    assert content["frames"][2]["metrics"]["valid/bleu"] == 17.0
    assert content["frames"][2]["translations"][0] == {
        "text": "el gato rojo",
        "tokens": ["▁el", "▁gato", "▁rojo", "</s>"],
        "probabilities": [0.25, 0.5, 0.75, 1.0],
    }
