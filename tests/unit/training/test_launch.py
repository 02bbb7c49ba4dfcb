"""Starting and resuming runs, alone and with several seeds, with a loop that learns nothing."""

import json
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from clearhead.errors import ConfigError, RunError
from clearhead.training import progress
from clearhead.training.config import RunConfig
from clearhead.training.launch import changed_settings, launch
from clearhead.training.outcome import KeptScore, Outcome, Stopped
from clearhead.training.run import RunFolder
from clearhead.training.seeds import summarise, train_seeds
from tests.unit.training.configs import LEAST, least
from tests.unit.training.fake_loop import SIGNATURE, FakeLoop, put_in_place


def quiet() -> Console:
    return Console(file=StringIO())


@pytest.fixture(autouse=True)
def _without_tensorboard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "find_spec", lambda name: None)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> FakeLoop:
    return put_in_place(monkeypatch, FakeLoop())


def config_with(**training: Any) -> RunConfig:
    return RunConfig.model_validate({**LEAST, "training": {"steps": 7, **training}})


def test_a_run_leaves_all_that_is_needed_to_make_it_again(tmp_path: Path, loop: FakeLoop) -> None:
    outcome = launch(least(), tmp_path / "run", console=quiet())
    assert (outcome.steps, outcome.stopped, loop.calls) == (7, "steps", [(1, False, "run")])
    names = {path.name for path in (tmp_path / "run").iterdir()}
    files = {"config.yaml", "environment.json", "data.json", "metrics.jsonl", "outcome.json", "README.md"}
    assert names == {".lock", "SHA256SUMS", *files}
    assert RunFolder(tmp_path / "run").read_outcome() == outcome


def test_an_interrupted_run_resumes(tmp_path: Path, loop: FakeLoop) -> None:
    loop.stops = ["interrupted", "steps"]
    assert launch(least(), tmp_path / "run", console=quiet()).stopped == "interrupted"
    assert launch(least(), tmp_path / "run", resume=True, console=quiet()).stopped == "steps"
    assert loop.calls == [(1, False, "run"), (1, True, "run")]
    sessions = json.loads((tmp_path / "run" / "environment.json").read_text())["sessions"]
    assert len(sessions) == 2


def test_an_edited_config_is_not_resumed_unless_its_hash_is_deleted(tmp_path: Path, loop: FakeLoop) -> None:
    loop.stops = ["interrupted", "steps"]
    launch(least(), tmp_path / "run", console=quiet())
    config = tmp_path / "run" / "config.yaml"
    config.write_text(config.read_text().replace("seed: 1\n", "seed: 3\n"))
    with pytest.raises(
        RunError, match=r"config\.yaml has changed since .* SHA256SUMS\. .*: restore it\. To change a setting"
    ):
        launch(RunFolder(tmp_path / "run").read_config(), tmp_path / "run", resume=True, console=quiet())
    (tmp_path / "run" / "SHA256SUMS").unlink()
    launch(RunFolder(tmp_path / "run").read_config(), tmp_path / "run", resume=True, console=quiet())
    assert loop.calls[-1] == (3, True, "run")


@pytest.mark.parametrize("model", ["best", "last"])
def test_a_trained_model_without_checkpoints_is_not_overwritten_by_resuming(
    tmp_path: Path, loop: FakeLoop, model: str
) -> None:
    loop.stops = ["interrupted", "steps"]
    launch(least(), tmp_path / "run", console=quiet())
    (tmp_path / "run" / model).mkdir()
    with pytest.raises(RunError, match=r"run contains a trained model, but no checkpoint: .* Restore the folder"):
        launch(least(), tmp_path / "run", resume=True, console=quiet())
    assert len(loop.calls) == 1
    assert RunFolder(tmp_path / "run").read_outcome() is not None
    checkpoint = tmp_path / "run" / "checkpoints" / "step-00000001"
    checkpoint.mkdir(parents=True)
    (checkpoint / "state.json").write_text("{}")
    launch(least(), tmp_path / "run", resume=True, console=quiet())
    assert len(loop.calls) == 2


def test_resuming_a_run_removes_its_earlier_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loop: FakeLoop
) -> None:
    loop.stops = ["minutes"]
    launch(least(), tmp_path / "run", console=quiet())

    def broken(*_: object, **options: object) -> Outcome:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(sys.modules["clearhead.training.loop"], "train", broken)
    with pytest.raises(RuntimeError, match="out of memory"):
        launch(least(), tmp_path / "run", resume=True, console=quiet())
    assert RunFolder(tmp_path / "run").read_outcome() is None
    RunFolder.reopen(tmp_path / "run").close()  # the lock was released


