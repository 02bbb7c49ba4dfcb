"""Translating and scoring on a Ray cluster: the same bytes as on one machine, also when processes are killed."""

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import pytest

from tests.command import run
from tests.ray_cluster import LIMIT, RunningCluster, processes_in, running_cluster, wait_for

pyarrow = pytest.importorskip("pyarrow")
if find_spec("ray") is None:  # it is not imported here: see running_cluster
    pytest.skip("ray is not installed", allow_module_level=True)

WINDOW = 11  # lines: many windows, so that there is a middle in which to kill
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
def test_a_cluster_translates_as_one_machine_does(cluster: RunningCluster, folder: Path) -> None:
    options = ("--scores", "--align", "--beam", "2", "--engine", "torch", "--window", "29")
    here = run("translate", "-i", "short.txt", *options, cwd=folder)
    there = _run(*_on_cluster(cluster, "translate", "-i", "short.txt", *options), cwd=folder)
    assert (there.returncode, there.stdout) == (0, here.stdout), there.stderr
    assert len(there.stdout.splitlines()) == 113
    assert sorted(there.stderr.splitlines()) == sorted(here.stderr.splitlines())


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_when_workers_are_killed(
    cluster: RunningCluster, folder: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.es"
    arguments = ["translate", *OPTIONS, "-i", str(folder / "source.txt"), "-o", str(output), "--window", str(WINDOW)]
    process = subprocess.Popen(_command(*_on_cluster(cluster, *arguments)), stderr=subprocess.PIPE)
    killed: list[int] = []
    for num_lines in (3 * WINDOW, 30 * WINDOW):  # first one of the workers, later all that there are
        wait_for(lambda num_lines=num_lines: _lines_done(output) >= num_lines or process.poll() is not None)
        wait_for(lambda: bool(cluster.workers()) or process.poll() is not None)
        for number in cluster.workers()[: 2 if killed else 1]:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
                killed.append(number)
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, errors.decode()
    assert len(killed) >= 2
    assert output.read_bytes() == (folder / "source.es").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["out.es"]
    ending = "processed again, because a worker had died. No line is missing or written twice."
    assert all(line.endswith(ending) for line in errors.decode().splitlines())


@pytest.mark.slow
def test_a_driver_that_is_killed_is_resumed_on_the_cluster_or_on_one_machine(
    cluster: RunningCluster, folder: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.es"
    arguments = ["translate", *OPTIONS, "-i", str(folder / "source.txt"), "-o", str(output), "--window", str(WINDOW)]
    command = _command(*_on_cluster(cluster, *arguments), "--resume")
    first = _killed_after(command, output, 3 * WINDOW)
    second = _killed_after(command, output, first + 3 * WINDOW)
    assert 3 * WINDOW <= first < second < len(SENTENCES)
    assert not output.exists()
    done = run(*arguments, "--resume")  # on one machine
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert output.read_bytes() == (folder / "source.es").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["out.es"]


def _killed_after(command: list[str], output: Path, num_lines: int) -> int:
    """Start a driver, kill it when it has done some lines, and return how many there were then."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: _lines_done(output) >= num_lines or process.poll() is not None)
    process.kill()
    assert process.wait() == -signal.SIGKILL, "it ended before it could be killed"
    return _lines_done(output)


def _lines_done(output: Path) -> int:
    try:
        return int(json.loads(output.with_name(output.name + ".part.json").read_bytes())["lines"])
    except FileNotFoundError:
        return 0


@pytest.mark.slow
def test_a_folder_of_lines_tables_and_parquet_is_translated_file_by_file(
    cluster: RunningCluster, folder: Path, tmp_path: Path
) -> None:
    from pyarrow import parquet

    expected = (folder / "short.es").read_text().splitlines()
    source = tmp_path / "in"
    (source / "more").mkdir(parents=True)
    (source / "a.txt").write_text((folder / "short.txt").read_text())
    (source / "empty.txt").write_bytes(b"")
    with gzip.open(source / "more" / "b.txt.gz", "wb") as packed:
        packed.write((folder / "short.txt").read_bytes())
    rows = enumerate(SENTENCES[:113])
    (source / "c.tsv").write_text("id\tsource\n" + "".join(f"{number}\t{line}\n" for number, line in rows))
    table = pyarrow.table({"source": SENTENCES[:113], "id": list(range(113))})
    parquet.write_table(table, source / "d.parquet", row_group_size=23)
    (source / ".hidden").write_text("not an input\n")
    command = _on_cluster(cluster, "translate", *OPTIONS, "-i", "in", "-o", "out", "--window", str(WINDOW), "--resume")
    done = _run(*command, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    output = tmp_path / "out"
    files = sorted(str(path.relative_to(output)) for path in output.rglob("*") if path.is_file())
    assert files == ["a.txt", "c.tsv", "d.parquet", "empty.txt", "more/b.txt"]
    assert (output / "a.txt").read_text().splitlines() == expected
    assert (output / "more" / "b.txt").read_text().splitlines() == expected
    assert (output / "empty.txt").read_bytes() == b""
    heading, *lines = (output / "c.tsv").read_text().splitlines()
    assert heading == "id\tsource\ttranslation"
    assert [line.split("\t")[0] for line in lines] == [str(number) for number in range(113)]
    added = parquet.read_table(output / "d.parquet")
    assert added.column_names == ["source", "id", "translation"]
    assert added.drop_columns(["translation"]).equals(table)
    assert added["translation"].to_pylist() == expected
    again = _run(*command, cwd=tmp_path)
    assert again.returncode == 0
    names = ["out/a.txt", "out/c.tsv", "out/d.parquet", "out/empty.txt", "out/more/b.txt"]
    assert again.stderr.splitlines() == [f"clearhead: {name} is already complete." for name in names]


@pytest.mark.slow
def test_a_cluster_scores_and_filters_as_one_machine_does(
    cluster: RunningCluster, folder: Path, tmp_path: Path
) -> None:
    pairs = (str(folder / "short.txt"), str(folder / "short.es"))
    command = ("score", "-m", "en-es", *pairs, "--tokens", "--json", "--max-perplexity", "1.6")
    here = run(*command)
    file = tmp_path / "kept.jsonl"
    there = _run(*_on_cluster(cluster, *command, "-o", str(file)))
    assert (there.returncode, there.stdout, there.stderr) == (0, "", here.stderr)
    assert file.read_text() == here.stdout
    assert 0 < len(here.stdout.splitlines()) < 113


@pytest.mark.slow
def test_errors_of_the_input_are_those_of_one_machine(cluster: RunningCluster, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes("".join(f"{line}\n" for line in SENTENCES[:2]).encode() + b"caf\xe9\n")
    command = _on_cluster(cluster, "translate", *OPTIONS, "-i", "bad.txt", "-o", "out", "--window", "1")
    done = _run(*command, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "clearhead: bad.txt:3: not UTF-8: byte 0xe9 at byte 4. Convert the file to UTF-8. Such lines can be skipped. "
        "The first 2 lines are done and saved. Correct the input, then resume (--resume).\n"
    )
    assert (tmp_path / "out.part").read_text().splitlines() == (folder / "short.es").read_text().splitlines()[:2]


@pytest.mark.slow
def test_without_a_running_cluster_one_is_started_on_this_machine_and_ended(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as place:
        monkeypatch.setenv("RAY_TMPDIR", place)
        for name in ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        command = ("translate", *OPTIONS[:2], "-i", "short.txt", "--window", str(WINDOW), "--ray", "auto")
        done = _run(*command, "--workers", "1", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert done.stdout == (folder / "short.es").read_text()
        first, *advice = done.stderr.splitlines()
        assert first == "clearhead: no Ray cluster is running, so one with 1 worker was started on this machine."
        assert all(line.startswith("clearhead: ") and " of 113 lines: " in line for line in advice)
        wait_for(lambda: not processes_in(Path(place)))
