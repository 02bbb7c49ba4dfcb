"""What benchmarks/sentiment.py and benchmarks/next_word.py share: training runs, packed files, tables, the machine."""

import json
import lzma
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from clearhead.formats.model_folder import find_model, load_config
from clearhead.formats.shapes import num_parameters
from clearhead.training.environment import describe_environment

CONFIGS = Path(__file__).resolve().parent.parent / "configs"


@dataclass(frozen=True)
class TrainedRun:
    """A run folder, the seconds of its training, and the number of parameters of its model."""

    folder: Path
    seconds: float
    num_parameters: int


def read_text(folder: Path, name: str) -> str:
    """Return the content of a file, plain or packed as .xz."""
    path = folder / name
    if path.is_file():
        return path.read_text(encoding="utf-8")
    return lzma.decompress((folder / f"{name}.xz").read_bytes()).decode("utf-8")


def train(config: Mapping[str, Any], folder: Path) -> TrainedRun:
    """Train a config with the command, or take the run that an earlier call has finished."""
    record = folder.with_suffix(".json")
    if not record.is_file():
        path = folder.with_suffix(".yaml")
        path.write_text(yaml.safe_dump(dict(config), sort_keys=False), encoding="utf-8")
        start = time.perf_counter()
        command = [sys.executable, "-m", "clearhead", "train", str(path), "--run", str(folder)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode:
            sys.exit(f"{folder.name}: {process.stderr.strip().splitlines()[-1]}")
        record.write_text(json.dumps({"seconds": time.perf_counter() - start}))
    seconds = float(json.loads(record.read_text())["seconds"])
    return TrainedRun(folder, seconds, num_parameters(load_config(find_model(folder))))


def base_config(name: str) -> dict[str, Any]:
    """Return the data of a config in configs/."""
    data: dict[str, Any] = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text(encoding="utf-8"))
    return data


def with_architecture(config: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config with another model, of which only the dropout stays, if it is not given."""
    dropout = {"dropout": config["model"]["dropout"]} if "dropout" in config["model"] else {}
    return {**config, "model": {**dropout, **model}}


def print_machine(device: str) -> None:
    """Print the machine, the versions and the commit."""
    facts = describe_environment(0)
    where = facts["gpus"][0] if device != "cpu" and facts["gpus"] else f"{facts['processor']}, {facts['cores']} cores"
    versions = f"Python {facts['python']}, torch {facts['packages']['torch']}, clearhead {facts['clearhead']}"
    commit = facts["commit"] or "unknown"
    shown = commit[:12] + ("+" if commit.endswith("+") else "")  # +: files are modified
    print(f"{facts['time'][:10]} · {where} · {versions} · commit {shown}\n")


def print_table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table."""
    print("| " + " | ".join(heading) + " |")
    print("|" + "|".join(["---", *["---:"] * (len(heading) - 1)]) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)
