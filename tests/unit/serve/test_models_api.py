"""The list of models, their cards as safe HTML, health and metrics."""

from pathlib import Path

from fastapi.testclient import TestClient

from clearhead.serve.catalogue import make_catalogue
from clearhead.serve.health_api import make_router
from clearhead.serve.models_api import card_html, read_card
from tests.small_run import make_run
from tests.unit.serve.small_app import served


def test_models_have_directions_scores_and_a_card(translating: TestClient) -> None:
    (model,) = translating.get("/v1/models").json()["models"]
    assert model["name"] == "tatoeba"
    assert model["directions"][0] == {"source": "en", "target": "es"}
    assert model["scores"][0]["bleu"] == 47.2
    assert model["licence"] == "CC BY 2.0 FR"
    card = translating.get("/v1/models/tatoeba").json()
    assert card["card"].startswith("# ")
    assert "<h1>" in card["card_html"]
    assert translating.get("/v1/models/x").status_code == 404


def test_a_card_cannot_contain_a_script() -> None:
    page = card_html("# A\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) ![y](http://elsewhere/y.png)")
    assert "<script" not in page
    assert 'href="javascript' not in page
    assert "<img" not in page


def test_a_model_without_a_card_has_an_empty_one(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (model,) = make_catalogue([f"{run}=en-de"]).models
    assert read_card(model) == ""


def test_languages_list_their_targets(translating: TestClient) -> None:
    languages = translating.get("/v1/languages").json()
    assert languages[0] == {"code": "en", "name": "English", "targets": ["es", "hi", "bn"]}


def test_the_server_is_alive_and_ready_until_its_models_are_removed(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    with served({"models": [f"{run}=en-de"]}) as client:
        for path in ("/health", "/health/live", "/health/ready"):
            assert client.get(path).json() == {"status": "ok"}
        run.rename(tmp_path / "moved")
        assert client.get("/health/live").status_code == 200
        answer = client.get("/health/ready")
        assert (answer.status_code, answer.json()) == (503, {"error": "the folders of all models were removed."})
        assert answer.headers["retry-after"] == "2"


def test_metrics_count_requests_by_path_and_status(translating: TestClient) -> None:
    translating.post("/translate", json={})
    translating.get("/no/such/path")
    text = translating.get("/metrics").text
    assert 'clearhead_requests_total{method="POST",path="/translate",status="400"}' in text
    assert 'clearhead_requests_total{method="",path="other",status="404"}' in text
    assert "/no/such/path" not in text
    assert "clearhead_batch_sentences_bucket" in text
    assert make_router.__doc__
