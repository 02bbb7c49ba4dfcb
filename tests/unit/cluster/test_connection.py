"""Addresses of clusters: what is not one, what does not answer, and what answers but is not Ray."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import TextIO, cast

import pytest

from clearhead.cluster import connection
from clearhead.errors import ConfigError, RunError
from tests.command import run


@pytest.fixture
def port() -> Iterator[int]:
    """A port where something listens that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that refuses connections: it is bound, so that nobody else gets it, and nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.mark.parametrize("address", ["", "10.0.0.1", "ray://10.0.0.1:10001", "host:", ":6379", "host:0", "host:70000"])
def test_what_is_not_an_address_is_refused(address: str) -> None:
    sentence = (
        rf"^'{address}' is not the address of a Ray cluster\. Give auto, or HOST:PORT as `ray start` prints it\.$"
    )
    with pytest.raises(ConfigError, match=sentence) as refusal, connection.connected(address):
        pass
    assert refusal.value.options == ("ray",)


def test_an_address_that_does_not_answer_is_one_sentence_on_the_command_line(closed_port: int, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("Good morning.\n")
    address = f"127.0.0.1:{closed_port}"
    done = run("translate", "--ray", address, "-i", "in.txt", "-o", "out.txt", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"clearhead: no Ray cluster answers at {address} within 10 s: Connection refused. Start one with `ray start`, "
        "correct the address, or give auto (--ray).\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_something_that_is_not_ray_is_given_up_after_a_limit(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ANSWER_LIMIT", 3.0)
    sentence = (
        rf"^what answers at 127\.0\.0\.1:{port} is not a Ray cluster of this version, or it did not answer within 3"
    )
    with pytest.raises(RunError, match=sentence), connection.connected(f"127.0.0.1:{port}"):
        pass


def test_a_cluster_that_has_ended_is_not_taken_for_a_running_one(
    closed_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    assert connection._existing_cluster() is None
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(f"127.0.0.1:{closed_port}\n")
    assert connection._existing_cluster() is None


def test_the_address_of_the_environment_must_answer(closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{closed_port}")
    with pytest.raises(RunError, match=r"^no Ray cluster answers at 127\.0\.0\.1:"):
        connection._existing_cluster()


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "find_spec", lambda name: None)
    sentence = (
        r"^a cluster needs ray, which is not installed\. Run pip install '\.\[cluster\]' in a clone of clearhead\.$"
    )
    with pytest.raises(ConfigError, match=sentence), connection.connected("auto"):
        pass


def test_a_cluster_of_this_machine_has_a_token_of_its_own_unless_the_user_chose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "mine")
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    connection._set_token()
    assert os.environ["RAY_AUTH_TOKEN"] == "mine"
    monkeypatch.delenv("RAY_AUTH_MODE")
    connection._set_token()
    assert os.environ["RAY_AUTH_MODE"] == "token"
    assert len(os.environ["RAY_AUTH_TOKEN"]) == 64


def test_usage_statistics_are_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    monkeypatch.setattr(os, "environ", dict(os.environ))
    connection._prepare_environment()
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_workers_that_remain_are_ended_and_other_processes_are_not() -> None:
    script = "import sys; print('ready', flush=True); sys.stdin.read()"
    titles = ("ray::IDLE", "python")
    programs = [
        subprocess.Popen(
            [title, "-c", script],
            executable=sys.executable,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for title in titles
    ]
    try:
        for program in programs:
            assert program.stdout is not None
            assert program.stdout.readline() == b"ready\n"
        worker, other = programs
        workers = connection._local_workers()
        assert worker.pid in workers
        assert other.pid not in workers
        connection._end_workers({worker.pid, other.pid})
        assert worker.wait() == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for program in programs:
            program.kill()
            program.communicate()


def test_what_a_thread_of_ray_prints_does_not_reach_the_results(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with redirect_stdout(cast(TextIO, connection.OwnOutput(sys.stdout))):
        thread = threading.Thread(target=print, args=("(raylet) A worker died",))
        thread.start()
        thread.join()
        print("one", flush=True)
        sys.stdout.buffer.write(b"two\n")
        sys.stdout.flush()
    assert capfdbinary.readouterr().out == b"one\ntwo\n"


def test_an_empty_address_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a dog\n")
    done = run("translate", "-m", "en-es", "-i", "text", "--ray", "", cwd=tmp_path)
    sentence = "--ray is empty. Give the address of a Ray cluster, such as 10.0.0.1:6379, or auto."
    assert (done.returncode, done.stderr) == (2, f"clearhead: {sentence}\n")


def test_a_parquet_file_needs_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "lines.parquet").write_bytes(b"PAR1")
    done = run("translate", "-m", "en-es", "-i", "lines.parquet", cwd=tmp_path)
    sentence = "lines.parquet is a Parquet file, which is read only with --ray auto."
    assert (done.returncode, done.stderr) == (2, f"clearhead: {sentence}\n")
