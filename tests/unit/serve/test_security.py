"""Requests of strangers: schemathesis, huge bodies, paths that lead out, and script in every text."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.attacks import given_up_cases
from tests.attacks.serve_cases import FuzzReport, attack
from tests.unit.serve.real_server import RealServer, answer_on, real_server
from tests.unit.serve.small_app import listening

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"
MEGABYTE = b" " * 2**20


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with real_server("--set", "limits.body_bytes=200000") as server:
        yield server


def posts(server: RealServer) -> list[str]:
    """Return the paths that take a body."""
    paths: dict[str, Any] = requests.get(f"{server.url}/openapi.json", timeout=60).json()["paths"]
    return [path for path, operations in paths.items() if "requestBody" in operations.get("post", {})]


@pytest.mark.slow
def test_no_request_that_schemathesis_makes_finds_a_bug_or_an_undocumented_answer() -> None:
    with listening({"explain": {"max_tokens": 12}}) as url:
        report = attack(url, 300)
    assert report.num_cases > 150
    assert len(report.answers) > 20
    assert not report.faults, str(report)


@pytest.mark.slow
def test_a_request_that_was_given_up_does_not_go_on_and_the_next_client_is_answered() -> None:
    assert given_up_cases.attack(4.0) == []


@pytest.mark.slow
def test_a_server_that_translates_a_very_long_line_ends_soon_after_its_time_to_finish_requests() -> None:
    body = {"text": given_up_cases.addresses(), "source": "en", "target": "es", "beam": 10}
    content = json.dumps(body).encode()
    heading = f"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n\r\n"
    with real_server("--set", "limits.shutdown_seconds=1") as server:
        assert server.translate().status_code == 200
        connection = server.connect(heading.encode() + content)
        time.sleep(2)
        server.process.terminate()
        assert server.process.wait(timeout=30) == 0  # the line would take minutes
        assert b" 503 " in answer_on(connection)


def test_the_report_of_schemathesis_names_every_fault() -> None:
    class Answer:
        status_code, text = 500, "oops"

        def json(self) -> object:
            return json.loads(self.text)

    report = FuzzReport()
    report.add("POST /x", ["200", "400"], Answer(), 40, "curl …")
    assert set(report.faults) == {
        "POST /x: status 500: oops",
        "POST /x: status 500 is not documented: oops",
        "POST /x: the body of status 500 is not an error: oops",
        "POST /x: took 40 s",
    }
    assert "| POST /x | 500: 1 |" in str(report)


def test_every_description_of_a_body_can_be_resolved(server: RealServer) -> None:
    text = requests.get(f"{server.url}/openapi.json", timeout=60).text
    description = json.loads(text)
    references = {part.split('"')[0] for part in text.split('"$ref":"#/')[1:]}
    for reference in references:
        place: Any = description
        for name in reference.split("/"):
            assert name in place, reference
            place = place[name]
    assert "HTTPValidationError" not in text
    assert len(posts(server)) > 10


def test_a_body_of_100_megabytes_is_refused_before_it_is_sent(server: RealServer) -> None:
    for path in posts(server):
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
        answer = answer_on(server.connect(f"{head}Content-Length: {100 * 2**20}\r\n\r\n".encode() + b'{"q": "'))
        status, _, content = answer.partition(b"\r\n\r\n")
        assert status.startswith(b"HTTP/1.1 413 ") or path == "/suggest", (path, answer)
        assert content.startswith(b'{"error":')


def test_a_body_of_100_megabytes_without_a_length_is_refused_on_the_way(server: RealServer) -> None:
    def chunks() -> Iterator[bytes]:
        yield b'{"problem": "'
        yield from [MEGABYTE] * 100

    before = _memory(server)
    for path in ("/v1/solve", "/v1/explain", "/translate"):
        headers = {"Content-Type": "application/json"}
        try:
            answer = requests.post(f"{server.url}{path}", data=chunks(), headers=headers, timeout=60)
        except requests.ConnectionError:  # the server has closed the connection while the client was sending
            continue
        assert answer.status_code == 413
    assert _memory(server) - before < 60e6
    assert server.translate().status_code == 200


def _memory(server: RealServer) -> float:
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize(
    "path",
    [
        "/static/../settings.py",
        "/static/..%2fsettings.py",
        "/static/%2e%2e/settings.py",
        "/static/....//settings.py",
        "/static//etc/passwd",
        "/v1/models/..%2f..%2fetc%2fpasswd",
        "/v1/models/%00",
        "/download_file/..%2f..%2fetc%2fpasswd",
        "/../../etc/passwd",
    ],
)
def test_a_path_that_leads_out_finds_nothing(server: RealServer, path: str) -> None:
    answer = answer_on(server.connect(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()))
    assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 ", b"HTTP/1.1 405 "))
    assert b"root:" not in answer
    assert b"class ServeSettings" not in answer


def test_script_in_a_text_is_never_sent_as_a_page(server: RealServer) -> None:
    bodies: dict[str, dict[str, Any]] = {
        "/translate": {"q": SCRIPT, "source": "en", "target": "es"},
        "/detect": {"q": SCRIPT},
        "/v1/translate": {"text": SCRIPT, "source": "en", "target": SCRIPT},
        "/v1/explain": {"text": SCRIPT, "model": SCRIPT},
        "/v1/what-if": {"text": "a", "without": [SCRIPT]},
        "/v1/solve": {"problem": {"kind": SCRIPT}},
        "/v1/check": {"working": SCRIPT, "format": "md"},
        f"/{SCRIPT}": {},
    }
    for path, body in bodies.items():
        answer = requests.post(f"{server.url}{path}", json=body, timeout=120)
        assert answer.headers["content-type"] == "application/json", path
        assert answer.headers["x-content-type-options"] == "nosniff", path


def test_the_server_listens_on_this_machine_only(server: RealServer) -> None:
    addresses = []
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        local, state = line.split()[1], line.split()[3]
        if state == "0A" and int(local.split(":")[1], 16) == server.port:
            addresses.append(local.split(":")[0])
    assert addresses == ["0100007F"]


def test_the_log_has_no_text_of_the_users(server: RealServer) -> None:
    server.translate("My secret is Rumpelstiltskin.")
    for path, body in (
        ("/v1/explain", {"text": "Rumpelstiltskin", "model": "none"}),
        ("/v1/solve", {"problem": "kind: Rumpelstiltskin"}),
        ("/v1/check", {"working": "Rumpelstiltskin"}),
        ("/Rumpelstiltskin", {}),
    ):
        requests.post(f"{server.url}{path}", json=body, timeout=60)
    requests.get(f"{server.url}/languages?secret=Rumpelstiltskin", timeout=60)
    assert "Rumpelstiltskin" not in "".join(server.lines)
