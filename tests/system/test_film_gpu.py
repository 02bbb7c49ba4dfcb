"""A film recorded on a GPU: training is the same with and without it, and its attention weights add up."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clearhead.training.film_file import frame_paths, read_frame

# Compiled, in bfloat16 and with averaged weights, as a usual run on a GPU; only the kernels are deterministic.
CONFIG = """
data:
  train: [{built_in: copy, weight: 0.05}]
  valid: {built_in: copy}
text: {kind: word, vocabulary: 64}
model: {encoder_blocks: 2, decoder_blocks: 2, d_model: 64, d_ff: 96, num_heads: 2, dropout: 0.1}
training:
  steps: 60
  batch_tokens: 512
  warm_up: 20
  rate: 1.0e-3
  average: ema
  is_deterministic: true
  log_every: 5
  checkpoint_every: 20
validation: {every: 20, max_sentences: 13}
"""
PINNED = 'pinned: ["3 1 4 1 5", {source: "9 2 6", reference: "9 2 6"}]\n'


def trained(folder: Path, config: str) -> Path:
    """Train in a process of its own: deterministic kernels and the precision of products are set for a whole process."""
    file = folder.with_suffix(".yaml")
    file.write_text(config)
    command = [sys.executable, "-m", "clearhead", "train", str(file), "--run", str(folder)]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return folder


def metrics(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of metrics without times."""
    clocked = ("time", "tokens_per_second", "waiting")
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in clocked} for line in lines]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_film_on_a_gpu_changes_no_loss_and_its_attention_adds_up(tmp_path: Path) -> None:
    plain = trained(tmp_path / "plain", CONFIG)
    filmed = trained(tmp_path / "filmed", CONFIG + PINNED)
    assert metrics(filmed) == metrics(plain)
    assert not (plain / "film").exists()
    frames = [read_frame(path) for path in frame_paths(filmed)]
    assert [frame.step for frame in frames] == [20, 40, 60]
    for frame in frames:
        for sentence in frame.sentences:
            num_source, num_target = len(sentence.source_tokens), len(sentence.target_tokens)
            assert num_target > 0
            assert sentence.attention.shape == (2, num_target, num_source)
            assert sentence.attention.astype(np.float32).sum(-1) == pytest.approx(1, abs=0.02)
            assert ((sentence.probabilities > 0) & (sentence.probabilities <= 1)).all()
