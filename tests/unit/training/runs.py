"""Complete tiny runs in this process, which take about a second each."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from safetensors.torch import load_file
from torch import Tensor

from clearhead.training.config import RunConfig, check_run_config
from clearhead.training.launch import launch
from clearhead.training.outcome import Outcome

BASE: dict[str, Any] = {
    "data": {"train": [{"built_in": "copy", "weight": 0.02}], "valid": {"built_in": "copy"}, "max_pairs": 997},
    "text": {"kind": "word", "vocabulary": 64},
    "model": {"encoder_blocks": 1, "decoder_blocks": 1, "d_model": 12, "d_ff": 17, "num_heads": 2},
    "training": {
        "device": "cpu", "steps": 12, "batch_tokens": 96, "warm_up": 5, "rate": 1e-3,
        "log_every": 3, "checkpoint_every": 4, "keep_checkpoints": 2,
    },
    "validation": {"every": 5, "max_sentences": 7, "metric": "loss"},
}  # fmt: skip
CLOCKED = ("time", "tokens_per_second", "waiting")


@dataclass(frozen=True)
class Result:
    """How a run ended, and its log."""

    outcome: Outcome
    output: str
    folder: Path

    def metrics(self) -> list[dict[str, Any]]:
        """Return the lines of metrics without times."""
        return metrics(self.folder)

    def tensors(self, name: str = "last/model.safetensors") -> dict[str, Tensor]:
        """Return the numbers in a file of the run."""
        return load_file(self.folder / name)


def metrics(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in CLOCKED} for line in lines]


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with nested changes; None removes a setting."""
    settings = dict(base)
    for name, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(settings.get(name), Mapping)
        settings[name] = merged(settings[name], value) if both else value
    return {name: value for name, value in settings.items() if value is not None}


def settings_of(**changes: Any) -> RunConfig:
    """Return the config of a tiny run with changes, without a mistake."""
    config, mistakes = check_run_config(merged(BASE, changes))
    assert config is not None
    assert not mistakes, mistakes
    return config


def train(folder: Path, *, resume: bool = False, **changes: Any) -> Result:
    """Train a tiny run to its end."""
    console_output = StringIO()
    outcome = launch(settings_of(**changes), folder, resume=resume, console=Console(file=console_output, width=400))
    return Result(outcome, console_output.getvalue(), folder)


def same(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    """Whether two sets of numbers are the same, bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
