"""Three ways of reading a sentence, in full: recurrent, convolutional and Transformer models on the same data and time.

The folder --data has train, valid and test files for two languages (train.en, train.de …), plain, .gz or .xz. The text
is prepared once in the folder --work, and every run starts from a copy. A run writes results/NAME-SEED.json as soon as
it is scored, so that parts can be run in separate calls; `summary` puts them together.

    python benchmarks/readers.py train transformer convolutional --data data/europarl --work work --minutes 1.5
    python benchmarks/readers.py train transformer --data data/europarl --work work --seeds 2 3 --like-seed 1
    python benchmarks/readers.py summary --work work --picture readers.svg
"""

import argparse
import json
import multiprocessing
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

import torch
from clearhead.evaluation.buckets import score_by_length
from rich.console import Console

import readers_report
from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.corpora import read_texts
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.evaluation.scores import compute_counts
from clearhead.model.device import keep_freed_memory
from clearhead.studies.variants import VARIANTS
from clearhead.training.config import RunConfig, load_run_config
from clearhead.training.launch import launch
from clearhead.training.metrics import metrics_lines
from clearhead.training.prepare import prepare
from clearhead.training.progress import Reporter
from clearhead.training.run import STORES, RunFolder

CONFIGS = Path(__file__).parents[1] / "configs" / "studies"
_NOT_STEADY = 2  # log lines at the start of a run, in which kernels are loaded


@dataclass(frozen=True)
class ReaderRun:
    """A variant and a seed, with the settings that differ from its config."""

    name: str
    seed: int
    changes: tuple[str, ...]

    @property
    def label(self) -> str:
        """The name of its files."""
        return f"{self.name}-{self.seed}"

    def config(self) -> RunConfig:
        """Return the complete config."""
        changes = [*self.changes, f"training.seed={self.seed}"]
        return load_run_config(CONFIGS / f"{self.name}.yaml", changes)


def find_file(folder: Path, name: str) -> Path:
    """Return the path of a file, plain or compressed."""
    for suffix in ("", ".gz", ".xz"):
        if (folder / f"{name}{suffix}").is_file():
            return (folder / f"{name}{suffix}").resolve()
    sys.exit(f"{folder} has no {name}, plain, .gz or .xz.")


def corpus_of(options: argparse.Namespace, part: str) -> dict[str, str]:
    """Return the two files of a part of the data."""
    languages = {"source": options.source, "target": options.target}
    return {side: str(find_file(options.data, f"{part}.{language}")) for side, language in languages.items()}


