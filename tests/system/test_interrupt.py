"""Signals to a real process: after Ctrl-C or a shutdown the run is saved and says how to resume; a resumed compiled run is identical."""

import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.system.forked import ForkServer
from tests.system.test_resume import command, metrics

CONFIG = """
data:
  train: [{built_in: copy, weight: 0.05}]
  valid: {built_in: copy}
text: {kind: word, vocabulary: 64}
model: {encoder_blocks: 1, decoder_blocks: 1, d_model: 24, d_ff: 40, num_heads: 2}
training: {device: cpu, steps: 400, batch_tokens: 192, log_every: 10, checkpoint_every: 50, warm_up: 20}
validation: {every: 100, max_sentences: 13}
"""


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was not interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "config.yaml").write_text(CONFIG)
    process = subprocess.run(command(folder / "config.yaml", folder / "run"), capture_output=True, check=False)
    assert process.returncode == 0, process.stderr.decode()
    return folder / "run"


def train_to_its_end(server: ForkServer, config: Path, folder: Path, *more: str) -> str:
    server.start("train", str(config), "--run", str(folder), *more)
    code, output = server.wait()
    assert code == 0, output
    return output


def stop_after_metrics(server: ForkServer, config: Path, folder: Path, number: signal.Signals) -> tuple[int, str]:
    """Start a run, send it a signal after its first metrics, and return its exit code and output."""
    server.start("train", str(config), "--run", str(folder))
    while not (folder / "metrics.jsonl").is_file() and server.is_running(0.01):
        pass
    server.send_signal(number)
    return server.wait()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "shutdown"])
def test_a_run_that_gets_a_signal_saves_and_can_be_resumed(
    tmp_path: Path, server: ForkServer, uninterrupted: Path, number: signal.Signals
) -> None:
    config, stopped = tmp_path / "config.yaml", tmp_path / "stopped"
    config.write_text(CONFIG)
    code, output = stop_after_metrics(server, config, stopped, number)
    assert code == 130, output
    assert f"clearhead: interrupted. To resume: clearhead train --resume --run {stopped}" in output
    assert "Traceback" not in output
    saved = max(int(path.name.removeprefix("step-")) for path in (stopped / "checkpoints").glob("step-*"))
    assert 10 <= saved < 400
    assert f"Resuming from update {saved}." in train_to_its_end(server, config, stopped, "--resume")
    for name in ("last/model.safetensors", "best/model.safetensors"):
        one, other = load_file(uninterrupted / name), load_file(stopped / name)
        assert all(torch.equal(one[key], other[key]) for key in one), name
    assert metrics(uninterrupted) == metrics(stopped)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile on a CPU needs a C++ compiler")
def test_a_compiled_run_resumes_bit_for_bit(tmp_path: Path, server: ForkServer) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    sizes = ("--set", "training.is_compiled=true", "--set", "training.steps=12", "--set", "training.checkpoint_every=5")
    compiled, resumed = tmp_path / "compiled", tmp_path / "resumed"
    train_to_its_end(server, config, compiled, *sizes)
    # as if it had been killed after update 5
    shutil.copytree(compiled, resumed)
    for step in (10, 12):
        shutil.rmtree(resumed / f"checkpoints/step-{step:08d}")
    (resumed / "outcome.json").unlink()
    output = train_to_its_end(server, config, resumed, *sizes, "--resume")
    assert "Resuming from update 5." in output
    state = "checkpoints/step-00000012/state.safetensors"
    for name in ("last/model.safetensors", state):
        one, other = load_file(compiled / name), load_file(resumed / name)
        assert all(torch.equal(one[key], other[key]) for key in one), name
    plain = tmp_path / "plain"
    train_to_its_end(server, config, plain, *sizes[2:])
    for one, other in zip(metrics(compiled), metrics(plain), strict=True):
        assert one == pytest.approx(other, rel=1e-3), "compiled, it learns something else"