def test_a_finished_run_resumes_only_with_a_longer_training(tmp_path: Path, loop: FakeLoop) -> None:
    path = tmp_path / "run"
    launch(least(), path, console=quiet())
    with pytest.raises(RunError) as error:
        launch(least(), path, resume=True, console=quiet())
    assert str(error.value) == (
        f"{path} is finished: all updates are done (update 7). To train it for longer, "
        "resume it with training.steps=14."
    )
    assert error.value.options == {"resume": "", "run": str(path), "changes": "training.steps=14"}
    assert launch(config_with(steps=14), path, resume=True, console=quiet()).steps == 14
    assert RunFolder(path).read_config().training.steps == 14


def test_what_makes_a_run_another_cannot_change_in_its_middle(tmp_path: Path, loop: FakeLoop) -> None:
    loop.stops = ["interrupted"]
    launch(least(), tmp_path / "run", console=quiet())
    changed = {**LEAST, "preset": "base", "training": {"steps": 11, "seed": 5, "rate": 0.5}, "model": {"d_ff": 64}}
    with pytest.raises(ConfigError) as error:
        launch(RunConfig.model_validate(changed), tmp_path / "run", resume=True, console=quiet())
    again = f"when {tmp_path}/run was started, and cannot change when it is resumed. Start another run."
    assert error.value.mistakes == (
        f"preset was 'tiny' {again}",
        f"model.d_ff was null {again}",
        f"training.seed was 1 {again}",
    )
    assert RunFolder(tmp_path / "run").read_config().preset == "tiny"
    assert len(loop.calls) == 1


def test_changed_settings_are_named_with_their_old_value() -> None:
    assert list(changed_settings(least(), config_with(clip=None, rate=0.5))) == [
        ("training.rate", "null"),
        ("training.clip", "1.0"),
    ]


def test_several_seeds_give_a_mean_and_a_spread(tmp_path: Path, loop: FakeLoop) -> None:
    report = train_seeds(config_with(seed=3), tmp_path / "runs", 3, console=quiet())
    assert loop.calls == [(3, False, "seed-3"), (4, False, "seed-4"), (5, False, "seed-5")]
    (spread,) = report.spreads.values()
    # 33, 34, 35: the mean is 34, and √((1 + 0 + 1) / 2) = 1.
    assert (spread.mean, spread.deviation, dict(spread.values)) == (34.0, 1.0, {3: 33.0, 4: 34.0, 5: 35.0})
    assert str(spread) == f"BLEU 34 ± 1 (3 seeds; {SIGNATURE})"
    saved_report = json.loads((tmp_path / "runs" / "seeds.json").read_text())
    assert saved_report == json.loads(json.dumps(report.to_data()))
    assert saved_report["scores"]["bleu"]["mean"] == 34.0
    assert saved_report["seeds"]["4"]["scores"]["bleu"] == {"name": "BLEU", "value": 34.0, "signature": SIGNATURE}
    assert RunFolder(tmp_path / "runs" / "seed-4").read_config().training.seed == 4


def test_seeds_resume_where_they_were_interrupted(tmp_path: Path, loop: FakeLoop) -> None:
    loop.stops = ["steps", "interrupted", "steps"]
    first = train_seeds(least(), tmp_path / "runs", 3, console=quiet())
    assert (first.is_interrupted, list(first.outcomes), first.spreads["bleu"].deviation) == (True, [1, 2], None)
    with pytest.raises(
        RunError,
        match=r"runs is not empty, and files are not overwritten\. Choose another folder, or resume the seeds in it\.$",
    ):
        train_seeds(least(), tmp_path / "runs", 3, console=quiet())
    loop.calls.clear()
    second = train_seeds(least(), tmp_path / "runs", 3, resume=True, console=quiet())
    assert loop.calls == [(2, True, "seed-2"), (3, False, "seed-3")]
    assert (second.is_interrupted, second.spreads["bleu"].mean) == (False, 32.0)


def test_scores_with_different_signatures_have_no_mean() -> None:
    outcomes = {seed: Outcome(7, 1.0, "steps", {"bleu": KeptScore("BLEU", 30.0, f"v:{seed}")}) for seed in (3, 5)}
    with pytest.raises(RunError, match=r"BLEU has different signatures \(v:3; v:5\): its values cannot be averaged\."):
        summarise(outcomes)


def test_seeds_without_scores_are_still_reported() -> None:
    report = summarise({3: Outcome(7, 1.0, "steps"), 5: Outcome(7, 1.0, "interrupted")})
    assert report.spreads == {}
    assert report.is_interrupted


@pytest.mark.parametrize(
    ("stopped", "change"),
    [
        ("steps", "training.steps=14"),
        ("epochs", "training.epochs=MORE"),
        ("patience", "validation.patience=MORE"),
        ("enough", "validation.enough=MORE"),
    ],
)
def test_a_finished_run_says_with_which_change_it_can_resume(stopped: Stopped, change: str) -> None:
    assert Outcome(7, 1.0, stopped).is_finished
    assert Outcome(7, 1.0, stopped).longer == change
    assert not Outcome(7, 1.0, "minutes").is_finished
