"""Names of clients and folders in headers, over a real socket: every request is answered, and no header is added."""

import json
from collections.abc import Iterator
from urllib.parse import unquote

import pytest
from starlette.responses import Response

from clearhead.serve import health_api
from clearhead.serve.server import Server
from tests.attacks.name_cases import CHARSETS, NAMES, part, post_form, read_answer
from tests.unit.serve.real_server import answer_on, connect
from tests.unit.serve.small_app import listening

LANGUAGES = part(b"source", b"en") + part(b"target", b"es")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with listening() as url:
        yield url


@pytest.mark.parametrize("name", NAMES)
def test_a_document_with_any_name_is_answered_and_its_name_adds_no_header(url: str, name: bytes) -> None:
    status, body = post_form(url, "/translate_file", part(b"file", b"Let's go", name) + LANGUAGES)
    if NAMES[name] is None:
        assert status in (400, 415), body
        return
    assert status == 200, body
    place = "/" + json.loads(body)["translatedFileUrl"].split("/", 3)[3]
    heading, _, text = answer_on(
        connect(url, f"GET {place} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    ).partition(b"\r\n\r\n")
    lines = heading.decode("ascii").lower().split("\r\n")
    names = {line.partition(":")[0] for line in lines[1:]}
    assert lines[0] == "http/1.1 200 ok"
    assert text == b"Vamos"
    assert "x-evil" not in names
    assert "x" not in names
    (disposition,) = [line for line in heading.decode().split("\r\n") if line.lower().startswith("content-disposition")]
    assert disposition.count("; filename*=") == 1
    assert unquote(disposition.partition("; filename*=UTF-8''")[2]) == NAMES[name]


@pytest.mark.parametrize("charset", CHARSETS)
def test_texts_and_names_of_a_form_in_another_charset_are_answered_by_a_sentence(url: str, charset: str) -> None:
    text = CHARSETS[charset]
    forms = {
        "/translate_file": part(b"file", b"Let's go", text + b".txt") + LANGUAGES,
        "/translate_file?": part(b"file", b"Let's go", b"a.txt") + part(b"source", b"auto") + part(b"target", text),
        "/translate": part(b"q", text) + LANGUAGES,
        "/detect": part(b"q", text),
    }
    for path, parts in forms.items():
        status, body = post_form(url, path, parts, charset)
        assert status in (200, 400), (path, body)
        if charset in ("utf-7", "punycode", "undefined"):
            assert json.loads(body) == {
                "error": "the form cannot be read: its texts and its file's name are not UTF-8."
            }, path


def test_a_language_of_a_client_does_not_make_a_header_that_is_too_long(url: str) -> None:
    parts = part(b"file", b"Let's go", b"a.txt") + part(b"source", b"en") + part(b"target", b"e" * 90_000)
    status, body = post_form(url, "/translate_file", parts)
    assert status == 400
    assert len(body) < 10_000


@pytest.mark.parametrize("host", ["a/b", "a?b", "[", "\u00fc", "a#b", "a:b:c", ""])
@pytest.mark.parametrize("path", ["/", "/why", "/static/site.js", "/openapi.json", "/no-such-page", "/v1/models"])
def test_any_host_is_answered(url: str, host: str, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode("latin-1")
    status, body = read_answer(url, request)
    assert status in (200, 400, 404), body


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\n\n<script>", "a\x00", "文"])
def test_a_header_that_would_end_the_answer_is_a_bug_that_is_answered(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No call makes such a header; if one ever does, its client is told of a bug, and the header is not sent."""
    make_router = health_api.make_router

    def with_bug(server: Server) -> object:
        router = make_router(server)

        @router.get("/health/bug", response_model=None)
        async def bug() -> Response:
            return Response(headers={"X-Name": value})

        return router

    monkeypatch.setattr(health_api, "make_router", with_bug)
    with listening({"has_pages": False}) as url:
        request = b"GET /health/bug HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        answer = answer_on(connect(url, request))
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert b"x-evil" not in answer.lower()
    assert b'{"error":"this is a bug in clearhead' in answer
