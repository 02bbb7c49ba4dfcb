"""The server as a process: headers without end, a stop that finishes what it began, and addresses in use."""

import signal
import socket
import threading
import time
from contextlib import suppress
from typing import Any

import pytest
import requests

from clearhead.errors import ConfigError
from clearhead.serve.http_server import bind, is_reachable_by_anybody, limited_protocol
from clearhead.serve.settings import LimitSettings, ServeSettings
from tests.unit.serve.real_server import answer_on, real_server
from tests.unit.serve.small_app import listening


def test_headers_without_end_are_refused() -> None:
    with listening({"has_pages": False}) as url:
        connection = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=30)
        with suppress(OSError):  # it can be closed before everything is sent
            connection.sendall(b"GET /health HTTP/1.1\r\n" + b"x: " + b"y" * 200_000)
        answer = answer_on(connection)
        assert answer.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
        assert answer.endswith(b'{"error":"the address and the headers have more than 65,536 bytes."}')
        assert requests.get(f"{url}/health", timeout=30).json() == {"status": "ok"}


def test_sigterm_finishes_what_has_begun_and_ends_with_0() -> None:
    texts = [f"I have {number} books, and my brother has {number + 7} big houses." for number in range(11, 311)]
    answers: list[requests.Response] = []
    with real_server("--set", "log=off") as server:
        server.translate()

        def ask() -> None:
            body = {"q": texts, "source": "en", "target": "es"}
            answers.append(requests.post(f"{server.url}/translate", json=body, timeout=60))

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.2)
        server.process.send_signal(signal.SIGTERM)
        thread.join()
        assert server.process.wait(timeout=60) == 0
    assert answers[0].status_code == 200
    assert len(answers[0].json()["translatedText"]) == 300


def test_a_document_that_is_too_long_for_the_time_to_stop_is_answered_503_without_a_traceback() -> None:
    lines = "\n".join(f"I have {number} books, and my brother has big houses." for number in range(11, 8011))
    answers: list[requests.Response] = []
    with real_server("--set", "limits.shutdown_seconds=1") as server:
        server.translate()

        def ask() -> None:
            fields = {"source": "en", "target": "es"}
            files = {"file": ("long.txt", lines.encode())}
            answers.append(requests.post(f"{server.url}/translate_file", data=fields, files=files, timeout=60))

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.7)
        server.process.send_signal(signal.SIGINT)
        thread.join()
        assert server.process.wait(timeout=60) == 0
    sentence = "the server is stopping and could not finish this request. Try again later."
    assert (answers[0].status_code, answers[0].json()) == (503, {"error": sentence})
    assert answers[0].headers["retry-after"] == "10"
    assert "Traceback" not in "".join(server.lines)
    assert '"path":"/translate_file","status":503' in "".join(server.lines)


def test_a_client_that_goes_leaves_the_queue() -> None:
    with listening({"has_pages": False, "queue": {"max_batch": 1}}) as url:
        requests.post(f"{url}/translate", json={"q": "a", "source": "en", "target": "es"}, timeout=60)
        texts = [f"I have {number} books." for number in range(100, 500)]
        for _ in range(3):
            with pytest.raises(requests.Timeout):
                requests.post(f"{url}/translate", json={"q": texts, "source": "en", "target": "es"}, timeout=0.2)
        deadline = time.monotonic() + 30
        while "clearhead_waiting_sentences 0.0" not in requests.get(f"{url}/metrics", timeout=30).text:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert "clearhead_cancelled_total 3.0" in requests.get(f"{url}/metrics", timeout=30).text


def test_an_address_in_use_is_one_sentence() -> None:
    listener = bind("127.0.0.1", 0)
    try:
        port = listener.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port = {port} cannot be used: Address already in use. Choose another"):
            bind("127.0.0.1", port)
    finally:
        listener.close()
    with pytest.raises(ConfigError, match="host = '203.0.113.7' is not an address of this machine: Cannot assign"):
        bind("203.0.113.7", 0)
    assert limited_protocol(LimitSettings()).__name__ == "LimitedProtocol"


@pytest.mark.parametrize(
    ("settings", "is_open"),
    [
        ({}, False),
        ({"host": "localhost"}, False),
        ({"host": "::1"}, False),
        ({"host": "0.0.0.0"}, True),
        ({"host": "0.0.0.0", "keys": {"is_required": True}}, False),
        ({"host": "server.example"}, True),
    ],
)
def test_a_server_for_other_machines_without_keys_is_recognised(settings: dict[str, Any], is_open: bool) -> None:
    assert is_reachable_by_anybody(ServeSettings.model_validate(settings)) is is_open


def test_pages_of_other_origins_may_call_only_if_they_are_allowed() -> None:
    with listening({"has_pages": False, "cors": ["https://a.example"]}) as url:
        allowed = requests.get(f"{url}/languages", headers={"Origin": "https://a.example"}, timeout=30)
        assert allowed.headers["access-control-allow-origin"] == "https://a.example"
        other = requests.get(f"{url}/languages", headers={"Origin": "https://b.example"}, timeout=30)
        assert "access-control-allow-origin" not in other.headers
