"""A file of a million lines through `clearhead translate`: is memory constant, and does a killed run lose no line?

A small random model translates distinct short lines in a separate process; its memory is read from /proc (Linux).
Then the same again, killed (SIGKILL) and resumed several times, and both outputs are compared byte for byte.
Run: python benchmarks/translate_million.py [--lines 1000000] [--kills 5] [--engine ctranslate2] [--beam 1]
"""

import argparse
import filecmp
import itertools
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from random import Random

import torch

from clearhead.data.phrasebook import pairs
from clearhead.formats import save_checkpoint
from clearhead.model import ModelConfig, Transformer
from clearhead.text.config import TextConfig
from clearhead.text.train import train_vocabularies

PAUSE = 0.05  # seconds between two memory samples
SHARES = (0.1, 0.5, 1.0)
MAX_TOKENS = 12
ENDS = 2.0  # how much likelier the end token is than others, so that translations have several lengths


@dataclass(frozen=True)
class Sample:
    """The memory of the process after a number of lines."""

    seconds: float
    num_lines: int
    megabytes: float


@dataclass(frozen=True)
class Job:
    """One file to translate with one model."""

    model: Path
    source: Path
    num_lines: int
    options: argparse.Namespace

    def start(self, output: Path) -> "subprocess.Popen[bytes]":
        """Start or resume the translation in a separate process."""
        command = [
            *(sys.executable, "-m", "clearhead.cli.main", "translate", "-m", str(self.model)),
            *("-i", str(self.source), "-o", str(output), "--resume", "--device", "cpu"),
            *("--engine", self.options.engine, "--beam", str(self.options.beam), "--max-length", str(MAX_TOKENS)),
        ]
        return subprocess.Popen(command)

    def convert(self) -> None:
        """Convert the model for its engine beforehand, because the conversion needs torch and its memory."""
        command = [sys.executable, "-m", "clearhead.cli.main", "translate", "-m", str(self.model), "Good morning."]
        subprocess.run([*command, "--engine", self.options.engine, "--device", "cpu"], check=True, capture_output=True)


# The input and the model


def write_model(folder: Path) -> None:
    """Write a run folder: a vocabulary learned from the phrasebook, and a small random model."""
    vocabularies = train_vocabularies(
        list(itertools.islice(pairs("train"), 5_000)), TextConfig.model_validate({"kind": "bpe", "vocabulary": 2000})
    )
    target = vocabularies.target
    torch.manual_seed(1)
    config = ModelConfig(
        source_vocabulary=vocabularies.source.size, encoder_blocks=1, decoder_blocks=1, d_model=64, num_heads=4,
        d_ff=128, max_length=128, tied="none", has_output_bias=True, pad=target.pad, bos=target.bos, eos=target.eos,
    )  # fmt: skip
    model = Transformer(config)
    with torch.no_grad():
        for parameter in model.parameters():  # sharp choices, so that translations differ
            parameter += 0.1 * torch.randn_like(parameter)
        model.output.bias[target.eos] += ENDS
    vocabularies.save(folder)
    save_checkpoint(model, folder / "best")


def write_lines(path: Path, number: int) -> None:
    """Write distinct lines: sentences of the phrasebook, each time with another number."""
    sentences = [source for source, _ in itertools.islice(pairs("train"), 20_000)]
    with path.open("w", encoding="utf-8") as file:
        for line in range(number):
            file.write(f"{line} {sentences[line % len(sentences)]}\n")


# One process, watched from outside


def num_done(output: Path) -> int:
    """Return the number of lines in the journal of an unfinished output."""
    try:
        return int(json.loads(output.with_name(output.name + ".part.json").read_text(encoding="utf-8"))["lines"])
    except (OSError, ValueError, KeyError):  # not yet written, or already removed
        return 0


def megabytes_of(process: int) -> float | None:
    """Return the resident memory of a process, or None when it is gone."""
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    sizes = [line.split()[1] for line in text.splitlines() if line.startswith("VmRSS:")]
    return int(sizes[0]) / 1024 if sizes else None


