"""What clearhead, JoeyNMT and Transformers need to train on the same text: pieces, configs, processes and timing.

JoeyNMT 2.3.0 runs in a separate environment:
python -m venv joey && joey/bin/pip install torch==2.13.0 joeynmt==2.3.0 importlib_metadata "sentencepiece<0.2.1"
"""

import argparse
import json
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
import yaml

from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.corpora import read_texts
from clearhead.model import ModelConfig
from clearhead.text.config import TextConfig
from clearhead.text.tokeniser import Vocabularies
from clearhead.text.train import train_vocabularies

System = TypeVar("System", bound=Callable[..., Any])
FOREVER = 10**6  # updates: time limits end each run
GRACE = 300  # seconds that an interrupted process has to save its state
_JOEY_LINE = re.compile(r"^(\S+ \S+) - INFO - joeynmt.training - (EPOCH|.*Tokens per Sec: +(\d+))")


@dataclass(frozen=True)
class Point:
    """The number of target tokens trained on, without padding, at a time in seconds after the start of the process."""

    seconds: float
    tokens: float


@dataclass(frozen=True)
class TokenisedCorpus:
    """A tokenised corpus with its vocabulary; every sentence has its end token."""

    folder: Path
    vocabularies: Vocabularies
    source: list[list[int]]
    target: list[list[int]]

    @property
    def mean_target(self) -> float:
        """The mean number of target tokens in a sentence."""
        return sum(map(len, self.target)) / len(self.target)


def tokenise_corpus(data: DataConfig, text: TextConfig, folder: Path) -> TokenisedCorpus:
    """Learn a vocabulary from a corpus, and tokenise the corpus with it, as `clearhead train` does."""
    pairs = list(read_texts(data.train, data))
    vocabularies = train_vocabularies(pairs, text)
    vocabularies.save(folder)
    eos = vocabularies.target.eos
    sides = [vocabularies.source.encode([pair[side] for pair in pairs]) for side in (0, 1)]
    short_pairs = [
        ([*source, eos], [*target, eos])
        for source, target in zip(*sides, strict=True)
        if source and target and max(len(source), len(target)) < data.max_tokens
    ]
    return TokenisedCorpus(
        folder, vocabularies, [source for source, _ in short_pairs], [target for _, target in short_pairs]
    )


def corpus_config(source: str, target: str) -> CorpusConfig:
    """Return a corpus of two files."""
    return CorpusConfig.model_validate({"source": source, "target": target})


# The options and systems that every comparison has


def add_peer_options(parser: argparse.ArgumentParser, systems: Sequence[str], defaults: Sequence[str]) -> None:
    """Add the options of a comparison: the systems and the device."""
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cpu", "cuda"])
    parser.add_argument("--joey", default=None, metavar="PYTHON", help="path of a Python with JoeyNMT")
    parser.add_argument("--systems", nargs="+", choices=systems, default=list(defaults))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))


def available_systems(systems: Mapping[str, System], options: argparse.Namespace) -> dict[str, System]:
    """Return the chosen systems that can run here; report the others with the reason."""
    chosen = {name: systems[name] for name in options.systems}
    reasons = {
        "joeynmt": "JoeyNMT is skipped: --joey names no Python that has it." if options.joey is None else "",
        "transformers": why_no_trainer(),
    }
    for family, reason in reasons.items():
        if reason and any(name.startswith(family) for name in chosen):
            print(reason)
            chosen = {name: system for name, system in chosen.items() if not name.startswith(family)}
    return chosen


def print_machine(options: argparse.Namespace, systems: Mapping[str, Any]) -> None:
    """Print the machine and the versions of all systems."""
    print(describe_machine(options.device, options.threads))
    if any(name.startswith("joeynmt") for name in systems):
        print(joey_version(options.joey))


# A process with a time limit


