"""The full form of the studies: the same question as `clearhead experiment NAME`, on a real corpus.

A family is a config of configs/studies and a list of changes for each variant. The first variant learns the vocabulary
and the others share it. Then every model translates the test set greedily, and `clearhead evaluate` scores all of them,
also by the length of the source. Variants that are done in --work are not trained again.

    python benchmarks/studies.py position-training --data data/europarl --work runs/studies
    python benchmarks/studies.py score-scaling --data data/europarl --work runs/studies --at-once 4

--data has train, valid and test as .en and .de, plain or compressed (.gz, .xz). --json FILE also writes the results,
and --picture FILE draws them. A dry run on a CPU: --set training.steps=20 --lines 20
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from clearhead.errors import ClearheadError
from clearhead.files.lines import read_lines
from clearhead.studies.picture import check_picture
from studies_report import save_plot, slug
from train_peers import describe_machine

CONFIGS = Path(__file__).parents[1] / "configs" / "studies"


@dataclass(frozen=True)
class Family:
    """The variants of a study: a name and the changes of its config for each."""

    config: str
    variants: Mapping[str, Sequence[str]]


def _scaling_variants() -> dict[str, Sequence[str]]:
    variants: dict[str, Sequence[str]] = {}
    for width in (64, 128, 256, 512):
        for heads in (1, 8):
            for is_scaled in (True, False):
                name = f"{width}, {heads} head{'s' if heads > 1 else ''}, {'scaled' if is_scaled else 'unscaled'}"
                sizes = (f"model.d_model={width}", f"model.d_ff={2 * width}", f"model.num_heads={heads}")
                variants[name] = (*sizes, f"model.scale_scores={str(is_scaled).lower()}")
    return variants


FAMILIES: Mapping[str, Family] = {
    "position-training": Family(
        "position-training.yaml",
        {kind: (f"model.positions={kind}",) for kind in ("sinusoidal", "none", "learned", "rotary")},
    ),
    "score-scaling": Family("score-scaling.yaml", _scaling_variants()),
}


def main() -> None:
    """Train the variants of a study, translate the test set with each, and print the table."""
    options = _options()
    if options.picture is not None:
        _check_picture(options.picture)
    family = FAMILIES[options.study]
    folder = options.work / options.study
    folder.mkdir(parents=True, exist_ok=True)
    sides = {side: _test_lines(options, side, folder) for side in ("en", "de")}
    names = list(family.variants)
    _make(names[0], family, options)  # its vocabulary is that of all variants
    with ThreadPoolExecutor(max_workers=options.at_once) as pool:
        list(pool.map(lambda name: _make(name, family, options), names[1:]))
    report = _evaluate(folder, names, sides)
    results = {name: _result(folder / slug(name), name, report) for name in names}
    print(describe_machine("cuda" if torch.cuda.is_available() else "cpu", torch.get_num_threads()))
    print(f"{options.study}: {' '.join(sys.argv[1:])}\n")
    print(table(results, report))
    if options.json is not None:
        content = {"study": options.study, "results": results, "evaluation": report}
        options.json.write_text(json.dumps(content, indent=1), encoding="utf-8")
    if options.picture is not None:
        save_plot(options.study, results, report, options.picture)


def _check_picture(path: Path) -> None:
    """Exit before anything is trained if the plot could not be written."""
    try:
        check_picture(path)
    except ClearheadError as wrong:
        sys.exit(str(wrong))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("study", choices=FAMILIES)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], help="a change of the config for all variants")
    parser.add_argument("--lines", type=int, default=None, help="only this many lines of the test set")
    parser.add_argument("--at-once", type=int, default=1, help="trainings beside each other")
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--picture", type=Path, default=None, help="an SVG or PNG file")
    return parser.parse_args()


def find(data: Path, name: str) -> Path:
    """Return a file of the corpus, plain or compressed."""
    paths = [data / f"{name}{suffix}" for suffix in ("", ".gz", ".xz")]
    existing = [path for path in paths if path.is_file()]
    if not existing:
        raise SystemExit(f"{data} has no {name}, also not as .gz or .xz.")
    return existing[0]


def _test_lines(options: argparse.Namespace, side: str, folder: Path) -> Path:
    """Write the test sentences of one side as a plain file."""
    path: Path = folder / f"test.{side}"
    lines = read_lines(str(find(options.data, f"test.{side}")))
    path.write_text("".join(f"{line}\n" for line in islice(lines, options.lines)), encoding="utf-8")
    return path


def _make(name: str, family: Family, options: argparse.Namespace) -> None:
    """Train a variant and translate the test set, unless that is done."""
    folder = options.work / options.study
    run, output = folder / slug(name), folder / f"{slug(name)}.de"
    if output.is_file():
        return
    start = time.perf_counter()
    corpus = [
        f"data.{part}.{side}={find(options.data, f'{split}.{language}')}"
        for part, split in (("train.0", "train"), ("valid", "valid"))
        for side, language in (("source", "en"), ("target", "de"))
    ]
    changes = [*family.variants[name], *corpus, *options.set]
    first = folder / slug(next(iter(family.variants)))
    if run != first:
        changes.append(f"text.tokeniser={first}")
    arguments = [part for change in changes for part in ("--set", change)]
    with (folder / f"{slug(name)}.log").open("w") as log:
        train = ["train", str(CONFIGS / family.config), "--run", str(run), *arguments]
        code = _clearhead(train, stdout=log, stderr=subprocess.STDOUT)
        trained = time.perf_counter() - start
        if code == 0:
            partial = output.with_suffix(".partial")
            translate = ["translate", "-m", str(run), "--engine", "torch", "--beam", "1", "--no-paragraphs"]
            with (folder / "test.en").open() as source, partial.open("w") as target:
                code = _clearhead(translate, stdin=source, stdout=target, stderr=log)
            if code == 0:
                partial.rename(output)
    (folder / f"{slug(name)}.seconds").write_text(f"{trained:.1f}")
    print(f"{name}: {'done' if code == 0 else f'FAILED ({code})'} in {time.perf_counter() - start:.0f} s", flush=True)


def _clearhead(arguments: Sequence[str], **streams: Any) -> int:
    return subprocess.run([sys.executable, "-m", "clearhead", *arguments], check=False, **streams).returncode


def _evaluate(folder: Path, names: Sequence[str], sides: Mapping[str, Path]) -> dict[str, Any]:
    """Score all variants that have translations."""
    systems = [name for name in names if (folder / f"{slug(name)}.de").is_file()]
    arguments = ["evaluate", "--json", "--source", str(sides["en"]), "--reference", str(sides["de"])]
    arguments += ["--metric", "bleu", "--metric", "chrf", "--samples", "0", "--test", "none"]
    for name in systems:
        arguments += ["--system", f"{slug(name)}={folder / slug(name)}.de"]
    command = [sys.executable, "-m", "clearhead", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _result(run: Path, name: str, report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of a variant: its scores, its last loss and its time."""
    scores = [system["scores"] for system in report["systems"] if system["name"] == slug(name)]
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    losses = [entry["loss"] for entry in metrics if "loss" in entry]
    seconds = run.with_name(f"{run.name}.seconds")
    return {
        "scores": {score["metric"]: score["value"] for score in scores[0]} if scores else {},
        "training_loss": losses[-1] if losses else None,
        "seconds": float(seconds.read_text()) if seconds.is_file() else None,
    }


def table(results: Mapping[str, Mapping[str, Any]], report: Mapping[str, Any]) -> str:
    """Return the results as a Markdown table: scores, BLEU by length, the last training loss and the time."""
    buckets = report["by_length"]["buckets"]
    heads = ["variant", "BLEU", "chrF", *(f"BLEU, {bucket['name']}" for bucket in buckets), "training loss", "s"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for name, result in results.items():
        by_length = [bucket["scores"].get(slug(name), {}).get("bleu") for bucket in buckets]
        numbers = [result["scores"].get("bleu"), result["scores"].get("chrf"), *by_length]
        cells = [f"{number:.1f}" if number is not None else "–" for number in numbers]
        loss = "–" if result["training_loss"] is None else f"{result['training_loss']:.3f}"
        seconds = "–" if result["seconds"] is None else f"{result['seconds']:.0f}"
        lines.append("| " + " | ".join([name, *cells, loss, seconds]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
