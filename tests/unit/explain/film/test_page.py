"""The page of a film: self-contained, escaped, and readable without its script."""

import re
from pathlib import Path

import pytest

from clearhead.explain.film import data
from clearhead.explain.film.page import film_page
from clearhead.explain.film.scenes import read_film
from clearhead.training.film_file import FilmFrame
from tests.unit.explain.film.films import film_sentence_of, write_film


def test_the_page_is_self_contained_and_escaped(tmp_path: Path) -> None:
    page = film_page(read_film(write_film(tmp_path / "a <b> run")))
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert "Film of the training: a &lt;b&gt; run</h1>" in page
    assert "it&#x27;s &lt;a&gt; &amp; b" in page
    assert "el gato <b>" not in page
    assert "default-src 'none'" in page
    assert " style=" not in page, "the policy of the page allows no style attributes"
    assert len(page) < 100_000


def test_without_a_script_the_last_frame_is_shown(tmp_path: Path) -> None:
    page = film_page(read_film(write_film(tmp_path / "run")))
    assert '<p class="translation" dir="auto">el gato rojo</p>' in page
    assert "2 pinned sentences, translated at 3 validations, from update 10 to update 30." in page
    assert '<button type="button" data-frame="2">update 30</button>' in page
    assert re.findall(r'data-metric="([^"]+)"', page) == ["loss", "valid/loss", "valid/bleu"]
    assert '<option value="2" selected>layer 3 of 3</option>' in page


def test_what_is_not_shown_is_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = [FilmFrame(5, (film_sentence_of(0, "another"),)), FilmFrame(10, (film_sentence_of(1),))]
    monkeypatch.setattr(data, "MAX_BYTES", 10)
    page = film_page(read_film(write_film(tmp_path / "run", frames)))
    assert "1 frame with other sentences not shown." in page
    assert "Not yet translated as the reference." in page
    assert "Only layer 3 is shown, because the attention of all layers is too large for a page." in page