@dataclass(frozen=True)
class EndedProcess:
    """How a process ended."""

    start: float  # by time.time()
    seconds: float
    cpu_seconds: float  # CPU seconds, user and system
    code: int
    log: Path

    def tail(self) -> str:
        """Return the last lines of its output."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])


def run_for(
    command: Sequence[str | Path], seconds: float, log: Path, environment: Mapping[str, str], folder: Path
) -> EndedProcess:
    """Run a command for a number of seconds, then interrupt it as Ctrl-C would."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # in the background of a shell; children would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with log.open("wb") as file:
        start = time.time()
        process = subprocess.Popen(
            list(map(str, command)), stdout=file, stderr=subprocess.STDOUT, env=dict(environment), cwd=folder
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    lasted, after = time.time() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return EndedProcess(start, lasted, cpu_seconds, process.returncode, log)


def environment_of(threads: int, *, is_ours: bool = True) -> dict[str, str]:
    """Return the environment of a process: the number of threads, and no path to our packages for another Python."""
    variables = {name: value for name, value in os.environ.items() if is_ours or name != "PYTHONPATH"}
    return {**variables, "OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}


# clearhead


def clearhead(*arguments: str | Path) -> list[str]:
    """Return the command line of clearhead."""
    return [sys.executable, "-m", "clearhead.cli.main", *map(str, arguments)]


def clearhead_points(run: Path, start: float) -> tuple[list[Point], float]:
    """Return the points of a run of clearhead, and the share of its steady time in which it waited for data."""
    path = run / "metrics.jsonl"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    all_lines = [json.loads(line) for line in text.splitlines()]
    lines = [line for line in all_lines if "tokens_per_second" in line]
    if len(lines) < 3:
        return [], 0.0
    interval_tokens = [0.0]  # tokens in each interval; the first has as many tokens per update as the others
    interval_tokens += [  # a speed does not count the time of a validation, which has its own line
        line["tokens_per_second"] * (line["time"] - before["time"])
        for before, line in pairwise(all_lines)
        if "tokens_per_second" in line
    ]
    updates = lines[-1]["step"] - lines[0]["step"]
    interval_tokens[0] = lines[0]["step"] * sum(interval_tokens) / updates
    sums = np.cumsum(interval_tokens).tolist()
    points = [Point(line["time"] - start, tokens) for line, tokens in zip(lines, sums, strict=True)]
    late = lines[len(lines) // 3 :]
    return points, sum(line["waiting"] for line in late) / len(late)


# Transformers


def marian_settings(config: ModelConfig) -> dict[str, Any]:
    """Return the same sizes under the names of MarianMT's config."""
    return {
        "vocab_size": config.source_vocabulary, "d_model": config.d_model, "encoder_layers": config.encoder_blocks,
        "decoder_layers": config.decoder_blocks, "encoder_attention_heads": config.num_heads,
        "decoder_attention_heads": config.num_heads, "encoder_ffn_dim": config.d_ff, "decoder_ffn_dim": config.d_ff,
        "max_position_embeddings": config.max_length, "dropout": config.dropout, "attention_dropout": 0.0,
        "activation_dropout": 0.0, "activation_function": config.activation, "scale_embedding": True,
        "pad_token_id": config.pad, "eos_token_id": config.eos, "bos_token_id": config.bos,
        "decoder_start_token_id": config.pad, "forced_eos_token_id": None,
    }  # fmt: skip


def write_pairs(path: Path, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]) -> None:
    """Write ids for the process that trains MarianMT."""
    arrays = {}
    for name, rows in (("source", source), ("target", target)):
        arrays[name] = np.fromiter((piece_id for row in rows for piece_id in row), dtype=np.int32)
        arrays[f"{name}_ends"] = np.cumsum([0, *map(len, rows)])
    np.savez(path, allow_pickle=False, **arrays)


def write_sources(path: Path, lines: Sequence[str], vocabularies: Vocabularies) -> None:
    """Write the ids of sentences that MarianMT will translate."""
    rows = [[*row, vocabularies.source.eos] for row in vocabularies.source.encode(lines)]
    write_pairs(path, rows, rows)


def trainer_arguments(output: Path, options: argparse.Namespace, log_every: int, num_workers: int) -> dict[str, Any]:
    """Return the settings of every run of Seq2SeqTrainer: train until the time is over, save nothing, log."""
    is_gpu = options.device == "cuda"
    return {
        "output_dir": str(output), "max_steps": FOREVER, "logging_steps": log_every, "save_strategy": "no",
        "report_to": "none", "disable_tqdm": True, "use_cpu": not is_gpu, "bf16": is_gpu,
        "dataloader_num_workers": num_workers,
    }  # fmt: skip


def train_marian(settings: Mapping[str, Any], path: Path, seconds: float, grace: float, threads: int) -> EndedProcess:
    """Train MarianMT for a number of seconds in a separate process; its settings are written to `path`."""
    start = time.time()
    path.write_text(json.dumps({**settings, "start": start, "deadline": start + seconds}), encoding="utf-8")
    command = [sys.executable, str(Path(__file__).with_name("train_marian.py").resolve()), str(path)]
    log = path.with_name(f"{path.name.partition('.')[0]}.log")
    return run_for(command, seconds + grace, log, environment_of(threads), path.parent)


def marian_points(path: Path, start: float) -> list[Point]:
    """Return the points that the process has written."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return [Point(line["time"] - start, line["tokens"]) for line in map(json.loads, text.splitlines())]


def why_no_trainer() -> str:
    """Return why Transformers' trainer cannot be used here; an empty text if it can."""
    missing = [name for name in ("transformers", "accelerate", "psutil") if find_spec(name) is None]
    return f"transformers + Trainer is skipped: {', '.join(missing)} cannot be imported here." if missing else ""


# JoeyNMT


def joey_stack(config: ModelConfig, num_layers: int, norm: str) -> dict[str, Any]:
    """Return the settings of an encoder or a decoder in JoeyNMT's config."""
    return {
        "type": "transformer", "num_layers": num_layers, "num_heads": config.num_heads, "hidden_size": config.d_model,
        "ff_size": config.d_ff, "dropout": config.dropout, "layer_norm": norm,
        "embeddings": {"embedding_dim": config.d_model, "scale": True},
    }  # fmt: skip


def joey_model(config: ModelConfig, norm: str = "pre") -> dict[str, Any]:
    """Return the same sizes under the names of JoeyNMT's config; all three embedding tables are shared."""
    return {
        "tied_embeddings": True, "tied_softmax": True, "encoder": joey_stack(config, config.encoder_blocks, norm),
        "decoder": joey_stack(config, config.decoder_blocks, norm),
    }  # fmt: skip


def train_joey(settings: Mapping[str, Any], path: Path, seconds: float, options: argparse.Namespace) -> EndedProcess:
    """Train with `python -m joeynmt train` for a number of seconds; its settings are written to `path`."""
    common = {
        "joeynmt_version": "2.3.0", "model_dir": str(path.with_suffix("")), "use_cuda": options.device == "cuda",
    }  # fmt: skip
    path.write_text(yaml.safe_dump({**common, **settings}), encoding="utf-8")
    command = [options.joey, "-m", "joeynmt", "train", path, "--skip-test"]
    environment = environment_of(options.threads, is_ours=options.joey == sys.executable)
    return run_for(command, seconds, path.with_suffix(".log"), environment, path.parent)


def write_joey_vocabulary(vocabularies: Vocabularies, path: Path) -> None:
    """Write the pieces, one per line."""
    tokeniser = vocabularies.source
    special = {tokeniser.pad, tokeniser.bos, tokeniser.eos, tokeniser.unk}
    pieces = tokeniser.pieces([number for number in range(tokeniser.size) if number not in special])
    path.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")


def joey_points(log: Path, start: float) -> list[Point]:
    """Return the points in JoeyNMT's log, which counts tokens of each interval with end tokens, without padding."""
    points: list[Point] = []
    before, tokens = start, 0.0
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        match = _JOEY_LINE.match(line)
        if match is None:
            continue
        now = datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S,%f").timestamp()
        if match[3] is not None:
            tokens += float(match[3]) * (now - before)
            points.append(Point(now - start, tokens))
        before = now
    return points


def joey_version(python: str) -> str:
    """Return the versions of JoeyNMT and torch in another environment."""
    program = "from importlib.metadata import version as v; print('joeynmt', v('joeynmt'), 'on torch', v('torch'))"
    environment = environment_of(1, is_ours=python == sys.executable)
    return subprocess.run(
        [python, "-c", program], capture_output=True, text=True, check=True, env=environment
    ).stdout.strip()


# The machine


def describe_machine(device: str, threads: int) -> str:
    """Return the machine, versions and commit in one line."""
    here = Path(__file__).parent
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=here
    ).stdout.strip()
    machine = torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()} CPU, {threads} threads"
    versions = [f"Python {platform.python_version()}", f"torch {torch.__version__}"]
    versions += [f"{name} {metadata.version(name)}" for name in ("transformers", "accelerate") if find_spec(name)]
    load = os.getloadavg()[0]
    return f"{machine} (load before: {load:.1f}); {', '.join(versions)}; commit {commit or 'unknown'}"
