"""Several processes of the real command: one is killed, all get a signal, torchrun starts them, one never comes."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.system.test_resume import command

CONFIG = """
data: {train: [{built_in: copy, weight: 0.05}]}
text: {kind: word, vocabulary: 64}
model: {encoder_blocks: 1, decoder_blocks: 1, d_model: 24, d_ff: 40, num_heads: 2}
training: {device: cpu, steps: 1000000, batch_tokens: 499, log_every: 1, checkpoint_every: 50, warm_up: 20}
"""
MINUTES = 600  # seconds that a test waits at most, on a machine that does many other things
pytestmark = pytest.mark.slow


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    return path


class Launched:
    """A run of several processes that has started to train."""

    def __init__(self, config: Path, *options: str) -> None:
        self.folder, self._log = config.parent / "run", config.parent / "output"
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                command(config, self.folder, "--devices", "2", *options), stdout=log, stderr=log
            )
        while not (self.folder / "metrics.jsonl").is_file():
            assert self.process.poll() is None, self.output
            time.sleep(0.05)

    @property
    def output(self) -> str:
        return self._log.read_text()

    def ranks(self) -> dict[int, int]:
        """Return the process of each rank that is running."""
        processes = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                is_ours = str(self.folder) in (folder / "cmdline").read_text()
                rank = re.search(r"\0RANK=(\d+)\0", (folder / "environ").read_text()) if is_ours else None
                if rank is not None:
                    processes[int(rank[1])] = int(folder.name)
        return processes

    def wait(self) -> int:
        """Return the exit code, when no process of the run is left."""
        code = self.process.wait(MINUTES)
        assert not self.ranks(), "a rank is still running"
        return code


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_ends_all_and_is_named(config: Path, victim: int) -> None:
    run = Launched(config)
    os.kill(run.ranks()[victim], signal.SIGKILL)
    assert run.wait() == 2
    assert run.output.splitlines()[-1] == (
        f"clearhead: rank {victim} failed, and the other process was ended: it was ended by the signal 9 (SIGKILL). Was "
        "the memory of the machine full? Resume the run from its last checkpoint (--resume)."
    )
    assert "Traceback" not in run.output


def replace_by_folder(path: Path) -> None:
    """Put a folder in the place of a file that is written again and again."""
    while not path.is_dir():
        path.unlink(missing_ok=True)
        with suppress(FileExistsError):
            path.mkdir()


def test_an_error_of_one_rank_ends_all_and_is_named(config: Path) -> None:
    run = Launched(config)
    replace_by_folder(run.folder / "metrics.jsonl")  # only the first rank writes it
    assert run.wait() == 2
    last = run.output.splitlines()[-1]
    assert last == (
        f"clearhead: rank 0 failed, and the other process was ended: {run.folder}/metrics.jsonl cannot be written: Is a "
        "directory."
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "shutdown"])
def test_a_signal_saves_and_stops_all_ranks(config: Path, number: signal.Signals) -> None:
    run = Launched(config)
    run.process.send_signal(number)
    assert run.wait() == 130
    last = run.output.splitlines()[-1]
    assert last == f"clearhead: interrupted. To resume: clearhead train --resume --run {run.folder} --devices 2"
    saved = max(int(path.name.removeprefix("step-")) for path in (run.folder / "checkpoints").glob("step-*"))
    if number == signal.SIGTERM:
        return  # it has saved; that such a run can be resumed is tested with the other signal
    resumed = subprocess.run(
        [*command(config, run.folder, "--resume", "--devices", "2"), "--set", f"training.steps={saved + 3}"],
        capture_output=True, text=True, check=False, timeout=MINUTES,
    )  # fmt: skip
    assert resumed.returncode == 0, resumed.stderr
    assert f"Resuming from update {saved:,}." in resumed.stderr
    assert f"{saved + 3:,} updates in" in resumed.stdout


def test_a_launcher_that_is_killed_leaves_no_rank_behind(config: Path) -> None:
    run = Launched(config)
    assert run.ranks().keys() == {0, 1}
    run.process.kill()
    assert run.process.wait() == -signal.SIGKILL
    end = time.monotonic() + MINUTES
    while run.ranks():
        assert time.monotonic() < end
        time.sleep(0.1)
    assert list((run.folder / "checkpoints").glob("step-*")), "the ranks save before they stop"


def test_torchrun_starts_the_ranks(config: Path, tmp_path: Path) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    rendezvous = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", "--local-addr", "localhost"]
    options = ["train", str(config), "--run", str(tmp_path / "run"), "--set", "training.steps=5"]
    process = subprocess.run(
        [*launcher, *rendezvous, "-m", "clearhead", "--", *options],
        capture_output=True, text=True, check=False, timeout=MINUTES,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith("5 updates in ")
    assert process.stdout.count("5 updates in ") == 1, "only the first rank prints"
    assert (tmp_path / "run/last/model.safetensors").is_file()


def test_a_rank_that_never_comes_is_named(config: Path, tmp_path: Path) -> None:
    environment = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "0"}
    process = subprocess.run(
        command(config, tmp_path / "run", "--set", "training.rendezvous_seconds=1"),
        env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=MINUTES,
    )  # fmt: skip
    assert process.returncode == 2
    assert process.stderr == (
        "clearhead: rank 0 failed: only 1 of 2 processes arrived within 1 s: rank 1 is missing. Start all of them with "
        "the same WORLD_SIZE, MASTER_ADDR and MASTER_PORT; training.rendezvous_seconds is the limit.\n"
    )
    assert not (tmp_path / "run").exists()


def test_an_error_in_the_config_is_printed_once(config: Path, tmp_path: Path) -> None:
    options = ("--devices", "2", "--set", "training.parallel=fsdp")
    process = subprocess.run(
        command(config, tmp_path / "run", *options), capture_output=True, text=True, check=False, timeout=MINUTES
    )
    assert process.returncode == 2
    assert process.stderr == (
        "clearhead: --set training.parallel=fsdp: training.parallel was removed from clearhead. The models of clearhead "
        "fit one device. To shard larger ones, use torchtitan.\n"
    )
