"""Do two versions of clearhead give the same results? Losses, weights, translations, scores and sheets at fixed seeds.

A refactoring must not change a number. Record each version, then compare:

    python benchmarks/same_results.py record OLD_CHECKOUT old.json
    python benchmarks/same_results.py record NEW_CHECKOUT new.json
    python benchmarks/same_results.py compare old.json new.json

Everything is run with the command line of the checkout, in separate processes. Versions that take the model as an
argument are called that way. Needs the extras train and translate; about two minutes a version on two cores.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SENTENCES = (
    "Where is the old hotel?", "", "Let's go", "I have two red books.", "It's a piece of cake.", "zebra 37 %",
    "My sister does not want to read the book. Where are our pretty houses? " * 12,
)  # fmt: skip
TRAINING = {
    "translator": ("phrasebook.yaml", ("training.steps=60", "validation.every=30", "training.warm_up=20")),
    "copier": ("copy.yaml", ("training.steps=40", "validation.every=20", "training.accumulate=2")),
}
SEARCHES = {
    "greedy": (),
    "beam": ("--beam", "4", "--n-best", "2", "--scores"),
    "sampling": ("--temperature", "0.8", "--seed", "5"),
    "constraints": ("--beam", "3", "--prefix", "El", "--forbid", "hotel", "--require", "casa"),
    "coverage": ("--beam", "3", "--coverage-penalty", "0.2", "--stopping", "proved", "--no-repeat", "3"),
    "alignment": ("--align", "--json", "--scores", "--beam", "2"),
    "alternatives": ("--alternatives", "1"),
    "paragraphs": ("--paragraphs",),
}
SHEETS = (("lets-go", "--json"), ("bank", "--detail", "products"), ("lets-go-encoder", "--format", "latex"))
WORKINGS = ("exam-self-attention", "numerical-self-attention", "lets-go-decoder-vamos")
CLOCKS = ("seconds", "per_second", "time", "memory", "eta", "waiting")


class Version:
    """A checkout whose command line is called."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.checkout, self.folder = checkout.resolve(), folder
        self.environment = {**os.environ, "PYTHONPATH": str(self.checkout / "src"), "OMP_NUM_THREADS": "1"}
        self.has_model_option = "--model" in self.call("translate", "--help")[1]

    def call(self, *arguments: str, text: str = "") -> tuple[int, str]:
        """Run a verb; return its exit code and its standard output."""
        command = [sys.executable, "-m", "clearhead.cli.main", *arguments]
        process = subprocess.run(
            command, input=text.encode(), capture_output=True, env=self.environment, cwd=self.folder, check=False
        )
        return process.returncode, process.stdout.decode()

    def with_model(self, verb: str, model: str, *arguments: str, text: str = "") -> tuple[int, str]:
        """Run a verb on a model."""
        named = ("--model", model) if self.has_model_option else (model,)
        return self.call(verb, *named, *arguments, text=text)


def results(version: Version) -> Iterator[tuple[str, Any]]:
    """Yield everything that must not change, by name."""
    for name, (config, changes) in TRAINING.items():
        options = [part for change in (*changes, "training.seed=7", "run=" + name) for part in ("--set", change)]
        yield f"train {name}", version.call("train", str(version.checkout / "configs" / config), *options)[0]
        yield from run_results(version.folder / name, name)
    (version.folder / "in.txt").write_text("".join(line + "\n" for line in SENTENCES), encoding="utf-8")
    for engine in ("torch", "ctranslate2"):
        for search, options in SEARCHES.items():
            lines = ("-i", "in.txt", "--engine", engine, "--max-length", "40")
            if search == "alternatives":
                lines = ("Where is the old hotel?", *lines[2:])
            yield f"translate {engine} {search}", version.with_model("translate", "translator", *lines, *options)
    explained = version.with_model("translate", "translator", "Let's go", "--beam", "3", "--explain", "explained.json")
    yield "translate --explain", explained
    yield "explanation", json.loads((version.folder / "explained.json").read_text(encoding="utf-8"))
    files = ("in.txt", "in.txt") if version.has_model_option else ("--source", "in.txt", "--target", "in.txt")
    yield "score", version.with_model("score", "translator", *files, "--json", "--too-long", "skip")
    yield "evaluate", version.call("evaluate", "in.txt", "--reference", "in.txt", "--json", "--samples", "50")
    for arguments in SHEETS:
        yield f"solve {' '.join(arguments)}", version.call("solve", *arguments)
    for working in WORKINGS:
        yield f"check {working}", version.call("check", working, "--json")


def run_results(run: Path, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the metrics of a run without times, and a hash of every tensor of its best model."""
    from safetensors.numpy import load_file

    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    for number, line in enumerate(lines):
        yield (
            f"metrics {name} {number}",
            {key: value for key, value in line.items() if not any(word in key for word in CLOCKS)},
        )
    for key, tensor in sorted(load_file(run / "best" / "model.safetensors").items()):
        yield f"weights {name} {key}", hashlib.sha256(tensor.tobytes()).hexdigest()[:16]


def record(checkout: Path, output: Path) -> None:
    """Write the results of a checkout."""
    with tempfile.TemporaryDirectory() as folder:
        values = dict(results(Version(checkout, Path(folder))))
    output.write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{len(values)} results in {output}")


def compare(one: Path, other: Path) -> int:
    """Print the differences; return their number."""
    first, second = (json.loads(path.read_text(encoding="utf-8")) for path in (one, other))
    names = sorted({*first, *second})
    different = [name for name in names if first.get(name) != second.get(name)]
    for name in different:
        print(f"{name}\n  {str(first.get(name))[:400]}\n  {str(second.get(name))[:400]}")
    print(f"{len(names)} results, {len(different)} different")
    return len(different)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("record", "compare"):
        sys.exit(__doc__)
    paths = Path(sys.argv[2]), Path(sys.argv[3])
    if sys.argv[1] == "record":
        record(*paths)
    else:
        sys.exit(min(1, compare(*paths)))
