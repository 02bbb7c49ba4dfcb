"""The log: a JSON line for each request, without texts, even if there is a bug."""

import io
import json
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from clearhead.serve.api_keys import KeyFile
from clearhead.serve.app import create_app
from clearhead.serve.middleware import RequestMiddleware, notes_of
from clearhead.serve.request_log import RequestLog
from clearhead.serve.server import Server
from clearhead.serve.settings import KeySettings, ServeSettings

SECRET = "Rumpelstiltskin"


def logged(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_has_the_path_the_status_and_the_model_but_no_text() -> None:
    server = Server(ServeSettings(has_pages=False))
    server.log = RequestLog(stream=io.StringIO())
    stream = server.log._stream
    assert isinstance(stream, io.StringIO)
    with TestClient(create_app(server)) as client:
        client.post("/translate", params={"q": SECRET, "source": "en", "target": "es"})
        client.get(f"/{SECRET}")
    first, second = logged(stream)
    assert (first["method"], first["path"], first["status"]) == ("POST", "/translate", 200)
    assert (first["model"], first["texts"]) == ("tatoeba", 1)
    assert isinstance(first["ms"], float)
    assert (second["path"], second["status"]) == ("other", 404)
    assert SECRET not in stream.getvalue()


def test_the_line_of_a_request_too_many_has_the_name_of_the_key(tmp_path: Path) -> None:
    key = KeyFile(tmp_path / "k").add("Asha", rate=1)
    server = Server(ServeSettings(has_pages=False, keys=KeySettings(file=str(tmp_path / "k"))))
    stream = io.StringIO()
    server.log = RequestLog(stream=stream)
    with TestClient(create_app(server)) as client:
        for _ in range(2):
            client.post("/translate", json={"q": " ", "source": "en", "target": "es", "api_key": key})
            client.post("/v1/score", json={}, headers={"X-API-Key": key})
    assert [(line["status"], line["key"]) for line in logged(stream)] == [(200, "Asha"), *[(429, "Asha")] * 3]


def test_a_bug_is_answered_and_logged_without_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(ServeSettings(has_pages=False))
    server.log = RequestLog(stream=io.StringIO())

    def fail(texts: list[str]) -> None:
        raise KeyError(texts[0])

    monkeypatch.setattr(server, "check_texts", fail)
    with TestClient(create_app(server)) as client:
        answer = client.post("/translate", json={"q": SECRET, "source": "en", "target": "es"})
    assert answer.status_code == 500
    assert answer.json()["error"].startswith("this is a bug in clearhead, not a mistake of yours.")
    stream = server.log._stream
    assert isinstance(stream, io.StringIO)
    fault = logged(stream)[0]
    assert (fault["event"], fault["path"], fault["type"]) == ("fault", "/translate", "KeyError")
    assert "serve/libretranslate.py" in str(fault["places"])
    assert SECRET not in stream.getvalue()


def test_a_stream_that_was_closed_ends_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    stream.close()
    log = RequestLog(stream=stream)
    log.event("a")
    assert not log.is_on
    other = io.StringIO()
    monkeypatch.setattr(sys, "stderr", other)
    RequestLog().event("started", {"model": "m"})
    assert json.loads(other.getvalue())["model"] == "m"
    RequestLog(is_on=False).event("nothing")


def test_notes_of_a_request_are_kept_in_its_scope() -> None:
    scope: dict[str, object] = {}
    notes_of(scope)["model"] = "m"
    assert notes_of(scope) == {"model": "m"}
    assert RequestMiddleware.__doc__
