"""Compare the planner with configs made by hand: the same text, the same time on the clock, scores on validation files.

An entry is `plan` (what `clearhead train SOURCE TARGET` chooses), `defaults` (the defaults of a config before the
planner existed), or one of three configs per corpus that were fixed before the first run. Entries made by hand get as
many updates as fit into the time, by the same measurement as the planner.

All plans are made first, on a device without other work. With `--plans-at-once`, several processes prepare text, but
only one at a time measures the device, and waiting for it does not count. A plan has a number of updates, so it can
then be trained beside others (`--at-once`) with the same result as alone, with the vocabulary and the token stores of
the plan. Each job prints a line of JSON.

    python benchmarks/plan_fit.py --data data --minutes 2 tatoeba-en-es/plan tatoeba-en-es/defaults >> fit.jsonl
    python benchmarks/plan_fit.py --table fit.jsonl
"""

import argparse
import fcntl
import gzip
import json
import lzma
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class TextSet:
    """A corpus: stems of its training files, the stem of its validation files, and its languages."""

    train: tuple[str, ...]
    valid: str
    source: str
    target: str


SETS = {
    "tatoeba-en-bn": TextSet(("tatoeba-en-bn/train",), "tatoeba-en-bn/valid", "en", "bn"),
    "multi30k-en-de": TextSet(("multi30k/train",), "multi30k/val", "en", "de"),
    "tatoeba-en-es": TextSet(("tatoeba-en-es/train",), "tatoeba-en-es/valid", "en", "es"),
    "europarl-en-de": TextSet(
        ("europarl-3way/train", "europarl-en-de-extra/train-extra"), "europarl-3way/valid", "en", "de"
    ),
    # Not used to fit the rule:
    "tatoeba-en-de": TextSet(("tatoeba-en-de/train",), "tatoeba-en-de/valid", "en", "de"),
    "tatoeba-en-hi": TextSet(("tatoeba-en-hi/train",), "tatoeba-en-hi/valid", "en", "hi"),
    "europarl-es-en": TextSet(("europarl-3way/train",), "europarl-3way/valid", "es", "en"),
    # Only for research, because of their licence. Their test files contain sentences of the training text.
    "visual-genome-en-hi": TextSet(("hindi-visual-genome/train",), "hindi-visual-genome/test", "en", "hi"),
    "visual-genome-en-bn": TextSet(("bengali-visual-genome/train",), "bengali-visual-genome/test", "en", "bn"),
}


def sizes(encoder: int, decoder: int, width: int, feed_forward: int, heads: int) -> dict[str, int]:
    """Return the settings of a model's size."""
    names = ("encoder_blocks", "decoder_blocks", "d_model", "d_ff", "num_heads")
    values = (encoder, decoder, width, feed_forward, heads)
    return {f"model.{name}": value for name, value in zip(names, values, strict=True)}


def recipe(batch: int, rate: float, dropout: float, r_drop: float, vocabulary: int) -> dict[str, Any]:
    """Return the settings of a training."""
    return {
        "training.batch_tokens": batch,
        "training.rate": rate,
        "model.dropout": dropout,
        "training.r_drop": r_drop,
        "text.vocabulary": vocabulary,
        "training.optimiser": "adamw",
    }


TINY, WIDE, DEEP = sizes(4, 4, 128, 256, 4), sizes(4, 4, 256, 512, 4), sizes(6, 3, 256, 1024, 4)
SMALL, BASE = sizes(6, 6, 512, 1024, 4), sizes(6, 6, 512, 2048, 8)
# The defaults of a config, as they were: the rate falls with the square root, and nothing depends on the text.
DEFAULTS: Settings = {
    **TINY,
    **recipe(4096, 1e-3, 0.1, 0.0, 8000),
    "training.warm_up": 400,
    "training.schedule": "inverse_sqrt",
    "training.average": "none",
    "validation.metric": "bleu",
}
BY_HAND: Mapping[str, Mapping[str, Settings]] = {
    "tatoeba-en-bn": {
        "tiny": {**TINY, **recipe(2048, 3e-3, 0.3, 5.0, 2000)},
        "wide": {**WIDE, **recipe(2048, 2e-3, 0.4, 5.0, 4000)},
        "small": {**SMALL, **recipe(4096, 1e-3, 0.4, 0.0, 4000)},
    },
    "multi30k-en-de": {
        "tiny": {**TINY, **recipe(8192, 7e-3, 0.2, 2.0, 10_000)},
        "wide": {**WIDE, **recipe(8192, 4e-3, 0.3, 5.0, 10_000)},
        "deep": {**DEEP, **recipe(8192, 3e-3, 0.3, 3.0, 8000)},
    },
    "tatoeba-en-es": {
        "deep": {**DEEP, **recipe(8192, 3e-3, 0.2, 3.0, 8000)},
        "small": {**SMALL, **recipe(16_384, 1.5e-3, 0.3, 0.0, 10_000)},
        "small-r-drop": {**SMALL, **recipe(8192, 1.5e-3, 0.2, 2.0, 10_000)},
    },
    "europarl-en-de": {
        "deep": {**DEEP, **recipe(16_384, 3e-3, 0.1, 0.0, 16_000)},
        "small": {**SMALL, **recipe(16_384, 1.5e-3, 0.1, 0.0, 16_000)},
        "base": {**BASE, **recipe(32_768, 1.5e-3, 0.1, 0.0, 16_000)},
    },
    "tatoeba-en-hi": {
        "tiny": {**TINY, **recipe(4096, 4e-3, 0.3, 5.0, 4000)},
        "wide": {**WIDE, **recipe(4096, 3e-3, 0.3, 5.0, 4000)},
        "small": {**SMALL, **recipe(4096, 1e-3, 0.4, 0.0, 6000)},
    },
    "europarl-es-en": {
        "deep": {**DEEP, **recipe(16_384, 3e-3, 0.1, 0.0, 16_000)},
        "small": {**SMALL, **recipe(16_384, 1.5e-3, 0.1, 0.0, 16_000)},
        "base": {**BASE, **recipe(32_768, 1.5e-3, 0.1, 0.0, 16_000)},
    },
}
# Fixed before the first run, too: the configs of a corpus of the same kind and size.
BY_HAND = {**BY_HAND, "tatoeba-en-de": BY_HAND["tatoeba-en-es"]}
# On two cores, where a person would use small models and batches.
BY_HAND_CPU: Mapping[str, Settings] = {
    "tiny": {**TINY, **recipe(2048, 4e-3, 0.1, 0.0, 6000), "training.optimiser": "muon"},
    "tiny-r-drop": {**TINY, **recipe(1024, 3e-3, 0.2, 3.0, 4000)},
    "shallow": {**sizes(2, 2, 192, 512, 4), **recipe(1024, 2e-3, 0.1, 0.0, 4000)},
}


