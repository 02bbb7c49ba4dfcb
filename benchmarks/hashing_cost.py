"""The cost of SHA256SUMS: the time to save and load a model, a checkpoint and a store, and the part spent on hashes.

Each operation runs several times; the medians are shown. The operating system has the files in memory, as after writing
them; from a disk, reading takes longer and the share of hashing is smaller.
Run: python benchmarks/hashing_cost.py [--preset base] [--vocabulary 32000] [--pairs 400000] [--rounds 5]
"""

import argparse
import os
import platform
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import ctranslate2
import torch

from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.store import build_store, open_store
from clearhead.decoding.engines.ctranslate2_engine import open_ctranslate2
from clearhead.files import manifest, writing
from clearhead.formats import load_checkpoint, save_checkpoint
from clearhead.formats.model_folder import ModelFolder
from clearhead.model import build_model, preset
from clearhead.text.config import TextConfig
from clearhead.text.train import train_vocabularies
from clearhead.training.config import TrainingConfig
from clearhead.training.state import Progress, readable_checkpoints, save_state
from clearhead.training.step import Updater

WORDS = [
    "the",
    "a",
    "one",
    "red",
    "blue",
    "old",
    "new",
    "house",
    "tree",
    "boy",
    "girl",
    "dog",
    "sees",
    "finds",
    "likes",
    "gives",
    "takes",
    "and",
    "with",
    "under",
    "near",
]


class Clock:
    """Adds up the seconds that are spent on hashes."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Time every call of the two functions that hash files."""
        originals = {name: getattr(manifest, name) for name in ("file_digest", "file_digests")}
        depth = 0

        def timed(function: Callable[..., object]) -> Callable[..., object]:
            def call(*arguments: object) -> object:
                nonlocal depth
                depth += 1
                start = time.perf_counter()
                try:
                    return function(*arguments)
                finally:
                    depth -= 1
                    if not depth:
                        self.seconds += time.perf_counter() - start

            return call

        manifest.file_digests = timed(originals["file_digests"])
        writing.file_digest = timed(originals["file_digest"])
        try:
            yield
        finally:
            manifest.file_digests, writing.file_digest = originals["file_digests"], originals["file_digest"]


def row(name: str, rounds: int, operation: Callable[[], object], size: int) -> str:
    """Return a row of the table: total seconds, seconds of hashing, share."""
    totals, hashes = [], []
    for _ in range(rounds):
        clock = Clock()
        with clock.measuring():
            start = time.perf_counter()
            operation()
            totals.append(time.perf_counter() - start)
        hashes.append(clock.seconds)
    total, spent = median(totals), median(hashes)
    return f"| {name} | {size / 1e6:,.0f} | {total:.3f} | {spent:.3f} | {100 * spent / total:.0f} % |"


def folder_size(folder: Path) -> int:
    """Return the number of bytes in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def write_corpus(folder: Path, num_pairs: int) -> CorpusConfig:
    """Write random sentences of 4 to 28 words."""
    chance = random.Random(1)
    for side in ("source", "target"):
        with (folder / side).open("w") as file:
            for _ in range(num_pairs):
                file.write(" ".join(chance.choices(WORDS, k=chance.randint(4, 28))) + "\n")
    return CorpusConfig(source=str(folder / "source"), target=str(folder / "target"))


def store_rows(folder: Path, num_pairs: int, rounds: int) -> Iterator[str]:
    """Yield the rows of a token store."""
    corpus = write_corpus(folder, num_pairs)
    data = DataConfig(train=(corpus,), deduplicate=False)
    texts = [(" ".join(WORDS), " ".join(WORDS))] * 8
    vocabularies = train_vocabularies(texts, TextConfig(kind="char", vocabulary=40))
    place = folder / "store"
    build = row("build a store", 1, lambda: build_store([corpus], vocabularies, data, place), 0)
    size = folder_size(place)
    yield build.replace("| 0 |", f"| {size / 1e6:,.0f} |", 1)
    yield row("open a store", rounds, lambda: open_store(place), size)


def model_rows(folder: Path, options: argparse.Namespace) -> Iterator[str]:
    """Yield the rows of a model and of a training checkpoint."""
    model = build_model(preset(options.preset, source_vocabulary=options.vocabulary))
    save_checkpoint(model, folder / "model")
    size, rounds = folder_size(folder / "model"), options.rounds
    yield row("save a model", rounds, lambda: save_checkpoint(model, folder / "model"), size)
    yield row("load a model (torch)", rounds, lambda: load_checkpoint(folder / "model"), size)

    def open_engine() -> None:
        open_ctranslate2(ModelFolder(folder / "model", folder / "model", is_marian=False))

    open_engine()
    conversion = folder_size(folder / "cache")
    yield row("open a model (CTranslate2, converted before)", rounds, open_engine, size + conversion)
    updater = Updater(model, TrainingConfig(steps=1), is_compiled=False, precision=torch.float32)
    steps = iter(range(1, 2 * rounds + 2))
    save_state(folder / "run", updater, Progress(next(steps)))
    size = folder_size(folder / "run")
    yield row(
        "save a training checkpoint", rounds, lambda: save_state(folder / "run", updater, Progress(next(steps))), size
    )
    yield row("verify a training checkpoint", rounds, lambda: next(readable_checkpoints(folder / "run")), size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="base")
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--pairs", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    versions = f"Python {platform.python_version()}, torch {torch.__version__}, ctranslate2 {ctranslate2.__version__}"
    print(f"{platform.machine()}, {os.cpu_count()} cores; {versions}; commit {commit.strip()}\n")
    print(f"Preset {options.preset}, vocabulary {options.vocabulary:,}; {options.pairs:,} pairs\n")
    print("| operation | MB | seconds | of these hashing | share |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CLEARHEAD_CACHE"] = str(Path(folder) / "cache")
        for rows in (model_rows(Path(folder), options), store_rows(Path(folder), options.pairs, options.rounds)):
            for line in rows:
                print(line, flush=True)


if __name__ == "__main__":
    main()
