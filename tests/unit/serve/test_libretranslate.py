"""LibreTranslate's API: three forms of a request, its fields and its error bodies."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from clearhead.serve.libretranslate import LibreRequest
from tests.unit.serve.small_app import served

FIELDS = {"q": "Let's go", "source": "en", "target": "es"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


def test_json_a_form_and_a_query_string_are_the_same_request(translating: TestClient) -> None:
    answers = [
        translating.post("/translate", json=FIELDS),
        translating.post("/translate", data=FIELDS),
        translating.post("/translate", params=FIELDS),
        translating.post("/translate", params={"q": "Let's go"}, data={"source": "en", "target": "es"}),
        translating.post("/translate", data=FIELDS, files={"unused": b""}),
        translating.post("/translate", content=json.dumps(FIELDS)),
    ]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(200, {"translatedText": "Vamos"})] * 6


def test_a_list_has_a_list_as_its_answer(translating: TestClient) -> None:
    answer = translating.post("/translate", json={**FIELDS, "q": ["Let's go", "", "How are you?"]})
    assert answer.json() == {"translatedText": ["Vamos", "", "¿Cómo estás?"]}


def test_line_breaks_and_empty_lines_are_kept(translating: TestClient) -> None:
    answer = translating.post("/translate", json={**FIELDS, "q": "Let's go\r\n\n How are you?"})
    assert answer.json() == {"translatedText": "Vamos\r\n\n ¿Cómo estás?"}


def test_a_text_in_the_target_language_comes_back_unchanged(translating: TestClient) -> None:
    fields = {"q": "Buenas  noches\r\n", "source": "auto", "target": "es"}
    answer = translating.post("/translate", json=fields).json()
    assert answer["translatedText"] == fields["q"]
    assert answer["detectedLanguage"]["language"] == "es"
    for style in ("text", "html"):
        texts = ["Buenas noches", "Good evening, my friends.", "", "¿Dónde está la casa?"]
        answer = translating.post("/translate", json={**fields, "q": texts, "format": style, "alternatives": 1}).json()
        assert answer["translatedText"] == ["Buenas noches", "Buenas tardes, mis amigos.", "", "¿Dónde está la casa?"]
        assert [language["language"] for language in answer["detectedLanguage"]][::3] == ["es", "es"]
        assert answer["detectedLanguage"][1]["language"] == "en"
        assert answer["alternatives"][0] == []
        assert len(answer["alternatives"][1]) == (style == "text")  # HTML has none, as in LibreTranslate
    same = translating.post("/translate", json={**FIELDS, "target": "en"})
    assert (same.status_code, same.json()) == (200, {"translatedText": "Let's go"})
    other = translating.post("/translate", json={**FIELDS, "source": "xx", "target": "xx"})
    assert (other.status_code, other.json()["error"].startswith("xx is not supported")) == (400, True)


def test_the_source_language_is_detected_and_reported(translating: TestClient) -> None:
    answer = translating.post("/translate", json={"q": "¿Dónde está la casa?", "source": "auto", "target": "en"}).json()
    assert answer["translatedText"] == "Where is the house?"
    assert answer["detectedLanguage"]["language"] == "es"
    assert 50 < answer["detectedLanguage"]["confidence"] <= 100
    both = translating.post(
        "/translate", json={"q": ["Good morning", "I know"], "source": "auto", "target": "es"}
    ).json()
    assert [found["language"] for found in both["detectedLanguage"]] == ["en", "en"]


def test_alternatives_are_other_translations_in_a_list_for_each_text(translating: TestClient) -> None:
    answer = translating.post("/translate", json={**FIELDS, "alternatives": 2}).json()
    assert answer["translatedText"] == "Vamos"
    assert len(answer["alternatives"]) == 2
    assert "Vamos" not in answer["alternatives"]
    listed = translating.post("/translate", json={**FIELDS, "q": ["Let's go"], "alternatives": "2"}).json()
    assert listed["alternatives"] == [answer["alternatives"]]


def test_html_keeps_its_tags(translating: TestClient) -> None:
    fields = {**FIELDS, "q": "<p>My <b>house</b> is big.</p>", "format": "html"}
    assert translating.post("/translate", json=fields).json() == {"translatedText": "<p>Mi <b>casa</b> es grande.</p>"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"q": ""}, "Invalid request: missing q parameter"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"source": None}, "Invalid request: missing source parameter"),
        ({"target": None}, "Invalid request: missing target parameter"),
        ({"q": 7}, "Invalid request: q parameter is not a text or a list of texts"),
        ({"q": ["a", 7]}, "Invalid request: q parameter is not a text or a list of texts"),
        ({"source": 7}, "Invalid request: source parameter is not a text"),
        ({"target": "xx"}, "xx is not supported. Languages: en, es, hi, bn."),
        ({"source": "xx"}, "xx is not supported. Languages: en, es, hi, bn."),
        ({"source": "es", "target": "hi"}, "Hindi (hi) is not available as a target language from Spanish (es)"),
        ({"format": "pdf"}, "pdf format is not supported"),
        ({"format": 7}, "This format is not supported"),
        ({"alternatives": "many"}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": 99}, "Invalid request: alternatives parameter must be <= 9"),
        ({"q": ["a"] * 501}, "Invalid request: request (501) exceeds text limit (500). Send fewer texts."),
        ({"q": "a" * 100_001}, "Invalid request: request (100001) exceeds text limit (100000). Send shorter texts."),
    ],
)
def test_a_wrong_request_has_the_sentence_of_libretranslate(
    translating: TestClient, changes: dict[str, Any], sentence: str
) -> None:
    answer = translating.post("/translate", json={**FIELDS, **changes})
    assert (answer.status_code, answer.json()) == (400, {"error": sentence})


@pytest.mark.parametrize(
    ("content", "kind", "status", "sentence"),
    [
        (b"{", "application/json", 400, "the body of the request is not JSON: "),
        (b"[]", "application/json", 400, "the body of the request is JSON, but not an object. Write {...}."),
        (b"\xff", FORM["content-type"], 400, "the body is not a form: "),
        (b"a&" * 200, FORM["content-type"], 400, "the body is not a form: "),
        (b"x", "multipart/form-data; boundary=b", 400, "the form cannot be read: "),
        (
            b"<q/>",
            "text/xml",
            415,
            "the body must be JSON or a form (application/x-www-form-urlencoded), not 'text/xml'.",
        ),
        (
            b"x" * 1_000_001,
            "application/json",
            413,
            "the body of the request is larger than the maximum of 1,000,000 b",
        ),
    ],
)
def test_a_body_that_cannot_be_read_is_one_sentence(
    translating: TestClient, content: bytes, kind: str, status: int, sentence: str
) -> None:
    answer = translating.post("/translate", content=content, headers={"content-type": kind})
    assert answer.status_code == status
    assert answer.json()["error"].startswith(sentence)


def test_detect_lists_languages_with_their_confidence(translating: TestClient) -> None:
    found = translating.post("/detect", data={"q": "आप कैसे हैं?"}).json()
    assert found[0] == {"confidence": 100.0, "language": "hi"}
    assert translating.post("/detect", json={}).json() == {"error": "Invalid request: missing q parameter"}
    assert translating.post("/detect", json={"q": 1}).json() == {"error": "Invalid request: q parameter is not a text"}


def test_languages_and_settings_are_those_of_libretranslate(translating: TestClient) -> None:
    languages = translating.get("/languages").json()
    assert languages[0] == {"code": "en", "name": "English", "targets": ["bn", "es", "hi"]}
    settings = translating.get("/frontend/settings").json()
    assert settings["charLimit"] == 100_000
    assert settings["keyRequired"] is False
    assert settings["language"]["target"] == {"code": "es", "name": "Spanish"}
    assert ".docx" in settings["supportedFilesFormat"]


def test_another_method_is_405_and_says_which_one_to_use(translating: TestClient) -> None:
    answer = translating.get("/translate", params=FIELDS)
    sentence = "this address does not have the method GET. Use POST. See /openapi.json."
    assert (answer.status_code, answer.json()) == (405, {"error": sentence})


def test_suggestions_are_refused(translating: TestClient) -> None:
    answer = translating.post("/suggest", data={"q": "a", "s": "b"})
    assert (answer.status_code, answer.json()) == (403, {"error": "Suggestions are disabled on this server."})


def test_the_default_beam_is_a_setting() -> None:
    with served({"beam": 3}) as client:
        answer = client.post("/v1/translate", json={"text": "Let's go", "n_best": 3}).json()
    assert len(answer["translations"][0]["n_best"]) == 3


def test_a_request_remembers_whether_it_was_a_list() -> None:
    assert LibreRequest.of({**FIELDS, "q": ["a"]}, 3).is_list
    assert not LibreRequest.of(FIELDS, 3).is_list
