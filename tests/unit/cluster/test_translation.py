"""The work of a cluster in one process: windows that are read, translated and counted as on one machine."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clearhead.cluster.inputs import InputFile
from clearhead.cluster.job import ClusterReport, ClusterTranslation, repeated_sentence
from clearhead.cluster.messages import LineWindow, WindowResult
from clearhead.cluster.outputs import StreamOutput, first_lines, open_file, write_in_order
from clearhead.cluster.scoring import ScoringTask, ScoringWork, describe_scoring
from clearhead.cluster.translation import TranslationPlan, TranslationWork, check_worker, describe_translation
from clearhead.decoding.engines.engine import EngineNeeds
from clearhead.decoding.engines.opening import EngineChoice
from clearhead.decoding.job import JobInterrupted, JobOutput, TranslationJob
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import ClearheadError, DataError, RunError
from clearhead.files.line_input import LineSource
from clearhead.formats.model_folder import find_model
from tests.small_run import TEXTS, make_run

LINES = [source for source, _ in TEXTS[:3]] * 2 + ["", "a dog"]


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> TranslationPlan:
    model = find_model(make_run(tmp_path_factory.mktemp("model") / "run"))
    needs, search, options = EngineNeeds(), SearchSettings(), TranslationOptions()
    return TranslationPlan(model, EngineChoice("numpy"), needs, search, options, JobOutput(scores=True))


def _work(task: TranslationPlan, folder: Path, **changes: Any) -> TranslationWork:
    (folder / "in.txt").write_text("".join(f"{line}\n" for line in LINES))
    return TranslationWork(task, (LineSource("in.txt"),), (0,), folder, 3, **changes)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a reader changes to the folder of the command


def test_windows_are_translated_and_counted_as_by_a_job(task: TranslationPlan, tmp_path: Path) -> None:
    work = _work(task, tmp_path)
    worker = work.open(1)
    windows = [LineWindow.from_json(window.to_json()) for window in work.read()]
    assert [len(window.lines) for window in windows] == [3, 3, 2, 0]
    assert windows[-1].is_last
    report, content = ClusterReport(), b""
    for window in windows[:-1]:
        result = replace(worker.process(window), lines=tuple(line.line for line in window.lines))
        report.add(WindowResult.from_json(result.to_json(), result.content))
        content += result.content
    stream = io.BytesIO()
    job = TranslationJob(task.open(1), LineSource("in.txt"), task.search, task.options, task.output)
    job.to_stream(stream, 3)
    assert content == stream.getvalue()
    assert report.num_lines == len(LINES)
    assert report.findings == job.pipeline.unfamiliar.counts
    description = describe_translation(work, 1)
    assert {**description.settings, "form": "text", "column": "source"} == job.settings
    assert description.headings == ("translation", "score", "log_probs")


def test_a_resumed_source_starts_after_the_lines_that_are_done(task: TranslationPlan, tmp_path: Path) -> None:
    work = replace(_work(task, tmp_path), num_done=(5,))
    assert [line.number for window in work.read() for line in window.lines] == [6, 7, 8]


def test_a_source_that_cannot_be_read_ends_with_its_error(task: TranslationPlan, tmp_path: Path) -> None:
    work = _work(task, tmp_path)
    (tmp_path / "in.txt").write_bytes(b"one\ntwo\nthree\ncaf\xe9\n")
    first, second = work.read()
    assert [line.text for line in first.lines] == ["one", "two", "three"]
    assert str(second.error).startswith("in.txt:4: not UTF-8")


def test_a_worker_with_another_engine_or_version_is_refused(task: TranslationPlan, tmp_path: Path) -> None:
    description = describe_translation(_work(task, tmp_path), 1)
    assert _work(task, tmp_path, expected=description).open(1)
    other = replace(description, version="0.0.1")
    with pytest.raises(RunError, match=r"^the workers of the cluster differ: clearhead was \"0\.0\.1\" and is now "):
        _work(task, tmp_path, expected=other).open(1)
    with pytest.raises(RunError, match=r"engine was \"numpy\" and is now \"torch\"\. Give every node the same model"):
        check_worker({"engine": "numpy"}, {"engine": "torch"})


def test_skipped_lines_and_new_remarks_are_added_up() -> None:
    fault = {"file": "in.txt", "line": 3, "reason": "NUL byte"}
    remark = ["Choose a language.", ["language"], False]
    report = ClusterReport()
    window = {"num_skipped": 4, "skipped": [fault] * 4, "remarks": [remark]}
    assert [new.sentence for new in report.add(WindowResult(0, report=window, num_attempts=2))] == [
        "Choose a language."
    ]
    assert report.add(WindowResult(0, report=window)) == []
    assert (report.num_skipped, len(report.skipped), report.num_repeated) == (8, 5, 1)
    assert repeated_sentence(1) == (
        "1 window of lines was processed again, because a worker had died. No line is missing or written twice."
    )
    assert repeated_sentence(1234).startswith("1,234 windows of lines were processed again")


def test_a_parquet_file_has_one_row_for_each_line(task: TranslationPlan) -> None:
    files = [InputFile(LineSource("in.parquet"), Path("out.parquet"))]
    with pytest.raises(ClearheadError, match=r"^a Parquet file has one row for each row of the input"):
        ClusterTranslation(replace(task, output=JobOutput(as_json=True)), files)
    assert ClusterTranslation(task, files).report.num_lines == 0


def test_results_are_written_in_order_and_an_interrupted_output_is_resumed(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("one\ntwo\nthree\n")
    file = InputFile(LineSource("in.txt"), tmp_path / "out.txt")
    output = open_file(file, (), {"beam": 1}, resume=False)
    assert output is not None
    counted: list[WindowResult] = []

    def interrupted() -> Any:
        yield WindowResult(0, b"1\n2\n", ("one", "two"))
        raise KeyboardInterrupt

    with pytest.raises(JobInterrupted) as interruption:
        write_in_order([output], interrupted(), counted.append)
    assert (interruption.value.num_done, len(counted)) == (2, 1)
    output = open_file(file, (), {"beam": 1}, resume=True)
    assert output is not None
    output.skip(first_lines(file, output.num_done))
    rest = (result for result in (WindowResult(0, b"3\n", ("three",)), WindowResult(0, is_last=True)))
    write_in_order([output], rest, counted.append)
    assert (tmp_path / "out.txt").read_text() == "1\n2\n3\n"
    assert open_file(file, (), {"beam": 1}, resume=True) is None
    with pytest.raises(
        RunError, match=r"^the input has 3 lines, but 4 lines were already done\. Give the same input\.$"
    ):
        list(first_lines(file, 4))


def test_a_stream_gets_each_window_and_an_error_says_what_is_saved() -> None:
    stream = io.BytesIO()
    failing = (
        result for result in (WindowResult(0, b"1\n", ("one",)), WindowResult(0, error=DataError("in.txt:2: no.")))
    )
    with pytest.raises(DataError, match=r"^in\.txt:2: no\. The first 1 lines are done and saved\. Correct the input"):
        write_in_order([StreamOutput(stream, is_owned=False)], failing, lambda result: None)
    assert stream.getvalue() == b"1\n"


def test_pairs_are_read_and_scored_in_windows(task: TranslationPlan, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("the red cat\na dog\n")
    (tmp_path / "b").write_text("die Katze\nein Hund\n")
    work = ScoringWork(ScoringTask(task.model, ("a", "b")), tmp_path)
    window, last = work.read()
    assert last.is_last
    result = work.open(1).process(window)
    assert result.content.splitlines()[0] == b"log_prob\tperplexity\ttokens"
    assert result.report["total"]["num_sentences"] == 2
    description = describe_scoring(work, 1)
    assert description.has_source
    assert replace(work, expected=description).open(1)
    with pytest.raises(RunError, match=r"^the workers of the cluster differ: clearhead was "):
        replace(work, expected=replace(description, version="0.0.1")).open(1)
    resumed, _ = replace(work, num_done=1).read()
    assert [line.number for line in resumed.lines] == [2]
    (tmp_path / "b").write_text("die Katze\n")
    assert str(list(work.read())[-1].error).startswith("b ends after 1 lines, but a has more.")
