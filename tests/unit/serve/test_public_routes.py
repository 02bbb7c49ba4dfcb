"""What can be called without a key if keys are required: every route of the application is tried, not a list of them."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient

from clearhead.formats.built_in import built_in_models
from clearhead.serve import health_api
from clearhead.serve.access import KEY_IN_BODY, PUBLIC
from clearhead.serve.api_keys import KeyFile
from clearhead.serve.app import create_app
from clearhead.serve.page_files import PAGES
from clearhead.serve.server import Server
from clearhead.serve.settings import ServeSettings
from clearhead.settings import read_settings
from tests.attacks.route_cases import LIBRE_SENTENCE, ask_every_route, route_paths
from tests.unit.serve.real_server import answer_on, connect
from tests.unit.serve.small_app import listening

MODEL, TITLE = "model-of-this-server", "Translates between zebras and okapis."
PAGE_ROUTES = {*PAGES, "/static/{name:path}", "/frame/{name}", "/openapi.json"}


class Locked(NamedTuple):
    """An application that requires keys, and one of its keys."""

    settings: dict[str, Any]
    app: FastAPI
    key: str


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Locked:
    place = tmp_path_factory.mktemp("locked")
    key = KeyFile(place / "keys").add("a")
    shutil.copytree(built_in_models()[0].folder, place / MODEL)
    description = json.loads((place / MODEL / "model.json").read_text())
    (place / MODEL / "model.json").write_text(json.dumps({**description, "summary": TITLE}))
    keys = {"file": str(place / "keys"), "is_required": True}
    settings = {"models": [str(place / MODEL)], "keys": keys, "log": "off"}
    return Locked(settings, app_of(settings), key)


@pytest.fixture(scope="module")
def client(locked: Locked) -> Iterator[TestClient]:
    """A client without a key."""
    with TestClient(locked.app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="module")
def url(locked: Locked) -> Iterator[str]:
    """The address of a server that requires keys, behind a real socket."""
    with listening({**locked.settings, "limits": {"body_bytes": 2000}}) as url:
        yield url


def app_of(settings: dict[str, Any]) -> FastAPI:
    return create_app(Server(read_settings(ServeSettings, settings)))


# ---- all routes ----


def test_every_route_refuses_a_request_without_a_key_unless_it_is_public(locked: Locked, client: TestClient) -> None:
    answers = ask_every_route(client, locked.app, {"name": MODEL})
    assert {answer.path for answer in answers} == route_paths(locked.app)
    assert {answer.path for answer in answers if not answer.is_refused} == PUBLIC | PAGE_ROUTES
    for answer in answers:
        assert TITLE.encode() not in answer.content, answer
        if answer.status == 400:
            assert answer.path in KEY_IN_BODY, answer


def test_the_walk_sees_all_that_the_description_of_the_api_has(locked: Locked, client: TestClient) -> None:
    described = set(client.get("/openapi.json").json()["paths"])
    assert described < route_paths(locked.app)
    assert len(described) > 20


def test_a_new_route_needs_a_key_although_nobody_has_thought_of_it(
    locked: Locked, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_router = health_api.make_router

    def with_new_route(server: Server) -> APIRouter:
        router = make_router(server)
        router.add_api_route("/new", lambda: {"secret": 1}, methods=["GET"])
        return router

    monkeypatch.setattr(health_api, "make_router", with_new_route)
    app = app_of(locked.settings)
    assert "/new" in route_paths(app)
    client = TestClient(app, raise_server_exceptions=False)
    assert client.get("/new").status_code == 401
    assert client.get("/new", headers={"X-API-Key": locked.key}).json() == {"secret": 1}


@pytest.mark.parametrize("path", ["/metrics", "/v1/models", f"/v1/models/{MODEL}", "/v1/languages", "/languages"])
def test_lists_of_models_languages_and_metrics_are_answered_with_a_key(
    locked: Locked, client: TestClient, path: str
) -> None:
    for headers, query in (
        ({"Authorization": f"Bearer {locked.key}"}, {}),
        ({"X-API-Key": locked.key}, {}),
        ({}, {"api_key": locked.key}),
    ):
        assert client.get(path, headers=headers, params=query).status_code == 200
    answer = client.get(path, headers={"X-API-Key": "wrong"})
    assert (answer.status_code, answer.json()) == (403, {"error": "Invalid API key"})


def test_a_request_counts_once_towards_the_rate_of_its_key(tmp_path: Path) -> None:
    key = KeyFile(tmp_path / "keys").add("a", rate=3)
    app = app_of({"keys": {"file": str(tmp_path / "keys"), "is_required": True}, "log": "off"})
    calls: list[dict[str, Any]] = [
        {"headers": {"X-API-Key": key}},
        {"json": {"api_key": key}},
        {"params": {"api_key": key}, "json": {"api_key": key}},
    ]
    with TestClient(app) as client:
        for call in calls:
            answer = client.post("/detect", **call)
            assert answer.json() == {"error": "Invalid request: missing q parameter"}
        assert client.post("/detect", **calls[0]).status_code == 429


# ---- bodies ----


def head(path: str, length: str, *headers: str) -> bytes:
    """Return the head of an upload, whose body the client does not send yet."""
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        "Connection: close",
        "Content-Type: multipart/form-data; boundary=x",
        length,
        *headers,
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


@pytest.mark.parametrize("length", ["Content-Length: 5000000", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize(
    ("path", "header", "status"),
    [
        ("/translate_file", "X-Nothing: 1", 400),
        ("/translate_file", "X-API-Key: wrong", 403),
        ("/translate_file?api_key=wrong", "X-Nothing: 1", 403),
        ("/v1/translate", "X-Nothing: 1", 401),
        ("/v1/translate", "Authorization: Bearer wrong", 403),
        ("/translate", "Authorization: Bearer wrong", 403),
    ],
)
def test_a_body_is_not_waited_for_before_the_key_is_known_to_be_missing_or_wrong(
    url: str, path: str, header: str, status: int, length: str
) -> None:
    """Nothing of the body is ever sent, so a server that reads it first would answer 408 after its time limit."""
    answer = answer_on(connect(url, head(path, length, header)))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer


def test_a_long_form_needs_its_key_outside_and_a_short_one_can_contain_it(url: str, locked: Locked) -> None:
    def upload(content: bytes, key: str, **options: Any) -> requests.Response:
        fields = {"source": "en", "target": "es", "api_key": key}
        files = {"file": ("a.txt", content)}
        return requests.post(f"{url}/translate_file", data=fields, files=files, timeout=60, **options)

    long = b"Let's go" + b"\n" * 3000
    assert upload(b"Let's go", locked.key).status_code == 200
    assert upload(b"Let's go", "wrong").json() == {"error": "Invalid API key"}
    assert upload(b"Let's go", "").json() == {"error": LIBRE_SENTENCE}
    answer = upload(long, locked.key)
    advice = "A form of more than 2,000 bytes needs it in a header, or in the address: ?api_key=KEY."
    assert (answer.status_code, answer.json()) == (400, {"error": f"{LIBRE_SENTENCE}. {advice}"})
    assert upload(long, "", headers={"X-API-Key": locked.key}).status_code == 200
    assert upload(long, "", params={"api_key": locked.key}).status_code == 200


def test_the_address_of_a_document_is_its_key(url: str, locked: Locked) -> None:
    files, headers = {"file": ("a.txt", b"Let's go")}, {"X-API-Key": locked.key}
    fields = {"source": "en", "target": "es"}
    answer = requests.post(f"{url}/translate_file", data=fields, files=files, headers=headers, timeout=60).json()
    address = answer["translatedFileUrl"]
    assert len(address.rpartition("/")[2]) == 24  # 144 random bits
    assert requests.get(address[:-1], timeout=60).status_code == 404
    assert requests.get(address, timeout=60).text == "Vamos"