def lines_of(stem: Path, language: str) -> list[str]:
    """Return the lines of a file, compressed or not."""
    for ending, open_file in {"": open, ".xz": lzma.open, ".gz": gzip.open}.items():
        path = Path(f"{stem}.{language}{ending}")
        if path.is_file():
            with open_file(path, "rt", encoding="utf-8") as file:
                return str(file.read()).removesuffix("\n").split("\n")
    sys.exit(f"There is no {stem}.{language}, also not as .xz or .gz.")


def settings_of(name: str, entry: str, device: str) -> Settings:
    """Return the settings of an entry; those of `plan` are chosen by the planner."""
    if entry == "plan":
        return {}
    if entry == "defaults":
        return DEFAULTS
    return (BY_HAND_CPU if device == "cpu" else BY_HAND.get(name, {}))[entry]


@dataclass(frozen=True)
class Job:
    """An entry of a corpus, and the folder for its files."""

    name: str
    entry: str
    folder: Path

    @property
    def text_set(self) -> TextSet:
        """The corpus."""
        return SETS[self.name]

    @property
    def languages(self) -> tuple[str, str]:
        """The source and the target language."""
        return self.text_set.source, self.text_set.target


class Wait:
    """The seconds that this process has waited for others that measure the device."""

    def __init__(self, lock: Path) -> None:
        self.lock, self.seconds = lock, 0.0

    def alone(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that runs in only one process at a time."""

        def call(*arguments: Any) -> Any:
            start = time.perf_counter()
            with self.lock.open("w") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                self.seconds += time.perf_counter() - start
                return function(*arguments)

        return call


_import_seconds: list[float] = []  # of the jobs of this process; only the first one loads the packages


def make_plan_of(job: Job, options: argparse.Namespace) -> dict[str, Any]:
    """Write the text of a job, and plan its training as `clearhead train` does; `plan.yaml` is in its folder."""
    start = time.perf_counter()
    import clearhead.training.loop  # noqa: F401  a planned run loads this within its time
    from clearhead.training import plan as planning
    from clearhead.training.plan_input import corpus_of
    from clearhead.training.plan_report import plan_yaml
    from clearhead.training.progress import Reporter
    from clearhead.training.run import RunFolder

    _import_seconds.append(time.perf_counter() - start)
    files = write_texts(job, options.data)
    settings = {**settings_of(job.name, job.entry, options.device), "training.seed": options.seed}
    changes = [f"{path}={value}" for path, value in settings.items()] + options.change
    wait = Wait(options.keep / "measuring.lock")

    class PatientRequest(planning.PlanRequest):
        """A request for which waiting for the device does not count."""

        def seconds_left(self, device: str) -> float:
            """Return the seconds for updates, as if there had been no wait."""
            return planning.PlanRequest(self.corpus, self.minutes, self.started + wait.seconds).seconds_left(device)

    measure, planning.measure = planning.measure, wait.alone(planning.measure)
    start = time.perf_counter() - _import_seconds[0]
    request = PatientRequest(corpus_of(files), options.minutes, start, changes, "--set")
    with RunFolder.create_for_plan(job.folder / "planned") as folder, Reporter() as reporter:
        plan = planning.make_plan(request, folder, reporter)
        folder.begin(plan.config)
    planning.measure = measure
    (job.folder / "plan.yaml").write_text(plan_yaml(plan), encoding="utf-8")
    return {**plan.to_data(), "seconds_before_training": round(time.perf_counter() - start - wait.seconds, 1)}


def write_texts(job: Job, data: Path) -> list[Path]:
    """Write the training and the validation text of a job into its folder, and return the training files."""
    files = []
    for language in job.languages:
        lines = [line for stem in job.text_set.train for line in lines_of(data / stem, language)]
        files.append(job.folder / f"train.{language}")
        files[-1].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        held_out = lines_of(data / job.text_set.valid, language)
        (job.folder / f"valid.{language}").write_text("".join(f"{line}\n" for line in held_out), encoding="utf-8")
    return files


def clearhead(*arguments: str | Path) -> str:
    """Run a command of clearhead in a process of its own, and return what it prints."""
    command = [sys.executable, "-m", "clearhead", *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def train_and_judge(job: Job, options: argparse.Namespace, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Train the plan of a job, and score it on the validation files of the corpus, with greedy search."""
    from clearhead.evaluation.scores import bleu, chrf

    run, (source, target) = job.folder / "planned", job.languages
    start = time.perf_counter()
    outcome = json.loads(clearhead("train", "--resume", "--run", run, "--json"))
    seconds = time.perf_counter() - start
    texts = [job.folder / f"valid.{source}", job.folder / "output.txt"]
    clearhead("translate", "-m", run, "-i", texts[0], "-o", texts[1], "--no-paragraphs", "--quiet")
    outputs, references = (
        path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        for path in (texts[1], job.folder / f"valid.{target}")
    )
    environment = json.loads((run / "environment.json").read_text(encoding="utf-8"))["sessions"][0]
    return {
        "set": job.name,
        "entry": job.entry,
        "changes": options.change,
        "minutes": options.minutes,
        "seed": options.seed,
        "valid": {score.name: score.to_dict() for score in (bleu(outputs, references), chrf(outputs, references))},
        "updates": outcome["steps"],
        "best_update": outcome["best_step"],
        "seconds_before_training": plan["seconds_before_training"],
        "planned_seconds": round(plan["seconds_before_training"] + plan["training_seconds"], 1),
        "wall_seconds": round(seconds, 1),
        "at_once": options.at_once,
        "machine": environment["gpus"] or [f"{environment['threads']} threads of {environment['processor']}"],
        "commit": environment["commit"],
        "plan": (job.folder / "plan.yaml").read_text(encoding="utf-8"),
    }


def run_jobs(options: argparse.Namespace) -> None:
    """Plan all jobs, then train them; print each result as soon as it is there."""
    parts = [job.partition("/") for job in options.jobs]
    jobs = [Job(name, entry, options.keep / f"{name}_{entry}") for name, _, entry in parts]
    for job in jobs:
        job.folder.mkdir(parents=True)
    with ProcessPoolExecutor(options.plans_at_once, multiprocessing.get_context("spawn")) as processes:
        plans = list(processes.map(make_plan_of, jobs, [options] * len(jobs)))
    print(f"{len(jobs)} plans are ready", file=sys.stderr, flush=True)
    with ThreadPoolExecutor(options.at_once) as pool:
        results = [pool.submit(train_and_judge, job, options, plan) for job, plan in zip(jobs, plans, strict=True)]
        for result in as_completed(results):
            try:
                print(json.dumps(result.result(), ensure_ascii=False), flush=True)
            except subprocess.CalledProcessError as wrong:
                print(f"a job failed: {wrong}", file=sys.stderr, flush=True)


def table(lines: Sequence[Mapping[str, Any]]) -> None:
    """Print the results as a table."""
    print("| text | entry | updates | seconds, as planned | BLEU | chrF |\n|---|---|---:|---:|---:|---:|")
    for line in lines:
        name = " ".join([line["entry"], *line["changes"]])
        scores = " | ".join(f"{line['valid'][metric]['value']:.1f}" for metric in ("BLEU", "chrF"))
        print(f"| {line['set']} | {name} | {line['updates']:,} | {line['planned_seconds']:.0f} | {scores} |")
    for signature in sorted({score["signature"] for line in lines for score in line["valid"].values()}):
        print(f"- {signature}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", metavar="CORPUS/ENTRY", help="for example tatoeba-en-es/plan")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the corpora")
    parser.add_argument("--change", action="append", default=[], metavar="PATH=VALUE", help="change a setting")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=1, help="trainings beside each other, after all plans are made")
    parser.add_argument(
        "--plans-at-once", type=int, default=1, help="plans beside each other; the device is not shared"
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="which configs made by hand to use")
    parser.add_argument("--keep", type=Path, help="keep texts, plans and runs in this new folder")
    parser.add_argument("--table", type=Path, help="print a table of the lines in this file, and do not train")
    options = parser.parse_args()
    if options.table:
        table([json.loads(line) for line in options.table.read_text(encoding="utf-8").splitlines()])
    elif options.keep:
        run_jobs(options)
    else:
        with tempfile.TemporaryDirectory() as place:
            options.keep = Path(place)
            run_jobs(options)


if __name__ == "__main__":
    main()
