"""OpenNMT's API: its lists, its numbers of models, and its errors with the status 200."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from clearhead.serve.opennmt import OpenNmt


def test_a_list_is_translated_by_the_model_of_its_first_entry(translating: TestClient) -> None:
    body = [{"src": "Let's go", "id": 100}, {"src": "How are you?"}]
    (row,) = translating.post("/translator/translate", json=body).json()
    assert [entry["src"] for entry in row] == ["Let's go", "How are you?"]
    assert [entry["tgt"] for entry in row] == ["Vamos", "¿Cómo estás?"]
    assert all(entry["n_best"] == 1 and entry["pred_score"] < 0 for entry in row)


@pytest.mark.parametrize("identity", [103, "103", "es-en"])
def test_a_model_has_a_number_and_a_name(translating: TestClient, identity: object) -> None:
    (row,) = translating.post("/translator/translate", json=[{"src": "Vamos", "id": identity}]).json()
    assert row[0]["tgt"] == "Let's go"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, 'the body must be a list: [{"src": "…"}].'),
        ([], 'the body must be a list: [{"src": "…"}].'),
        ([{"source": "a"}], 'each entry of the list must be an object with a text: {"src": "…"}.'),
        ([{"src": "a", "id": 7}], "there is no model with this id. Models: 100 (en-es), 101 (en-hi), 102 (en-bn), "),
        ([{"src": ">>xx<< a"}], "line 1: "),
    ],
)
def test_an_error_has_the_form_of_opennmt(translating: TestClient, body: Any, sentence: str) -> None:
    answer = translating.post("/translator/translate", json=body)
    assert answer.status_code == 200
    assert answer.json()["status"] == "error"
    assert answer.json()["error"].startswith(sentence)


def test_models_and_health_are_listed(translating: TestClient) -> None:
    models = translating.get("/translator/models").json()
    assert [model["name"] for model in models] == ["en-es", "en-hi", "en-bn", "es-en"]
    assert translating.get("/translator/health").json() == {"status": "ok"}
    assert OpenNmt.__doc__
