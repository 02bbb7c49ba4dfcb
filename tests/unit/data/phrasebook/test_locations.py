"""Where things are, and what there is in a place."""

import re

from clearhead.data.phrasebook.locations import location, somewhere, there_is
from clearhead.data.phrasebook.phrases import Draw
from tests.unit.data.phrasebook.drawing import drawn


def test_where_something_is_takes_estar() -> None:
    for sentence in drawn(location):
        assert re.search(r"\b(está|están)\b", sentence.spanish.lower()), sentence
        assert sentence.english.startswith("Where ") == sentence.spanish.startswith("¿Dónde ")
        is_plural = "están" in sentence.spanish.lower()
        assert re.search(r"\b(are|aren't)\b" if is_plural else r"\bis\b|isn't|'s\b", sentence.english.lower()), sentence


def test_nothing_is_near_itself() -> None:
    draw = Draw(3)
    for _ in range(500):
        noun, place = somewhere(draw)
        assert noun.english != place.noun


def test_de_and_el_are_joined() -> None:
    spanish = " ".join(sentence.spanish for sentence in drawn(location, 800))
    assert " del " in spanish
    assert " de el " not in spanish
    assert " a el " not in spanish


def test_there_is_and_there_are_are_both_hay() -> None:
    for sentence in drawn(there_is):
        assert re.search(r"\bhay\b", sentence.spanish.lower())
        assert " there " in f" {sentence.english.lower()} "
        assert sentence.english.startswith(("There is no ", "There are no ")) == sentence.spanish.startswith("No hay ")
        if sentence.english.startswith("There are "):
            assert not re.match(r"Hay una? ", sentence.spanish)
