"""The language of a text, among those of the server."""

import pytest

from clearhead.serve.detection import DetectedLanguage, Detector, SourceLanguages


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector(("en", "es", "hi", "bn"))


@pytest.mark.parametrize(
    ("text", "language"),
    [("Where is the house?", "en"), ("¿Dónde está la casa?", "es"), ("घर कहाँ है?", "hi"), ("বাড়ি কোথায়?", "bn")],
)
def test_a_sentence_is_recognised(detector: Detector, text: str, language: str) -> None:
    assert detector.detect(text)[0].language == language


def test_a_text_without_letters_is_in_the_first_language_with_no_confidence(detector: Detector) -> None:
    assert detector.detect("17 + 4") == [DetectedLanguage("en", 0.0)]
    assert detector.detect_all(["", ""]) == DetectedLanguage("en", 0.0)


def test_a_single_language_needs_no_detection() -> None:
    assert Detector(("de",)).detect("Where?") == [DetectedLanguage("de", 100.0)]
    assert Detector(("und", "xx")).detect("Where?") == [DetectedLanguage("und", 0.0)]


def test_a_code_with_a_region_keeps_its_own_form() -> None:
    assert Detector(("en-GB", "es_MX")).detect("¿Dónde está la casa?")[0].language == "es_MX"


def test_texts_are_grouped_by_their_languages() -> None:
    english, spanish = DetectedLanguage("en", 97.0), DetectedLanguage("es", 83.0)
    assert SourceLanguages(english, (english, spanish, english)).groups == {"en": [0, 2], "es": [1]}
