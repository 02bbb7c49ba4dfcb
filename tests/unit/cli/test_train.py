"""`clearhead train` as a function: what it prints for one run or several seeds, with a loop that learns nothing."""

import json
from pathlib import Path

import pytest
import typer

from clearhead.cli.train import train
from clearhead.errors import ClearheadError
from tests.unit.training.fake_loop import FakeLoop, put_in_place


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "my.yaml"
    path.write_text("data:\n  train:\n    - built_in: copy\ntraining: {steps: 7}\n")
    return path


def test_the_settings_are_listed_as_json_and_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    train(help_config=True, as_json=True)
    fields = json.loads(capsys.readouterr().out)
    assert {field["path"] for field in fields} >= {"training.rate", "model.d_model", "text.kind"}
    train(help_config=True)
    assert "training.rate = " in capsys.readouterr().out


def test_changes_and_the_folder_reach_the_run(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loop = put_in_place(monkeypatch, FakeLoop())
    train([config], run=tmp_path / "here", changes=["training.steps=11", "training.seed=3"], as_json=True)
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["run"], outcome["steps"]) == (str(tmp_path / "here"), 11)
    assert loop.calls == [(3, False, "here")]


def test_an_interrupted_run_ends_with_130_after_its_result(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put_in_place(monkeypatch, FakeLoop(stops=["interrupted"]))
    with pytest.raises(typer.Exit) as end:
        train([config], run=tmp_path / "here", as_json=True)
    assert end.value.exit_code == 130
    printed = capsys.readouterr()
    assert json.loads(printed.out)["stopped"] == "interrupted"
    assert printed.err.endswith(f"To resume: clearhead train --resume --run {tmp_path / 'here'}\n")


def test_each_seed_has_its_line(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loop = put_in_place(monkeypatch, FakeLoop())
    train([config], run=tmp_path / "seeds", seeds=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["seed 1: 7 updates, BLEU 31", "seed 2: 7 updates, BLEU 32"]
    assert [seed for seed, _, _ in loop.calls] == [1, 2]


def test_seeds_need_the_config() -> None:
    with pytest.raises(ClearheadError, match="CONFIG --resume"):
        train(seeds=2, resume=True)
