"""Our own API: the records are those of the command line, and constraints and scores work."""

import json
import math
from typing import Any

import pytest
from fastapi.testclient import TestClient

from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.serve.translate_api import TranslateRequest
from clearhead.serve.translation_task import TextLines, joined, num_sentences
from tests.command import run

WORDS = ["house", "dog", "book", "car", "river", "teacher", "bread", "door", "letter"]
SENTENCES = ["He sat on the bank of the river.", "Tom bought 17 books. Mary read them.", "LET'S GO"]


def records(client: TestClient, body: dict[str, Any]) -> list[dict[str, Any]]:
    answer = client.post("/v1/translate", json=body)
    assert answer.status_code == 200, answer.text
    translations: list[dict[str, Any]] = answer.json()["translations"]
    return translations


def is_close(one: Any, other: Any) -> bool:
    """Compare records; numbers may differ by rounding, because the engines differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_close(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_close, one, other))
    return math.isclose(one, other, abs_tol=1e-3) if isinstance(one, float) else bool(one == other)


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({}, []),
        ({"beam": 3, "n_best": 2}, ["--beam", "3", "--n-best", "2"]),
        ({"token_scores": True}, ["--scores"]),
        ({"alignment": True}, ["--align"]),
        ({"forbidden": ["banco"]}, ["--forbid", "banco"]),
    ],
)
def test_a_record_is_a_line_of_the_command_line(
    translating: TestClient, fields: dict[str, Any], options: list[str]
) -> None:
    command = run("translate", "--json", *options, *SENTENCES)
    lines = [json.loads(line) for line in command.stdout.splitlines()]
    for own, line in zip(records(translating, {"text": SENTENCES, **fields}), lines, strict=True):
        assert is_close(own, line), (own, line)


def test_the_answer_names_the_model_and_the_languages(translating: TestClient) -> None:
    answer = translating.post("/v1/translate", json={"text": "Vamos", "source": "Spanish", "target": "EN"}).json()
    assert (answer["model"], answer["source"], answer["target"]) == ("tatoeba", "es", "en")
    detected = translating.post("/v1/translate", json={"text": "Quiero ir a casa.", "source": "auto", "target": "en"})
    assert detected.json()["source"] == "es"


def test_a_text_in_the_target_language_is_unchanged_and_says_so(translating: TestClient) -> None:
    body = {"text": ["Buenas noches", "Good evening, my friends."], "source": "auto", "target": "Spanish"}
    first, second = records(translating, {**body, "alignment": True})
    assert (first["translation"], first["alignment"]) == ("Buenas noches", "0-0 1-1")
    assert first["notes"] == ["The text is in the target language already, so it is unchanged."]
    assert second["translation"] == "Buenas tardes, mis amigos."
    assert first.keys() == second.keys()
    answer = translating.post("/v1/translate", json={**body, "text": "Buenas noches"}).json()
    assert (answer["model"], answer["source"], answer["target"]) == (None, "es", "es")


def test_a_glossary_and_a_prefix_are_obeyed(translating: TestClient) -> None:
    (record,) = records(translating, {"text": "I see the house.", "glossary": {"house": "hogar"}})
    assert "hogar" in record["translation"]
    (record,) = records(translating, {"text": "I see the house.", "prefix": "Yo"})
    assert record["translation"].startswith("Yo")


def test_a_text_of_several_lines_is_one_record(translating: TestClient) -> None:
    (record,) = records(translating, {"text": "Let's go\n\nHow are you?", "alignment": True, "beam": 2, "n_best": 2})
    assert record["translation"] == "Vamos\n\n¿Cómo estás?"
    assert record["n_best"][1]["translation"].count("\n") == 2
    assert record["source_words"] == ["Let's", "go", "How", "are", "you?"]


def test_empty_texts_need_no_model(translating: TestClient) -> None:
    assert [record["translation"] for record in records(translating, {"text": ["", " \n"]})] == ["", " \n"]


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({}, 400, "text is missing: text or texts to translate."),
        ({"text": "a", "txt": 1}, 400, "txt is not a field. Did you mean 'text'?"),
        (
            {"text": "a", "glossary": ["house"]},
            400,
            """glossary = ['house'] is not an object, such as {"house": "hogar"} (glossary: source terms""",
        ),
        ({"text": "a", "beam": 11}, 400, "beam = 11 is more than the maximum of this server, 10. Use a smaller beam."),
        ({"text": "a", "beam": 2, "n_best": 3}, 400, "n_best = 3 is more than beam = 2. Use a beam of 3."),
        ({"text": "a", "model": "tatoba"}, 404, "there is no model 'tatoba'. Did you mean 'tatoeba'? Models: tatoeba."),
        (
            {"text": "a", "target": "de"},
            400,
            "no model translates into 'de'. There is: en → es; en → hi; en → bn; es → en.",
        ),
        (
            {"text": "a", "source": "es", "target": "hi", "model": "tatoeba"},
            400,
            "the model tatoeba does not translate from 'es' into 'hi'. There is: en → es; en → hi; en → bn; es → en.",
        ),
        ({"text": "a", "required": ["x"], "forbidden": ["x"]}, 400, "'x' must be in translations, but is forbidden."),
        ({"text": "a", "forbidden": ["x"] * 201}, 400, "glossary, required and forbidden can have at most 200 entries"),
    ],
)
def test_a_wrong_request_is_one_sentence(
    translating: TestClient, body: dict[str, Any], status: int, sentence: str
) -> None:
    answer = translating.post("/v1/translate", json=body)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(sentence)


def test_phrases_that_are_searched_for_in_one_another_are_limited_together(translating: TestClient) -> None:
    body = {"text": "Hi", "source": "en", "target": "es", "forbidden": ["a " * 3000 + "b"], "required": ["a " * 2500]}
    answer = translating.post("/v1/translate", json=body)
    assert answer.status_code == 400
    assert answer.json() == {"error": "the phrases have 11,001 characters together, but the maximum is 10,000."}


def test_a_request_with_very_many_mistakes_gets_the_first_ones(translating: TestClient) -> None:
    body = {"text": "a", **{f"tex{number}": 1 for number in range(3000)}}
    answer = translating.post("/v1/translate", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("tex0 is not a field. Did you mean 'text'?")


def test_all_mistakes_of_a_request_are_reported_together(translating: TestClient) -> None:
    error = translating.post("/v1/translate", json={"text": "a", "beam": 0, "n_best": "x"}).json()["error"]
    assert "\n" not in error
    assert "beam = 0 is not a whole number of at least 1" in error
    assert "n_best = 'x' is not a whole number of at least 1" in error


def test_a_score_is_that_of_the_command_line(translating: TestClient, tmp_path: Any) -> None:
    (tmp_path / "s").write_text(">>es<< Let's go\n>>es<< Good morning\n")
    (tmp_path / "t").write_text("Vamos\nBuenos días\n")
    command = run("score", "-m", "tatoeba", str(tmp_path / "s"), str(tmp_path / "t"), "--json", "--tokens")
    lines = [json.loads(line) for line in command.stdout.splitlines()]
    pairs = [{"source": "Let's go", "target": "Vamos"}, {"source": "Good morning", "target": "Buenos días"}]
    answer = translating.post("/v1/score", json={"pairs": pairs, "target": "es", "tokens": True}).json()
    assert is_close(answer["scores"], lines)
    for pairs, sentence in (
        ([], "pairs is empty: sentences with translations."),
        (["a"], """pairs.0 = 'a' is not an object, such as {"source": "…", "target": "…"}."""),
        ("a", """pairs = 'a' is not a list of objects, such as [{"source": "…", "target": "…"}]."""),
    ):
        assert translating.post("/v1/score", json={"pairs": pairs}).json() == {"error": sentence}


def test_a_long_line_is_translated_in_the_parts_of_the_command_line(translating: TestClient) -> None:
    line = ", ".join(f"the {word} of my {other}" for word in WORDS for other in WORDS)
    (record,) = records(translating, {"text": line, "source": "en", "target": "es"})
    options = TranslationOptions(max_source=128)
    (expected,) = Translator.load("tatoeba").translate([line], SearchSettings(), options)
    assert len(expected.parts) > 2
    assert record["translation"] == expected.text
    assert list(record["notes"]) == list(expected.notes)


def test_the_lines_of_a_text_are_counted_and_joined() -> None:
    text = TextLines.of("a\r\n\nb\r")
    assert text.lines == ("a", "", "b", "")
    assert text.breaks == ("\r\n", "\n", "\r")
    assert text.places == (0, 2)
    assert list(map(num_sentences, ("", "a" * 199, "a" * 200, "字" * 200))) == [1, 1, 2, 4]
    assert joined([TextLines.of("")], [])[0].text == ""
    assert TranslateRequest(text="a").texts == ["a"]