def watched(process: "subprocess.Popen[bytes]", output: Path) -> Iterator[Sample]:
    """Yield the memory of a process until it ends."""
    start = time.perf_counter()
    while process.poll() is None:
        held = megabytes_of(process.pid)
        if held is not None:
            yield Sample(time.perf_counter() - start, num_done(output), held)
        time.sleep(PAUSE)


def translate_all(job: Job, output: Path) -> tuple[list[Sample], float]:
    """Translate everything without a kill; return the memory samples and the seconds."""
    start = time.perf_counter()
    process = job.start(output)
    samples = list(watched(process, output))
    if process.wait():
        raise SystemExit(f"the translation ended with {process.returncode}")
    return samples, time.perf_counter() - start


def killed(job: Job, output: Path, kills: int) -> list[int]:
    """Translate with kills spread over the lines, resuming after each; return the number of lines done at each kill."""
    random = Random(1)
    done = []
    for kill in range(1, kills + 1):
        wanted = job.num_lines * kill // (kills + 1)
        process = job.start(output)
        for sample in watched(process, output):
            if sample.num_lines >= wanted:
                time.sleep(random.uniform(0, 4 * PAUSE))  # anywhere inside a window
                process.send_signal(signal.SIGKILL)
                break
        if process.wait() != -signal.SIGKILL:
            raise SystemExit(
                f"kill {kill} came too late: the translation was done. Give more --lines, or fewer --kills."
            )
        done.append(num_done(output))
    if job.start(output).wait():
        raise SystemExit("the last part of the killed translation failed")
    return done


# The report


def tell_machine(options: argparse.Namespace, size: int) -> None:
    """Print the model, the machine and the versions."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("torch", "ctranslate2", "sentencepiece"))
    threads = os.environ.get("OMP_NUM_THREADS", "default of the library")
    print(f"{platform.machine()}, {os.cpu_count()} cores, OMP threads: {threads}; commit {commit.strip()}")
    print(f"Python {platform.python_version()}, {packages}")
    print(f"{options.lines:,} distinct lines ({size / 2**20:.1f} MB), engine {options.engine}, beam {options.beam}\n")


def tell(job: Job, samples: list[Sample], seconds: float) -> None:
    """Print the memory at several shares of the lines, and the speed."""
    print("| lines done | resident memory |")
    print("|---:|---:|")
    for share in SHARES:
        reached = [sample for sample in samples if sample.num_lines >= share * job.num_lines]
        sample = reached[0] if reached else samples[-1]  # the journal is removed after the last line
        print(f"| {share:.0%} | {sample.megabytes:,.0f} MB |")
    print(f"\nmost: {max(sample.megabytes for sample in samples):,.0f} MB; samples: {len(samples):,}")
    print(f"{job.num_lines / seconds:,.0f} lines per second, including the start ({seconds:,.1f} s)\n")


def main() -> None:
    """Translate once, translate again with kills, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--engine", choices=("ctranslate2", "torch"), default="ctranslate2")
    parser.add_argument("--beam", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(folder / "model")
        job = Job(folder / "model", folder / "in.txt", options.lines, options)
        write_lines(job.source, options.lines)
        job.convert()
        tell_machine(options, job.source.stat().st_size)
        samples, seconds = translate_all(job, folder / "whole.txt")
        tell(job, samples, seconds)
        done = killed(job, folder / "killed.txt", options.kills)
        is_same = filecmp.cmp(folder / "whole.txt", folder / "killed.txt", shallow=False)
        with (folder / "whole.txt").open("rb") as file:
            distinct, lines, digest = set[bytes](), 0, sha256()
            for line in file:
                digest.update(line)
                distinct.add(sha256(line).digest()[:8])
                lines += 1
        print(f"killed {options.kills} times, when {', '.join(f'{num_lines:,}' for num_lines in done)} lines were done")
        print(f"{lines:,} lines out, {len(distinct):,} of them distinct; sha256 {digest.hexdigest()[:16]}")
        print("the outputs are the same, byte for byte" if is_same else "THE OUTPUTS DIFFER")
    if not is_same or lines != options.lines:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
