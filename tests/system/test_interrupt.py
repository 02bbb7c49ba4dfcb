"""Signals to a real process: Ctrl-C and a shutdown save and say how to go on; compiled, a resumed run is the same."""

import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

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


def train_to_its_end(config: Path, folder: Path, *more: str) -> str:
    made = subprocess.run(command(config, folder, *more), capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return made.stderr


def stop_after_metrics(config: Path, folder: Path, number: int) -> tuple[int, str]:
    """Begin a run, send it a signal after its first metrics, and return its exit code and what it said."""
    process = subprocess.Popen(command(config, folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (folder / "metrics.jsonl").is_file() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    return process.returncode, told


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "shutdown"])
def test_a_run_that_is_asked_to_stop_saves_and_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    train_to_its_end(config, whole)
    code, told = stop_after_metrics(config, stopped, number)
    assert code == 130, told
    assert f"clearhead: interrupted. To go on: clearhead train --resume --run {stopped}" in told
    assert "Traceback" not in told
    saved = max(int(path.name.removeprefix("step-")) for path in (stopped / "checkpoints").glob("step-*"))
    assert 10 <= saved < 400
    assert f"Going on from update {saved}." in train_to_its_end(config, stopped, "--resume")
    for name in ("last/model.safetensors", "best/model.safetensors"):
        one, other = load_file(whole / name), load_file(stopped / name)
        assert all(torch.equal(one[key], other[key]) for key in one), name
    assert metrics(whole) == metrics(stopped)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile on a CPU needs a C++ compiler")
def test_a_compiled_run_resumes_bit_for_bit(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    sizes = ("--set", "training.is_compiled=true", "--set", "training.steps=12", "--set", "training.checkpoint_every=5")
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    train_to_its_end(config, whole, *sizes)
    train_to_its_end(config, resumed, *sizes)
    # as if it had been killed after update 5
    for step in (10, 12):
        shutil.rmtree(resumed / f"checkpoints/step-{step:08d}")
    (resumed / "outcome.json").unlink()
    told = train_to_its_end(config, resumed, *sizes, "--resume")
    assert "Going on from update 5." in told
    state = "checkpoints/step-00000012/state.safetensors"
    for name in ("last/model.safetensors", state):
        one, other = load_file(whole / name), load_file(resumed / name)
        assert all(torch.equal(one[key], other[key]) for key in one), name
    plain = tmp_path / "plain"
    train_to_its_end(config, plain, *sizes[2:])
    for one, other in zip(metrics(whole), metrics(plain), strict=True):
        assert one == pytest.approx(other, rel=1e-3), "compiled, it learns something else"
