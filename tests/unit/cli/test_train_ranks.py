"""`train --devices` and the processes of torchrun: what is refused before anything is started."""

from pathlib import Path

import pytest

from clearhead.cli import train_ranks
from clearhead.cli.train_ranks import check_ranks
from clearhead.errors import ClearheadError
from clearhead.training.config import load_run_config
from tests.command import run

CONFIG = "data:\n  train:\n    - built_in: copy\ntraining: {steps: 7}\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "my.yaml"
    path.write_text(CONFIG)
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--plan",), "--plan is for one process, but there are 2. Remove it, or use --devices 1."),
        (("--seeds", "3"), "--seeds is for one process, but there are 2. Remove it, or use --devices 1."),
    ],
)
def test_what_one_process_does_is_refused(config: Path, options: tuple[str, ...], message: str) -> None:
    result = run("train", str(config), "--devices", "2", *options)
    assert (result.returncode, result.stderr) == (2, f"clearhead: {message}\n")


def test_more_processes_than_a_machine_can_run_are_refused(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    result = run("train", str(config), "--devices", "13")
    assert (result.returncode, result.stderr) == (
        2,
        "clearhead: --devices 13 would start 13 processes on 3 cores. Use at most 12 on this machine; torchrun starts "
        "processes on several machines.\n",
    )


def test_a_plan_is_made_by_one_process() -> None:
    with pytest.raises(ClearheadError) as error:
        check_ranks(3, has_text=True, has_plan=False, has_seeds=False)
    assert str(error.value) == (
        "a training from text files is for one process, but there are 3. Plan it with one process, and then train the "
        "config FOLDER/plan.yaml, or use --devices 1."
    )
    check_ranks(1, has_text=True, has_plan=True, has_seeds=True)


def test_no_process_at_all_is_refused(config: Path) -> None:
    result = run("train", str(config), "--devices", "0")
    assert result.returncode == 2
    assert "--devices" in result.stderr
    assert "greater than or equal to 1" in result.stderr


def test_a_sharded_run_is_refused_and_an_old_config_that_does_not_shard_still_loads(config: Path) -> None:
    result = run("train", str(config), "--set", "training.parallel=fsdp")
    assert (result.returncode, result.stderr) == (
        2,
        "clearhead: --set training.parallel=fsdp: training.parallel was removed from clearhead. The models of clearhead "
        "fit one device. To shard larger ones, use torchtitan.\n",
    )
    assert load_run_config(config, ["training.parallel=ddp"]).training.steps == 7


def test_a_world_without_a_rank_is_refused(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    result = run("train", str(config))
    assert result.returncode == 2
    assert result.stderr.startswith("clearhead: WORLD_SIZE is set, but RANK and MASTER_ADDR and MASTER_PORT are not.")


def test_ranks_of_torchrun_start_no_ranks(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}.items():
        monkeypatch.setenv(name, value)
    result = run("train", str(config), "--devices", "2")
    assert (result.returncode, result.stderr) == (
        2,
        "clearhead: --devices starts processes, but this one was already started as rank 1 of 2. Remove --devices.\n",
    )


def test_one_device_is_an_ordinary_run(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_ranks, "start_ranks", None)
    result = run("train", str(config), "--devices", "1", "--run", str(config))
    assert (result.returncode, result.stderr) == (
        2,
        f"clearhead: {config} is a file. Choose another folder for the run (--run).\n",
    )
