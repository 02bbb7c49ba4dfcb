"""Faults around the server: slow and silent clients, a folder that is removed, a full disk. The server goes on."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests

from clearhead.formats.built_in import MODELS
from clearhead.serve.api_keys import KeyFile
from tests.unit.serve.real_server import RealServer, answer_on, real_server

LIMITS = ("--set", "limits.read_seconds=1", "--set", "limits.connections=40")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    folder = tmp_path_factory.mktemp("models") / "mine"
    shutil.copytree(MODELS / "tatoeba", folder)
    with real_server("tatoeba", str(folder), *LIMITS) as server:
        assert server.translate().json() == {"translatedText": "Tengo un coche."}
        yield server


def test_a_client_that_sends_a_byte_at_a_time_is_answered_408_and_delays_nobody(server: RealServer) -> None:
    connection = server.connect()
    request = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60\r\n\r\n"
    end = time.monotonic() + 30
    for byte in request:
        try:
            connection.sendall(bytes([byte]))
        except OSError:
            break
        assert server.translate().status_code == 200
        assert time.monotonic() < end
    answer = answer_on(connection)
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert answer.endswith(b'{"error":"the request was not complete within 1 s."}')


def test_a_body_that_never_ends_is_answered_408(server: RealServer) -> None:
    answer = answer_on(server.connect(b"POST /v1/solve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60\r\n\r\n{"))
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")


def test_connections_that_send_nothing_are_limited_and_end(server: RealServer) -> None:
    with ExitStack() as stack:
        silent = [stack.enter_context(server.connect()) for _ in range(39)]
        assert server.translate().status_code == 200
        more = [server.connect() for _ in range(10)]
        refusals = [answer_on(connection) for connection in more]
        assert any(refusal.startswith(b"HTTP/1.1 503 Service Unavailable\r\n") for refusal in refusals)
        assert any(b"the server has too many connections. Try again later." in refusal for refusal in refusals)
        assert all(b"408 Request Timeout" in answer_on(connection) for connection in silent)
    assert server.translate().status_code == 200


@pytest.mark.slow
def test_thousands_of_half_open_connections_leave_room_for_others() -> None:
    most = min(10_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 500)
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < most + 100:
        pytest.skip(f"this process may open too few files for {most:,} connections")
    with real_server("--set", f"limits.connections={most + 100}", "--set", "limits.read_seconds=120") as server:
        with ExitStack() as stack:
            for _ in range(most):
                connection = stack.enter_context(server.connect(b"GET / HTTP/1.1\r\n"))
                connection.settimeout(60)
            start = time.monotonic()
            assert server.translate().status_code == 200
            assert time.monotonic() - start < 60
        assert server.translate().status_code == 200


def test_a_model_whose_folder_is_removed_is_one_sentence_and_the_others_go_on(server: RealServer) -> None:
    listed = requests.get(f"{server.url}/v1/models", timeout=60).json()["models"]
    assert [model["name"] for model in listed] == ["tatoeba", "mine"]
    shutil.rmtree(_folder_of(server))
    body = {"text": "I have a car.", "source": "en", "target": "es", "model": "mine"}
    for path, key in (("translate", "text"), ("explain", "text")):
        answer = requests.post(f"{server.url}/v1/{path}", json={**body, key: "I have a car."}, timeout=120)
        assert answer.status_code == 503, answer.text
        assert "the model mine" in answer.json()["error"]
        assert str(_folder_of(server)) not in answer.text
    assert server.translate().status_code == 200


def _folder_of(server: RealServer) -> Path:
    arguments = server.process.args
    assert isinstance(arguments, list)
    return Path(next(argument for argument in arguments if str(argument).endswith("/mine")))


def test_an_explain_process_that_is_killed_leaves_the_server_alone(server: RealServer) -> None:
    body = {"text": "I have a car.", "source": "en", "target": "es", "model": "tatoeba", "parts": ["tokens"]}
    assert requests.post(f"{server.url}/v1/explain", json=body, timeout=120).status_code == 200
    children = [
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if (folder / "cmdline").exists() and b"worker_loop\0explain" in (folder / "cmdline").read_bytes()
        and _parent(folder) == server.process.pid
    ]  # fmt: skip
    assert len(children) == 1
    os.kill(children[0], signal.SIGKILL)
    while Path(f"/proc/{children[0]}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)  # a process with large memory needs a while to end
    assert server.translate().status_code == 200
    assert requests.post(f"{server.url}/v1/explain", json=body, timeout=120).status_code == 200


def _parent(folder: Path) -> int:
    return int((folder / "stat").read_text().rpartition(")")[2].split()[1])


def test_a_full_disk_for_keys_is_one_sentence_and_keeps_the_old_keys(tmp_path: Path) -> None:
    path = tmp_path / "keys.sqlite"
    key = KeyFile(path).add("first")
    # A limit on the size of files stands in for a full disk: every write beyond the present size fails.
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
        "from clearhead.cli.main import main; sys.argv[0] = 'clearhead'; main()"
    )
    command = [sys.executable, "-c", script, "serve", "--keys", str(path), "--add-key", "second"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 2
    assert process.stdout == ""
    assert f"the keys in {path} cannot be used: " in process.stderr
    assert "Traceback" not in process.stderr
    keys = KeyFile(path).keys()
    assert [entry.name for entry in keys] == ["first"]
    found = KeyFile(path).find(key)
    assert found is not None
    assert found.name == "first"


def test_a_server_whose_keys_are_damaged_says_so_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "keys.sqlite"
    key = KeyFile(path).add("first")
    with real_server("--keys", str(path), "--require-key") as server:
        assert server.translate(api_key=key).status_code == 200
        path.write_bytes(b"no database" * 100)
        answer = server.translate(api_key=f"{key}x")
        assert answer.status_code == 503
        assert answer.json() == {"error": "the API keys cannot be read at present. Try again later."}
        assert str(path) not in answer.text
        path.unlink()
        KeyFile(path).add("second")
        assert server.translate(api_key=f"{key}y").status_code == 403


def test_a_server_that_is_told_to_stop_finishes_what_it_began() -> None:
    with real_server() as server:
        server.translate()
        body = b'{"q": "I have a car.", "source": "en", "target": "es"}'
        head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        connection = server.connect(head % len(body) + body[:20])
        time.sleep(0.2)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        connection.sendall(body[20:])
        answer = answer_on(connection)
        assert server.process.wait(timeout=60) == 0
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b'{"translatedText":"Tengo un coche."}')