def changes_of(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the changes of every run: its data, its time, and what the command line sets."""
    train, valid = corpus_of(options, "train"), corpus_of(options, "valid")
    data = [f"data.train=[{json.dumps(train)}]", f"data.valid={json.dumps(valid)}"]
    return (*data, f"training.minutes={options.minutes}", *options.set)


def prepare_text(options: argparse.Namespace) -> None:
    """Learn the vocabulary and store the tokens in the folder `prepared`, unless that is done."""
    folder = options.work / "prepared"
    if (folder / "ready").is_file():
        return
    shutil.rmtree(folder, ignore_errors=True)
    start = time.perf_counter()
    config = ReaderRun("transformer", 1, changes_of(options)).config()
    with RunFolder.create(folder, config) as run, Reporter(run.metrics, run.curves) as reporter:
        prepare(config, run, reporter)
    (folder / "ready").touch()
    print(f"prepared in {time.perf_counter() - start:.0f} s", flush=True)


def start_in(place: Path, run: ReaderRun, work: Path) -> Path:
    """Create a folder for a run with the vocabulary and the tokens that are prepared."""
    shutil.rmtree(place, ignore_errors=True)
    RunFolder.create(place, run.config()).close()
    for name in (STORES, "tokeniser"):
        shutil.copytree(work / "prepared" / name, place / name)
    return place


def train_and_score(run: ReaderRun, options: argparse.Namespace) -> dict[str, Any]:
    """Train a variant, translate the test set, and write what was measured to a file."""
    keep_freed_memory()  # as clearhead train does
    place = start_in(options.work / "runs" / run.label, run, options.work)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with (place / "log.txt").open("w", encoding="utf-8") as log:
        outcome = launch(run.config(), place, resume=True, console=Console(file=log, width=120))
    memory = torch.cuda.max_memory_allocated() if device == "cuda" else 0
    lines = metrics_lines((place / "metrics.jsonl").read_text(encoding="utf-8"))
    result = {
        "variant": run.name,
        "seed": run.seed,
        "changes": [change for change in run.changes if not change.startswith("data.")],
        "like_seed": options.like_seed,
        "at_once": options.at_once,
        "updates": outcome.steps,
        "seconds": outcome.seconds,
        "tokens_per_second": median(speeds_of(lines)),
        "training_memory": memory,
        "curve": curve_of(lines),
        "machine": machine_of(place),
        **score(place, options),
    }
    results = options.work / "results"
    results.mkdir(exist_ok=True)
    (results / f"{run.label}.json").write_text(json.dumps(result, ensure_ascii=False, indent=1), encoding="utf-8")
    if not options.keep:
        for name in ("checkpoints", "last", STORES):
            shutil.rmtree(place / name, ignore_errors=True)
    return result


def machine_of(place: Path) -> dict[str, Any]:
    """Return the hardware, the versions and the commit."""
    session = json.loads((place / "environment.json").read_text(encoding="utf-8"))["sessions"][-1]
    return {name: session[name] for name in ("gpus", "processor", "cores", "threads", "python", "packages", "commit")}


def speeds_of(lines: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the target tokens per second of each log line, without those at the start; validation is not counted."""
    speeds = [line["tokens_per_second"] for line in lines if "tokens_per_second" in line]
    return speeds[_NOT_STEADY:] or speeds


def curve_of(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Return the update, the seconds of training, the loss and BLEU of every validation.

    The time of validations and checkpoints is not counted: a log line covers its number of tokens divided by its speed.
    The tokens of a line are about the same for all, and are known where no validation comes before it. The first lines,
    in which kernels are loaded, count with the median speed.
    """
    logs = [line for line in lines if "tokens_per_second" in line]
    judged = {line["step"] for line in lines if "valid/bleu" in line}
    steps = [0, *(line["step"] for line in logs)]
    per_update = [
        line["tokens_per_second"] * (line["time"] - before["time"]) / (line["step"] - before["step"])
        for before, line in pairwise(logs)
        if before["step"] not in judged
    ]
    tokens = mean(per_update) if per_update else 1.0
    steady = median(speeds_of(lines)) if logs else 1.0
    speeds = [steady if number < _NOT_STEADY else line["tokens_per_second"] for number, line in enumerate(logs)]
    seconds, clock = {0: 0.0}, 0.0
    for before, line, speed in zip(steps, logs, speeds, strict=False):
        clock += tokens * (line["step"] - before) / speed
        seconds[line["step"]] = clock
    return [
        {
            "step": line["step"],
            "seconds": seconds[max(step for step in seconds if step <= line["step"])],
            "loss": line["valid/loss"],
            "bleu": line["valid/bleu"],
        }
        for line in lines
        if "valid/bleu" in line
    ]


def score(place: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Translate the test set with the best model of a run; return its scores, also by the length of the source."""
    corpus = CorpusConfig.model_validate(corpus_of(options, "test"))
    pairs = list(read_texts([corpus], DataConfig(train=(corpus,))))[: options.sentences]
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    translator = Translator.load(place, engine="torch")
    vocabulary = translator.vocabularies.target
    if vocabulary.config.lower_case:  # the model cannot write upper case
        references = [vocabulary.normalised(reference) for reference in references]
    translator.translate(sources[:32], SearchSettings(beam=options.beam))  # kernels are loaded
    start = time.perf_counter()
    outputs = [translation.text for translation in translator.translate(sources, SearchSettings(beam=options.beam))]
    seconds = time.perf_counter() - start
    (place / "test.txt").write_text("".join(f"{output}\n" for output in outputs), encoding="utf-8")
    counts = {metric: compute_counts(metric, outputs, [references]) for metric in ("bleu", "chrf")}
    buckets = score_by_length({"model": counts}, sources)
    return {
        "parameters": sum(parameter.numel() for parameter in translator.model.parameters()),
        "beam": options.beam,
        "translation_seconds": seconds,
        "sentences": len(sources),
        "test": {metric: one.corpus_score.to_dict() for metric, one in counts.items()},
        "by_length": [
            {"words": bucket.name, "sentences": bucket.num_sentences, **bucket.scores["model"]} for bucket in buckets
        ],
    }


def load_kernels(run: ReaderRun, work: Path) -> None:
    """Train a model for a few updates and forget it: the first training of a process loads the kernels of the GPU."""
    brief = replace(run, changes=(*run.changes, "training.steps=30", "validation.every=30"))
    place = start_in(work / "warm-up", brief, work)
    launch(brief.config(), place, resume=True, console=Console(quiet=True))
    shutil.rmtree(place)


def runs_of(options: argparse.Namespace) -> list[ReaderRun]:
    """Return the runs that the command line asks for."""
    runs = []
    for seed in options.seeds:
        for name in options.variants:
            changes = changes_of(options)
            if options.like_seed is not None:
                file = options.work / "results" / f"{name}-{options.like_seed}.json"
                updates = json.loads(file.read_text(encoding="utf-8"))["updates"]
                changes = (*changes, f"training.steps={updates}", "training.minutes=60")
            runs.append(ReaderRun(name, seed, changes))
    return runs


def train_all(options: argparse.Namespace) -> None:
    """Train and score all runs, one after the other or several at once, and print a line for each."""
    start = time.perf_counter()
    options.work.mkdir(parents=True, exist_ok=True)
    prepare_text(options)
    with ProcessPoolExecutor(options.at_once, multiprocessing.get_context("spawn")) as processes:
        if options.at_once == 1:  # then the times count
            processes.submit(load_kernels, runs_of(options)[0], options.work).result()
        jobs = {processes.submit(train_and_score, run, options): run for run in runs_of(options)}
        for job in as_completed(jobs):
            try:
                result = job.result()
            except Exception as wrong:  # the other runs go on
                print(f"{jobs[job].label} failed: {type(wrong).__name__}: {wrong}", flush=True)
                continue
            test = result["test"]
            print(f"{jobs[job].label}: {result['updates']:,} updates in {result['seconds']:.0f} s, "
                  f"{result['tokens_per_second']:,.0f} tokens/s, BLEU {test['bleu']['value']:.1f}, "
                  f"chrF {test['chrf']['value']:.1f}, translated in {result['translation_seconds']:.0f} s; "
                  f"{time.perf_counter() - start:.0f} s since the start", flush=True)  # fmt: skip


def options_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    train = parts.add_parser("train", help="train variants and score them on the test set")
    train.add_argument("variants", nargs="*", choices=tuple(VARIANTS), default=tuple(VARIANTS), metavar="VARIANT")
    train.add_argument("--data", type=Path, required=True, help="folder with train.en, valid.en, test.en and so on")
    train.add_argument("--source", default="en", help="source language")
    train.add_argument("--target", default="de", help="target language")
    train.add_argument("--minutes", type=float, default=1.5, help="time of a training, with its validations")
    train.add_argument("--seeds", type=int, nargs="+", default=[1])
    train.add_argument("--like-seed", type=int, help="make as many updates as the run of this seed, in any time")
    train.add_argument("--at-once", type=int, default=1, help="trainings beside each other; use it with --like-seed")
    train.add_argument("--beam", type=int, default=1)
    train.add_argument("--sentences", type=int, help="translate at most this number of test sentences")
    train.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="as in clearhead train")
    train.add_argument("--keep", action="store_true", help="keep the checkpoints")
    summary = parts.add_parser("summary", help="print tables of all results, and draw them")
    summary.add_argument("--score", type=float, help="the validation BLEU that the time is measured to")
    summary.add_argument("--picture", type=Path, help="an SVG or PNG file")
    for part in (train, summary):
        part.add_argument("--work", type=Path, required=True, help="folder for text, runs and results")
    return parser


def main() -> None:
    options = options_parser().parse_args()
    if options.part == "train":
        train_all(options)
        return
    files = sorted((options.work / "results").glob("*.json"))
    if not files:
        sys.exit(f"{options.work / 'results'} has no results.")
    results = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    readers_report.report(results, options.score, options.picture)


if __name__ == "__main__":
    main()
