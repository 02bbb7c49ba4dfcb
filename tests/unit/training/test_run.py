"""The run folder: nothing is overwritten, two processes never share it, and it records how it was made."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clearhead import __version__
from clearhead.errors import RunError
from clearhead.training.outcome import KeptScore, Outcome
from clearhead.training.run import RunFolder
from tests.unit.training.configs import least
from tests.unit.training.fake_loop import corpus_record

BLEU = KeptScore("BLEU", 31.7, "nrefs:1|case:mixed")
HOLD = (
    "import sys, time\n"
    "from clearhead.training.run import RunFolder\n"
    "from tests.unit.training.configs import least\n"
    "folder = RunFolder.reopen(sys.argv[1]) if '--resume' in sys.argv else RunFolder.create(sys.argv[1], least())\n"
    "print('held', flush=True)\n"
    "time.sleep(60)\n"
)
ROOT = Path(__file__).parents[3]


def holder(folder: Path, *options: str) -> subprocess.Popen[str]:
    """Start a process that has the folder's lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), *options], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str], how: signal.Signals) -> None:
    process.send_signal(how)
    process.wait(timeout=20)
    assert process.stdout is not None
    process.stdout.close()


def test_a_new_run_records_its_inputs(tmp_path: Path) -> None:
    config = least()
    with RunFolder.create(tmp_path / "deep" / "run", config) as folder:
        names = sorted(path.name for path in folder.path.iterdir())
        assert names == [".lock", "SHA256SUMS", "config.yaml", "environment.json"]
        assert folder.read_config() == config.model_copy(update={"run": "runs/config"})
        environment = folder.read_environment()
    assert environment["clearhead"] == __version__
    assert environment["seed"] == config.training.seed
    assert environment["packages"]["torch"]
    assert environment["cores"] == os.cpu_count()
    assert set(environment) >= {"commit", "python", "gpus", "processor", "memory_gib", "system", "time"}


