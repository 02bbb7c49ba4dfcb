"""Parts of a file for the workers of a cluster, without a cluster."""

from pathlib import Path

import pytest

from clearhead.decoding.engines.engine import EngineNeeds
from clearhead.decoding.engines.opening import EngineChoice
from clearhead.decoding.job import JobHooks, JobOutput
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.ray_job import PartSource, PartWorker, RayCluster, RayTask
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import ConfigError, RunError
from clearhead.files.line_input import LineSource
from clearhead.formats.model_folder import find_model


def task_of(folder: Path, name: str = "source.tsv") -> RayTask:
    source = LineSource.of(str(folder / name), None, None, None)
    return RayTask(
        find_model("en-es"),
        EngineChoice("ctranslate2", "cpu"),
        EngineNeeds(),
        SearchSettings(),
        TranslationOptions(),
        JobOutput(),
        None,
        source,
        folder / "out",
        2,
        folder,
    )


def test_a_part_has_the_lines_of_its_range_with_their_numbers_and_the_columns_of_the_header(tmp_path: Path) -> None:
    (tmp_path / "source.tsv").write_text("id\tsource\n1\tA dog.\n2\tA cat.\n3\tA house.\n")
    source = PartSource(str(tmp_path / "source.tsv"), "tsv", start=2, stop=4)
    assert [(line.number, line.text) for line in source.records()] == [(3, "A cat."), (4, "A house.")]


def test_a_worker_writes_a_part_once_and_ends_after_too_many_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source.tsv").write_text("id\tsource\n1\tA dog.\n2\tA cat.\n")
    task = task_of(tmp_path)
    task.parts.mkdir()
    worker = PartWorker(task)
    part = task.parts / "1-3"
    first = worker.translate(1, 3)
    assert (first.num_lines, first.error, first.remarks) == (2, None, ())
    assert part.read_text() == "1\tA dog.\tUn perro.\n2\tA cat.\tUn gato.\n"
    time = part.stat().st_mtime_ns
    again = [worker.translate(1, 3) for _ in range(4)]
    assert part.stat().st_mtime_ns == time
    assert [result.error for result in again[:3]] == [None] * 3
    assert isinstance(again[3].error, RunError)
    assert str(again[3].error) == (
        "lines 2 to 3 have ended 4 workers, perhaps because memory ran out. Use fewer workers or a smaller window."
    )


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("nowhere", "'nowhere' is not the address of a Ray cluster. Give auto, or HOST:PORT as `ray start` prints it."),
        (
            "127.0.0.1:1",
            "no Ray cluster answers at 127.0.0.1:1: Connection refused. Start one with `ray start`, correct the "
            "address, or give auto.",
        ),
    ],
)
def test_an_address_without_a_cluster_is_an_error_at_once(address: str, sentence: str, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    (tmp_path / "source.tsv").write_text("source\nA dog.\n")
    with pytest.raises((ConfigError, RunError)) as caught:
        RayCluster(address).translate(task_of(tmp_path), JobHooks())
    assert str(caught.value) == sentence


def test_an_output_that_one_process_has_started_is_not_joined_from_parts(tmp_path: Path) -> None:
    (tmp_path / "source.tsv").write_text("source\nA dog.\n")
    (tmp_path / "out.part").write_text("Un perro.\n")
    with pytest.raises(RunError) as caught:
        RayCluster("auto").translate(task_of(tmp_path), JobHooks(), resume=True)
    out = tmp_path / "out"
    assert str(caught.value) == f"{out} was started in one process. Finish it there, or delete {out}.part."
