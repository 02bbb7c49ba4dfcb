"""A run that is killed again and again and resumed must end with exactly the numbers of a run that never stopped."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.system.forked import ForkServer

MODELS = {
    "transformer": "{encoder_blocks: 1, decoder_blocks: 1, d_model: 24, d_ff: 40, num_heads: 2}",
    "recurrent": "{architecture: recurrent, cell: lstm, encoder_blocks: 1, decoder_blocks: 2, d_model: 24, dropout: 0.1}",
    "convolutional": "{architecture: convolutional, kernel: 3, encoder_blocks: 1, decoder_blocks: 2, d_model: 24, dropout: 0.1}",
}
CONFIG = """
data:
  train:
    - {built_in: copy, weight: 0.05, language: same}
    - {built_in: reverse, weight: 0.015, language: back}
  valid: {built_in: copy, language: same}
text: {kind: unigram, vocabulary: 64, sampling: 0.3}
training:
  batch_tokens: 192
  accumulate: 2
  average: ema
  log_every: 7
  checkpoint_every: 11
  keep_checkpoints: 3
  warm_up: 20
validation: {every: 50, max_sentences: 13}
"""


def command(config: Path, folder: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "clearhead.cli.main", "train", str(config), "--run", str(folder), *more]


def metrics(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of metrics without times."""
    clocked = ("time", "tokens_per_second", "waiting")
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in clocked} for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("architecture", "most_kills", "steps"),
    [("transformer", 20, 400), ("recurrent", 5, 200), ("convolutional", 5, 200)],
)  # 50 updates are once through the sentences
def test_a_run_killed_again_and_again_ends_with_the_same_numbers(
    tmp_path: Path, server: ForkServer, architecture: str, most_kills: int, steps: int
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG.replace("training:", f"training:\n  steps: {steps}") + f"model: {MODELS[architecture]}\n")
    complete, killed = tmp_path / "complete", tmp_path / "killed"
    prepared = run_to_its_end(config, complete)
    moments = random.Random(7)
    num_kills = 0
    while num_kills < most_kills and not (killed / "outcome.json").is_file():
        # while preparing, training or writing
        longest = 1.5 if (killed / "metrics.jsonl").is_file() else prepared + 0.5
        num_kills += is_killed(server, config, killed, moments.uniform(0.0, longest))
    if not (killed / "outcome.json").is_file():
        assert not is_killed(server, config, killed, None)
    print(f"killed {num_kills} times")
    assert num_kills >= most_kills // 2
    assert (complete / "tokeniser/joint.spm").read_bytes() == (killed / "tokeniser/joint.spm").read_bytes()
    state = f"checkpoints/step-{steps:08d}/state.safetensors"
    for name in ("last/model.safetensors", "best/model.safetensors", state):
        one, other = load_file(complete / name), load_file(killed / name)
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one), name
    assert metrics(complete) == metrics(killed)
    assert not list(killed.rglob("*.part"))


def run_to_its_end(config: Path, folder: Path) -> float:
    """Train without interruption in a separate process; return the seconds of preparation before the first metrics."""
    with (folder.parent / "output").open("w+") as output:
        process = subprocess.Popen(command(config, folder), stdout=output, stderr=output)
        moments = []
        for name in ("config.yaml", "metrics.jsonl"):  # the first files of preparing and of training
            while not (folder / name).is_file() and process.poll() is None:
                time.sleep(0.05)
            moments.append(time.monotonic())
        assert process.wait() == 0, (folder.parent / "output").read_text()
    return moments[1] - moments[0]


def is_killed(server: ForkServer, config: Path, folder: Path, seconds: float | None) -> bool:
    """Start or resume a run, kill it after `seconds`, and return whether that was before its end."""
    more = ["--resume"] if (folder / "config.yaml").is_file() else []
    server.start("train", str(config), "--run", str(folder), *more)
    if seconds is not None and server.is_running(seconds):
        server.send_signal(signal.SIGKILL)
    code, output = server.wait()
    assert code in (0, -signal.SIGKILL), output
    return code != 0
