"""Training speed end to end, with data loading: clearhead, JoeyNMT and Transformers' MarianMT + Seq2SeqTrainer.

All systems train the same sizes on the same pieces of the same text, with the same number of target tokens in a batch,
each in a separate process, as its users start it. They run in rounds, so that a slow minute of the machine affects all.

    python benchmarks/train_speed.py --source train.en --target train.de --joey joey/bin/python
    python benchmarks/train_speed.py --device cuda --preset small --batch-tokens 16384 --source … --target …

Target tokens are counted with end tokens and without padding. `steady` skips the first third of a process's time;
`whole` and tokens per CPU second start with the process. The latter is more reliable on a machine that others use too.
Transformers needs accelerate and psutil; train_peers.py explains how to install JoeyNMT.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from clearhead.data.config import DataConfig
from clearhead.model import ModelConfig, preset
from clearhead.text.config import TextConfig
from train_peers import (
    FOREVER,
    EndedProcess,
    Point,
    TokenisedCorpus,
    add_peer_options,
    available_systems,
    clearhead,
    clearhead_points,
    corpus_config,
    environment_of,
    joey_model,
    joey_points,
    marian_points,
    marian_settings,
    print_machine,
    run_for,
    tokenise_corpus,
    train_joey,
    train_marian,
    trainer_arguments,
    write_joey_vocabulary,
    write_pairs,
)

SYSTEMS = ("clearhead", "clearhead-compiled", "joeynmt", "transformers")
RATE, WARM_UP, SMOOTHING = 5e-4, 400, 0.1  # the same for every system


@dataclass(frozen=True)
class TrainingSpeed:
    """The results of one process."""

    steady: float  # target tokens per second
    overall: float
    first: float  # seconds until the first log
    per_cpu_second: float  # target tokens per CPU second, which does not depend on other users of the machine
    waiting: float | None = None  # share of the steady time in which the device had no data


@dataclass(frozen=True)
class Comparison:
    """The inputs that are the same for every system."""

    options: argparse.Namespace
    corpus: TokenisedCorpus
    config: ModelConfig
    folder: Path

    @property
    def log_every(self) -> int:
        """Updates between two logs."""
        return 25 if self.options.device == "cuda" else 2


def speeds(points: Sequence[Point], ended: EndedProcess, seconds: float, waiting: float | None) -> TrainingSpeed | None:
    """Return the speeds computed from the points of a process."""
    late = [point for point in points if point.seconds >= seconds / 3]
    if len(late) < 2:
        return None
    passed = late[-1].seconds - late[0].seconds
    steady = (late[-1].tokens - late[0].tokens) / passed
    overall = late[-1].tokens / late[-1].seconds
    return TrainingSpeed(steady, overall, points[0].seconds, late[-1].tokens / ended.cpu_seconds, waiting)


def speed_or_exit(
    name: str, points: Sequence[Point], ended: EndedProcess, seconds: float, waiting: float | None = None
) -> TrainingSpeed:
    """Return the speeds, or exit with the output of the process."""
    speed = speeds(points, ended, seconds, waiting)
    if speed is None:
        sys.exit(
            f"{name} made too few updates in {seconds:.0f} s (exit code {ended.code}). Its output:\n{ended.tail()}"
        )
    return speed


def run_clearhead(setting: Comparison, is_compiled: bool | None = None) -> TrainingSpeed:
    """Train with `clearhead train`."""
    options, run = setting.options, setting.folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    config = {
        "preset": options.preset,
        "data": {
            "train": [{"source": str(options.source.resolve()), "target": str(options.target.resolve())}],
            "max_pairs": options.max_pairs,
        },
        "text": {"tokeniser": str(setting.corpus.folder)},
        "training": {
            "steps": FOREVER, "batch_tokens": options.batch_tokens, "rate": RATE, "warm_up": WARM_UP,
            "label_smoothing": SMOOTHING, "log_every": setting.log_every, "checkpoint_every": FOREVER,
            "device": options.device, **({} if is_compiled is None else {"is_compiled": is_compiled}),
        },
    }  # fmt: skip
    path = setting.folder / "clearhead.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")
    command = clearhead("train", path, "--run", run)
    environment = environment_of(options.threads)
    ended = run_for(command, options.seconds, setting.folder / "clearhead.log", environment, setting.folder)
    points, waiting = clearhead_points(run, ended.start)
    return speed_or_exit("clearhead", points, ended, options.seconds, waiting)


def run_transformers(setting: Comparison) -> TrainingSpeed:
    """Train MarianMT with Seq2SeqTrainer: sentences grouped by length, in batches of the same number of tokens."""
    options, folder = setting.options, setting.folder
    pairs, points = folder / "pairs.npz", folder / "points.jsonl"
    if not pairs.exists():
        write_pairs(pairs, setting.corpus.source, setting.corpus.target)
    points.unlink(missing_ok=True)
    arguments = {
        **trainer_arguments(folder / "marian", options, setting.log_every, options.workers),
        "learning_rate": RATE, "warmup_steps": WARM_UP,
        "per_device_train_batch_size": max(1, round(options.batch_tokens / setting.corpus.mean_target)),
        "lr_scheduler_type": "inverse_sqrt", "label_smoothing_factor": SMOOTHING, "weight_decay": 0.01,
    }  # fmt: skip
    settings = {
        "model": marian_settings(setting.config), "arguments": arguments, "is_grouped": True,
        "pairs": str(pairs), "points": str(points),
    }  # fmt: skip
    ended = train_marian(settings, folder / "marian.json", options.seconds, 30, options.threads)
    return speed_or_exit("transformers", marian_points(points, ended.start), ended, options.seconds)


def run_joey(setting: Comparison) -> TrainingSpeed:
    """Train with `python -m joeynmt train`; it reads the pieces as words, which it splits at spaces."""
    options, folder = setting.options, setting.folder
    write_joey_data(setting.corpus, folder)
    side = {"level": "word", "max_length": 1000, "voc_file": str(folder / "pieces.txt")}
    settings: dict[str, Any] = {
        "name": "speed", "fp16": options.device == "cuda", "random_seed": 1,
        "data": {
            "train": str(folder / "joey-train"), "dev": str(folder / "joey-dev"), "dataset_type": "plain",
            "src": {"lang": "source", **side}, "trg": {"lang": "target", **side},
        },
        "testing": {"beam_size": 1, "eval_metrics": ["bleu"]},
        "training": {
            "optimizer": "adamw", "adam_betas": [0.9, 0.98], "weight_decay": 0.01, "clip_grad_norm": 1.0,
            "scheduling": "warmupinversesquareroot", "learning_rate": RATE, "learning_rate_warmup": WARM_UP,
            "learning_rate_min": 1e-9, "label_smoothing": SMOOTHING, "normalization": "tokens",
            "batch_size": options.batch_tokens, "batch_type": "token", "epochs": FOREVER, "updates": FOREVER,
            "validation_freq": FOREVER * setting.log_every, "logging_freq": setting.log_every, "overwrite": True,
        },
        "model": joey_model(setting.config),
    }  # fmt: skip
    ended = train_joey(settings, folder / "joey.yaml", options.seconds, options)
    return speed_or_exit("joeynmt", joey_points(folder / "joey.log", ended.start), ended, options.seconds)


def write_joey_data(corpus: TokenisedCorpus, folder: Path) -> None:
    """Write the corpus as pieces separated by spaces, and a few sentences for validation, which JoeyNMT requires."""
    if (folder / "pieces.txt").exists():
        return
    for side, rows, tokeniser in (
        ("source", corpus.source, corpus.vocabularies.source),
        ("target", corpus.target, corpus.vocabularies.target),
    ):
        lines = [" ".join(tokeniser.pieces(row[:-1])) + "\n" for row in rows]
        (folder / f"joey-train.{side}").write_text("".join(lines), encoding="utf-8")
        (folder / f"joey-dev.{side}").write_text("".join(lines[:10]), encoding="utf-8")
    write_joey_vocabulary(corpus.vocabularies, folder / "pieces.txt")


def systems_of(options: argparse.Namespace) -> dict[str, Callable[[Comparison], TrainingSpeed]]:
    """Return the systems that can run here; report the others with the reason."""
    runs: dict[str, Callable[[Comparison], TrainingSpeed]] = {
        "clearhead": run_clearhead, "clearhead-compiled": partial(run_clearhead, is_compiled=True),
        "joeynmt": run_joey, "transformers": run_transformers,
    }  # fmt: skip
    return available_systems(runs, options)


def print_table(results: dict[str, list[TrainingSpeed]]) -> None:
    """Print the table: medians over the rounds, with the lowest and the highest."""
    steady = {name: statistics.median(speed.steady for speed in round_speeds) for name, round_speeds in results.items()}
    overall = {
        name: statistics.median(speed.overall for speed in round_speeds) for name, round_speeds in results.items()
    }
    peers = [name for name in results if not name.startswith("clearhead")]
    best = [max((values[name] for name in peers), default=float("nan")) for values in (steady, overall)]
    print("\n| system | steady tokens/s | lowest to highest | × better peer | whole tokens/s | × better peer "
          "| first log after | tokens per CPU second | waiting for data |\n|---|" + 8 * "---:|")  # fmt: skip
    for name, round_speeds in results.items():
        spread = (
            f"{min(speed.steady for speed in round_speeds):,.0f}–{max(speed.steady for speed in round_speeds):,.0f}"
        )
        waits = [speed.waiting for speed in round_speeds if speed.waiting is not None]
        waiting = f"{100 * statistics.median(waits):.2f} %" if waits else "not known"
        first = statistics.median(speed.first for speed in round_speeds)
        per_cpu_second = statistics.median(speed.per_cpu_second for speed in round_speeds)
        print(f"| {name} | {steady[name]:,.0f} | {spread} | {steady[name] / best[0]:.2f} | {overall[name]:,.0f} | "
              f"{overall[name] / best[1]:.2f} | {first:.1f} s | {per_cpu_second:,.0f} | {waiting} |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--max-pairs", type=int, default=None, help="read at most this number of pairs")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of each process, including its start")
    parser.add_argument("--rounds", type=int, default=2)
    add_peer_options(parser, SYSTEMS, ["clearhead", "joeynmt", "transformers"])
    parser.add_argument("--workers", type=int, default=None, help="loader workers of Trainer; default: 0, on a GPU 2")
    options = parser.parse_args()
    if options.workers is None:
        options.workers = 2 if options.device == "cuda" else 0
    systems = systems_of(options)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = {"train": [corpus_config(str(options.source), str(options.target))], "max_pairs": options.max_pairs}
        text = TextConfig.model_validate({"vocabulary": options.vocabulary})
        corpus = tokenise_corpus(DataConfig.model_validate(data), text, folder / "pieces")
        config = preset(options.preset, source_vocabulary=corpus.vocabularies.source.size)
        setting = Comparison(options, corpus, config, folder)
        print_machine(options, systems)
        print(f"{options.preset} ({config.encoder_blocks}+{config.decoder_blocks} blocks, width {config.d_model}, "
              f"{config.d_ff} inside, {config.num_heads} heads), vocabulary {config.source_vocabulary:,}, "
              f"{len(corpus.source):,} pairs of {corpus.mean_target:.1f} target tokens, {options.batch_tokens:,} in a "
              f"batch; {options.rounds} rounds of {options.seconds:.0f} s", flush=True)  # fmt: skip
        results: dict[str, list[TrainingSpeed]] = {system: [] for system in systems}
        for turn in range(options.rounds):
            for system, run in systems.items():
                speed = run(setting)
                results[system].append(speed)
                print(f"round {turn + 1}: {system}: {speed.steady:,.0f} steady, {speed.overall:,.0f} whole, "
                      f"{speed.per_cpu_second:,.0f} per CPU second",
                      file=sys.stderr, flush=True)  # fmt: skip
        print_table(results)


if __name__ == "__main__":
    main()
