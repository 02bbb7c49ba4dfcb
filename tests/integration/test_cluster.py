"""Translating on a Ray cluster: the same bytes as in one process, also when processes are killed."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import pytest

from tests.command import run
from tests.ray_cluster import LIMIT, RunningCluster, processes_in, running_cluster, wait_for

if find_spec("ray") is None:  # it is not imported here: see running_cluster
    pytest.skip("ray is not installed", allow_module_level=True)

WINDOW = 11  # lines: many parts, so that there is a middle in which to kill
OPTIONS = ("--engine", "ctranslate2", "--quiet")
SENTENCES = [
    f"{person} {verb} {number} {thing} {place}."
    for place, person, verb, number, thing in product(
        ("in the garden", "at school", "near the old house"),
        ("My sister", "The teacher", "Our neighbour", "Nobody", "A small boy"),
        ("bought", "found", "has lost", "is looking for", "painted"),
        ("two", "three", "a few"),
        ("books", "red apples", "dogs", "chairs", "letters"),
    )
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with running_cluster() as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences, and what one machine makes of them."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "source.txt").write_text("".join(f"{line}\n" for line in SENTENCES))
    (folder / "short.txt").write_text("".join(f"{line}\n" for line in SENTENCES[:113]))
    for name in ("source", "short"):
        done = run("translate", *OPTIONS, "-i", f"{name}.txt", "-o", f"{name}.es", "--window", str(WINDOW), cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def _on_cluster(cluster: RunningCluster, *arguments: str) -> list[str]:
    return [*arguments, "--ray", cluster.address, "--workers", "2"]


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "clearhead.cli.main", *arguments]


def _run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own."""
    return subprocess.run(
        _command(*arguments), capture_output=True, cwd=cwd, timeout=LIMIT, check=False, encoding="utf-8"
    )


@pytest.mark.slow
def test_a_cluster_translates_as_one_process_does(cluster: RunningCluster, folder: Path, tmp_path: Path) -> None:
    options = ("--scores", "--align", "--beam", "2", "--engine", "torch", "--window", "29")
    here = run("translate", "-i", "short.txt", *options, cwd=folder)
    output = tmp_path / "out.es"
    command = _on_cluster(cluster, "translate", "-i", "short.txt", *options, "-o", str(output))
    there = _run(*command, cwd=folder)
    assert there.returncode == 0, there.stderr
    assert output.read_text() == here.stdout
    assert len(here.stdout.splitlines()) == 113
    assert [path.name for path in tmp_path.iterdir()] == ["out.es"]
    again = _run(*command, "--resume", cwd=folder)
    assert (again.returncode, output.read_text()) == (0, here.stdout)
    assert f"clearhead: {output} is already complete." in again.stderr


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_when_a_worker_and_then_the_command_are_killed(
    cluster: RunningCluster, folder: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.es"
    arguments = ["translate", *OPTIONS, "-i", str(folder / "source.txt"), "-o", str(output), "--window", str(WINDOW)]
    command = _command(*_on_cluster(cluster, *arguments))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: len(_parts(output)) >= 3 or process.poll() is not None)
    worker = cluster.workers()[0]
    os.kill(worker, signal.SIGKILL)
    before = len(_parts(output))
    wait_for(lambda: len(_parts(output)) >= before + 4 or process.poll() is not None)
    process.kill()
    assert process.wait() == -signal.SIGKILL, "it ended before it could be killed"
    complete = {path: path.stat().st_mtime_ns for path in _parts(output)}
    assert 7 <= len(complete) < len(SENTENCES) // WINDOW
    assert not output.exists()
    refused = _run(*_on_cluster(cluster, *arguments))
    assert refused.returncode == 2
    sentence = (
        f"{output}.parts exists already: a translation that was not finished. Delete it, or resume it (--resume)."
    )
    assert f"clearhead: {sentence}" in refused.stderr
    # The parts go with the job, so that a link to each shows whether it was written again.
    links = {path: Path(f"{tmp_path}/{path.name}.link") for path in complete}
    for path, link in links.items():
        os.link(path, link)
    resumed = _run(*_on_cluster(cluster, *arguments), "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert output.read_bytes() == (folder / "source.es").read_bytes()
    assert {path: links[path].stat().st_mtime_ns for path in complete} == complete
    assert not output.with_name("out.es.parts").exists()


def _parts(output: Path) -> list[Path]:
    """Return the complete parts."""
    return [path for path in output.with_name(f"{output.name}.parts").glob("*") if "." not in path.name]


@pytest.mark.slow
def test_without_a_running_cluster_one_is_started_on_this_machine_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as place:
        monkeypatch.setenv("RAY_TMPDIR", place)
        for name in ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        (tmp_path / "bad.txt").write_bytes(b"A dog.\ncaf\xe9\n")
        command = ("translate", *OPTIONS, "--on-fault", "skip", "-i", "bad.txt", "-o", "out", "--ray", "auto")
        done = _run(*command, "--workers", "1", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "out").read_text() == "Un perro.\n\n"
        assert "clearhead: bad.txt: 1 line was skipped: line 2 (invalid UTF-8)." in done.stderr
        wait_for(lambda: not processes_in(Path(place)))
