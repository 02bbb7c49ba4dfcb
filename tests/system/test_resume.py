"""A run that is killed again and again and resumed must end in the very numbers of a run that never stopped."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

KILLS = 20
CONFIG = """
data:
  train:
    - {built_in: copy, weight: 0.05, language: same}
    - {built_in: reverse, weight: 0.015, language: back}
  valid: {built_in: copy, language: same}
text: {kind: unigram, vocabulary: 64, sampling: 0.3}
model: {encoder_blocks: 1, decoder_blocks: 1, d_model: 24, d_ff: 40, num_heads: 2}
training:
  steps: 400
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
    """Return the lines of metrics without what a clock decides."""
    clocked = ("time", "tokens_per_second", "waiting")
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in clocked} for line in lines]


@pytest.mark.slow
def test_a_run_killed_twenty_times_ends_in_the_same_numbers(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    begun = time.monotonic()
    subprocess.run(command(config, whole), check=True, capture_output=True)
    lasted = time.monotonic() - begun
    moments = random.Random(7)
    kills = 0
    while True:
        more = ["--resume"] if (killed / "config.yaml").is_file() else []
        process = subprocess.Popen(command(config, killed, *more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            told, _ = process.communicate(timeout=moments.uniform(0.2, 0.7) * lasted if kills < KILLS else None)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
            continue
        assert process.returncode == 0, told.decode()
        break
    print(f"killed {kills} times")
    assert kills >= 5
    for name in ("last/model.safetensors", "best/model.safetensors", "tokeniser/joint.spm"):
        assert (whole / name).read_bytes() == (killed / name).read_bytes(), name
    last = "checkpoints/step-00000400/state.safetensors"
    assert (whole / last).read_bytes() == (killed / last).read_bytes()
    assert metrics(whole) == metrics(killed)
    assert not list(killed.rglob("*.part"))
