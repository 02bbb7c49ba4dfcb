"""Reading a film: frames in order, those of other sentences left out, and clear errors."""

from pathlib import Path

import pytest

from clearhead.errors import RunError
from clearhead.explain.film.scenes import read_film
from clearhead.training.film_file import FilmFrame
from tests.unit.explain.film.films import film_sentence_of, write_film


def test_a_film_has_its_frames_in_order_and_the_curves(tmp_path: Path) -> None:
    film = read_film(write_film(tmp_path / "run"))
    assert (film.name, film.num_layers, film.num_skipped) == ("run", 3, 0)
    assert [frame.step for frame in film.frames] == [10, 20, 30]
    assert list(film.curves) == ["loss", "valid/loss", "valid/bleu"]
    assert [sentence.source for sentence in film.sentences] == ["the red cat", "it's <a> & b"]


def test_the_first_frame_with_the_reference_is_known(tmp_path: Path) -> None:
    film = read_film(write_film(tmp_path / "run"))
    assert film.first_match(0) == 2
    assert film.first_match(1) is None, "it has no reference"
    early = [FilmFrame(step, (film_sentence_of(0),)) for step in (10, 20)]
    assert read_film(write_film(tmp_path / "early", early)).first_match(0) is None


def test_frames_of_other_sentences_are_left_out(tmp_path: Path) -> None:
    frames = [FilmFrame(5, (film_sentence_of(0, "another"),)), FilmFrame(10, (film_sentence_of(1),))]
    film = read_film(write_film(tmp_path / "run", frames))
    assert ([frame.step for frame in film.frames], film.num_skipped) == ([10], 1)


def test_a_run_without_a_film_is_refused(tmp_path: Path) -> None:
    write_film(tmp_path / "none", [])
    write_film(tmp_path / "empty", [FilmFrame(5, ())])
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    messages = {
        "none": r"none has no film \(yet\). A film is recorded .* add pinned to the config, and train it in another",
        "empty": r"step-00000005.npz contains no sentences. Remove it.",
        "folder": r"folder is not a run folder: it has no config.yaml. Give the folder of a run.",
        "file": r"file is a file, not a run folder. Give the folder of a run.",
        "nowhere": r"nowhere does not exist. Give the folder of a run.",
    }
    for name, message in messages.items():
        with pytest.raises(RunError, match=message):
            read_film(tmp_path / name)