def test_every_setting_is_written_out(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", least()) as folder:
        text = (folder.path / "config.yaml").read_text(encoding="utf-8")
    assert text.startswith("# Every setting of this run, as it was read.\n")
    for line in ("  rate: null\n", "  schedule: inverse_sqrt\n", "  epsilon: 1.0e-09\n", "    built_in: copy\n"):
        assert line.strip() in text


def test_a_run_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunFolder.create(path, least()) as folder:
        folder.write_outcome(Outcome(7, 1.5, "interrupted"))
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    with pytest.raises(RunError) as error:
        RunFolder.create(path, least())
    assert str(error.value) == (
        f"{path} already contains a run (not finished after 7 updates: the run was interrupted), which is not overwritten. "
        "Choose another folder, or resume it."
    )
    assert error.value.options == {"resume": "", "run": str(path)}
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


def test_a_finished_run_is_reported_as_finished(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", least()) as folder:
        folder.write_outcome(Outcome(1700, 1.5, "steps", {"bleu": BLEU}, 1300))
    with pytest.raises(RunError, match=r"\(finished after 1,700 updates: all updates are done\)") as error:
        RunFolder.create(tmp_path / "run", least())
    assert str(error.value).endswith("or resume it with training.steps=3400 to train it for longer.")
    assert error.value.options == {"resume": "", "run": f"{tmp_path}/run", "changes": "training.steps=3400"}


def test_a_killed_run_is_reported_as_not_finished(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run", least()).close()
    (tmp_path / "run" / "metrics.jsonl").write_text("")
    with pytest.raises(RunError, match=r"already contains a run \(not finished: it ended without an outcome\)"):
        RunFolder.create(tmp_path / "run", least())


def test_a_run_that_stopped_before_its_first_update_makes_room(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", least()) as folder:
        folder.write_json("data.json", {"of": "an earlier try"})
        (folder.path / "tokeniser").mkdir()
        (folder.path / "mine.txt").write_text("not the run's")
    with RunFolder.create(tmp_path / "run", least()) as folder:
        assert not (folder.path / "data.json").exists()
        assert not (folder.path / "tokeniser").exists()
        assert (folder.path / "mine.txt").read_text() == "not the run's"


def test_a_folder_with_other_files_is_refused_and_not_changed(tmp_path: Path) -> None:
    for name in ("thesis.tex", "b", "c", "d"):
        (tmp_path / name).write_text("mine")
    with pytest.raises(RunError) as error:
        RunFolder.create(tmp_path, least())
    assert str(error.value) == f"{tmp_path} contains other files (b, c, d …). Choose an empty or a new folder."
    assert error.value.options == ("run",)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "c", "d", "thesis.tex"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, least()) as folder:
        assert folder.holds_a_run


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    with pytest.raises(RunError, match=r"run is a file\. Choose another folder for the run\.$"):
        RunFolder.create(tmp_path / "run", least())
    with pytest.raises(RunError, match=r"cannot be used as a run folder: Not a directory\. Choose another"):
        RunFolder.create(tmp_path / "run" / "below", least())
    with pytest.raises(RunError, match=r"cannot be used as a run folder: embedded null byte\. Choose another"):
        RunFolder.create(tmp_path / "a\0b", least())


def test_only_a_run_can_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"nothing does not exist, so there is nothing to resume\."):
        RunFolder.reopen(tmp_path / "nothing")
    with pytest.raises(
        RunError, match=r"contains no run, so there is nothing to resume\. To start a new run, do not resume\.$"
    ):
        RunFolder.reopen(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_is_refused_with_the_process_that_has_it(tmp_path: Path) -> None:
    process = holder(tmp_path / "run")
    try:
        with pytest.raises(
            RunError, match=rf"run is in use: process {process.pid} \(since 20\d\d-.*\) is training there\."
        ):
            RunFolder.reopen(tmp_path / "run")
    finally:
        end(process, signal.SIGTERM)


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    end(holder(tmp_path / "run"), signal.SIGKILL)
    assert (tmp_path / "run" / ".lock").read_text()
    with RunFolder.reopen(tmp_path / "run") as folder, pytest.raises(RunError, match=f"process {os.getpid()}"):
        RunFolder.reopen(folder.path)
    RunFolder.reopen(tmp_path / "run").close()


def test_an_empty_lock_is_still_a_lock(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", least()) as folder:
        (folder.path / ".lock").write_text("gibberish")
        with pytest.raises(RunError, match="is in use: another process is training there"):
            RunFolder.reopen(folder.path)


def test_every_process_that_worked_on_a_run_is_noted(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", least()) as folder:
        folder.write_environment(11)
        sessions = json.loads((folder.path / "environment.json").read_text())["sessions"]
    assert [session["seed"] for session in sessions] == [1, 11]
    assert folder.read_environment()["seed"] == 11


def test_metrics_after_a_step_and_an_incomplete_line_are_dropped(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", least()) as folder:
        assert folder.truncate_metrics(3) == 0
        assert not folder.metrics.exists()
        lines = [json.dumps({"step": step, "loss": step / 7}) for step in (1, 3, 5)]
        folder.metrics.write_text("\n".join(lines) + '\n[3]\nnull\n{"step": 7, "lo')
        assert folder.truncate_metrics(3) == 2, "the last line is only incomplete"
        assert folder.metrics.read_text() == "\n".join(lines[:2]) + "\n"
        assert [line["step"] for line in folder.read_metrics()] == [1, 3]


def test_metrics_that_are_a_link_are_replaced_and_write_no_other_file(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", least()) as folder:
        folder.metrics.symlink_to(tmp_path / "elsewhere")
        folder.truncate_metrics(3)
        with folder.metrics.open("a", encoding="utf-8") as file:
            file.write("{}")
    assert not (tmp_path / "elsewhere").exists()


def test_data_and_outcome_are_read_back(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", least()) as folder:
        assert (folder.read_data(), folder.read_outcome()) == ({}, None)
        folder.write_data([corpus_record("data.train.0", {"a.en": "ab12"}, 13, 11, {"empty": 2})], {"pieces": 97})
        assert folder.read_data() == {
            "corpora": [
                {
                    **{"path": "data.train.0", "files": {"a.en": "ab12"}, "read": 13, "kept": 11},
                    "left_out": {"empty": 2},
                }
            ],
            "tokeniser": {"pieces": 97},
        }
        outcome = Outcome(7, 1.5, "patience", {"bleu": BLEU}, 5)
        folder.write_outcome(outcome)
        assert folder.read_outcome() == outcome
        folder.forget_outcome()
        assert folder.read_outcome() is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "outcome.json cannot be read: "),
        ("[]", r"outcome.json does not contain a JSON object, {…}\. Remove it"),
        ("{}", r"outcome.json does not describe how a run ended\. Remove it\."),
        *(
            (json.dumps({**Outcome(7, 1.5, "steps").to_data(), **changes}), "outcome.json does not describe how a run")
            for changes in (
                {"steps": "x"}, {"steps": -1}, {"seconds": None}, {"stopped": "never"}, {"stopped": ["steps"]},
                {"best_step": 1.5}, {"scores": []}, {"scores": {"bleu": {"name": 5, "value": 1.0, "signature": ""}}},
                {"scores": {"bleu": {"name": "BLEU", "value": "x", "signature": ""}}},
            )
        ),
    ],
)  # fmt: skip
def test_a_damaged_outcome_is_reported(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "outcome.json").write_text(content)
    with pytest.raises(RunError, match=message):
        RunFolder(tmp_path).read_outcome()


@pytest.mark.parametrize("content", ["{}", '{"sessions": null}', '{"sessions": {"a": 1}}', '{"sessions": [5]}'])
def test_a_damaged_environment_is_reported_and_kept(tmp_path: Path, content: str) -> None:
    path = tmp_path / "environment.json"
    path.write_text(content)
    for use in (lambda: RunFolder(tmp_path).write_environment(3), RunFolder(tmp_path).read_environment):
        with pytest.raises(
            RunError, match=r"environment.json does not describe the processes of a run\. Remove it, or"
        ):
            use()
    assert path.read_text() == content


@pytest.mark.parametrize("content", ["{}", '{"tokeniser": [1]}', '{"tokeniser": {"pairs": 5}}'])
def test_a_damaged_record_of_the_data_is_reported(tmp_path: Path, content: str) -> None:
    (tmp_path / "data.json").write_text(content)
    with pytest.raises(RunError, match=r"data.json does not describe the data of a run\. Restore it from a copy, or"):
        RunFolder(tmp_path).read_data()


def test_lines_of_metrics_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    deep = "[" * 100_000
    (tmp_path / "metrics.jsonl").write_text(f'{{"step": 1}}\n{deep}\n{{"step": "x"}}\n5\n{{"step": 2, "loss": NaN}}\n')
    assert [line["step"] for line in RunFolder(tmp_path).read_metrics()] == [1, 2]


def test_a_file_is_written_atomically(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", least()) as folder:
        (folder.path / "data.json").mkdir()
        before = sorted(folder.path.iterdir())
        with pytest.raises(RunError, match=r"data.json cannot be written: Is a directory\. Choose a writable folder"):
            folder.write_data([], {})
        with pytest.raises(ValueError, match="not JSON compliant"):
            folder.write_json("x.json", {"loss": float("nan")})
        assert sorted(folder.path.iterdir()) == before


def test_a_run_folder_can_be_given_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert RunFolder("~/runs/a").path == tmp_path / "runs" / "a"


def test_incomplete_files_of_a_killed_process_are_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".config.yaml.ab12cd34.part").write_text("half")
    with RunFolder.create(tmp_path, least()) as folder:
        assert folder.holds_a_run


def test_a_score_that_is_not_finite_is_kept(tmp_path: Path) -> None:
    outcome = Outcome(7, 1.5, "steps", {"loss": KeptScore("loss", float("nan"), "tokens")})
    with RunFolder.create(tmp_path / "run", least()) as folder:
        folder.write_outcome(outcome)
        loaded_outcome = folder.read_outcome()
    assert loaded_outcome is not None
    assert loaded_outcome.scores["loss"].value != loaded_outcome.scores["loss"].value
