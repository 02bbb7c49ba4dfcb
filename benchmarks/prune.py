"""How many attention heads does a translator need? Multi30k, 6 + 6 layers with 8 heads each: 144 heads.

Parts, each of which can be run alone in the same --work folder (train first):
  train       the full model
  heads       `clearhead heads` on it, with its time
  importance  fewer and fewer heads by importance, for each kind of attention; and 3/4, 1/2 and 1/4 of all heads with
              fine-tuning afterwards
  scratch     models with a half and a quarter of the heads of every layer, trained from scratch
  speed       time to translate the test set with fewer heads
Heads are chosen on the validation text, and BLEU is that of the test text unless a table says otherwise.
Run: python benchmarks/prune.py --data multi30k --work runs/prune [--parts train heads …] [--at-once 4] [--steps 2000]
--data has train, val and test as .en and .de. A dry run on a CPU: --tiny --steps 20 --lines 20
--picture FILE.svg also plots BLEU against the heads that are left, from the results in --work.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
import yaml

from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.explain.pruned_model import (
    OpenedModel,
    PruneRequest,
    check_fine_tuning,
    fine_tune,
    open_for_pruning,
    prune,
)
from clearhead.explain.pruning import PruningText, measure, sweep
from clearhead.formats.model_folder import find_model
from clearhead.model import Transformer
from clearhead.plots import BLUE, GREEN, GREY, STYLE, VERMILION, follow_dark_mode

PARTS = ("train", "heads", "importance", "scratch", "speed")
SHARES = (0.75, 0.5, 0.25)
KINDS = {"encoder.self_attention": "encoder", "decoder.self_attention": "decoder", "decoder.cross_attention": "cross"}


def main() -> None:
    """Run the jobs of the chosen parts, then print the tables of all results in the folder."""
    options = _options()
    (options.work / "results").mkdir(parents=True, exist_ok=True)
    if options.job is not None:
        _run_job(options)
        return
    for part in [part for part in PARTS if part in options.parts]:
        jobs = _jobs(part)
        with ThreadPoolExecutor(max_workers=1 if part in ("train", "heads", "speed") else options.at_once) as pool:
            list(pool.map(lambda job: _start(job, options), jobs))
    results = {path.stem: json.loads(path.read_text()) for path in sorted((options.work / "results").glob("*.json"))}
    _print_tables(results)
    if options.picture is not None:
        _draw(results, options.picture)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--at-once", type=int, default=4, help="processes beside each other")
    parser.add_argument("--steps", type=int, default=2000, help="updates of a training; fine-tuning has a quarter")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--lines", type=int, default=None, help="only this many lines of validation and test")
    parser.add_argument("--picture", type=Path, default=None, help="plot the results in the folder (.svg)")
    parser.add_argument("--tiny", action="store_true", help="2 + 2 layers of 2 heads, for a dry run")
    parser.add_argument("--job", default=None, help="run one job in this process")
    return parser.parse_args()


def _jobs(part: str) -> list[str]:
    return {
        "train": ["train"],
        "heads": ["heads"],
        "importance": ["sweep", *(f"pruned-{share:g}" for share in SHARES)],
        "scratch": ["scratch-0.5", "scratch-0.25"],
        "speed": ["speed"],
    }[part]


def _start(job: str, options: argparse.Namespace) -> None:
    """Run a job in a process of its own; its output is in a log."""
    start = time.perf_counter()
    command = [sys.executable, __file__, *sys.argv[1:], "--job", job]
    with (options.work / "results" / f"{job}.log").open("w") as log:
        code = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode
    print(f"{job}: {'done' if code == 0 else f'FAILED ({code})'} in {time.perf_counter() - start:.0f} s", flush=True)


def _run_job(options: argparse.Namespace) -> None:
    name, _, number = options.job.partition("-")
    work: dict[str, Callable[[], Any]] = {
        "train": lambda: _train(options, "full", {}),
        "heads": lambda: _heads(options),
        "sweep": lambda: _sweep(options),
        "pruned": lambda: _pruned(options, float(number)),
        "scratch": lambda: _scratch(options, float(number)),
        "speed": lambda: _speed(options),
    }
    start = time.perf_counter()
    result = {**work[name](), "seconds": time.perf_counter() - start}
    (options.work / "results" / f"{options.job}.json").write_text(json.dumps(result))


# Jobs


def _train(options: argparse.Namespace, name: str, model: dict[str, Any]) -> dict[str, Any]:
    layers, heads, width = (2, 2, 16) if options.tiny else (6, 8, options.width)
    sizes = {"encoder_blocks": layers, "decoder_blocks": layers, "d_model": width, "num_heads": heads}
    config = {
        "data": {"train": [_corpus(options, "train")], "valid": _corpus(options, "val")},
        "text": {"vocabulary": 400 if options.tiny else 8000, "kind": "unigram"},
        "model": {**sizes, "d_ff": 2 * width, "dropout": 0.3, **model},
        "training": {
            "steps": options.steps,
            "batch_tokens": 512 if options.tiny else 8192,
            "rate": 3e-3,
            "warm_up": max(1, options.steps * 3 // 20),
            "schedule": "cosine",
            "r_drop": 3.0,
            "average": "ema",
            "ema_decay": 0.998,
            "log_every": 50,
        },
        "validation": {"every": max(1, options.steps // 4), "max_sentences": options.lines},
    }
    path = options.work / f"{name}.yaml"
    path.write_text(yaml.safe_dump(config))
    command = ["train", str(path), "--run", str(options.work / name)]
    subprocess.run([sys.executable, "-m", "clearhead", *command], check=True)
    return _measured(_opened(options, options.work / name))


def _corpus(options: argparse.Namespace, part: str) -> dict[str, str]:
    return {"source": str(options.data / f"{part}.en"), "target": str(options.data / f"{part}.de")}


def _opened(options: argparse.Namespace, path: Path, part: str = "test", beam: int = 4) -> OpenedModel:
    files = [str(options.data / f"{part}.{language}") for language in ("en", "de")]
    return open_for_pruning(path, files, PruneRequest(search=SearchSettings(beam=beam), num_lines=options.lines))


def _measured(opened: OpenedModel) -> dict[str, Any]:
    """Return the heads and scores of a model on the text it was opened with."""
    row = measure(opened.model, opened.text)
    assert row.bleu is not None
    return {**row.to_dict(), "signature": row.bleu.signature}


def _heads(options: argparse.Namespace) -> dict[str, Any]:
    files = [str(options.data / f"test.{language}") for language in ("en", "de")]
    lines = ["--lines", str(options.lines)] if options.lines else []
    command = [sys.executable, "-m", "clearhead", "heads", "-m", str(options.work / "full"), *files, *lines, "--json"]
    start = time.perf_counter()
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    seconds = time.perf_counter() - start
    rows = report["heads"]
    significant = [row for row in rows if row["loss_p_value"] < 0.05 and row["loss_change"] > 0]
    num_sentences = len(Path(files[0]).read_text(encoding="utf-8").splitlines())
    counts = {"num_heads": len(rows), "needed": len(significant)}
    return {**counts, "sentences": min(options.lines or num_sentences, num_sentences), "command_seconds": seconds}


def _sweep(options: argparse.Namespace) -> dict[str, Any]:
    opened = _opened(options, options.work / "full", "val", beam=1)
    steps = 2 if options.tiny else 8
    return {"rows": sweep(opened.model, opened.text, steps).to_dict()["steps"]}


def _pruned(options: argparse.Namespace, share: float) -> dict[str, Any]:
    opened, target = _opened(options, options.work / "full", "val"), options.work / f"pruned-{share:g}"
    prune(opened, target, PruneRequest(share, num_steps=2 if options.tiny else 12, search=None))
    before = _measured(_opened(options, target))
    run = options.work / f"pruned-{share:g}-tuned"
    fine_tune(check_fine_tuning(find_model(options.work / "full")), target, run, max(4, options.steps // 4))
    return {**before, "tuned": _measured(_opened(options, run))}


def _scratch(options: argparse.Namespace, share: float) -> dict[str, Any]:
    layers, heads = (2, 2) if options.tiny else (6, 8)
    numbers = list(range(max(1, round(heads * share))))
    places = [("encoder", "self_attention"), ("decoder", "self_attention"), ("decoder", "cross_attention")]
    heads_kept = {f"{stack}.{layer}.{kind}": numbers for stack, kind in places for layer in range(layers)}
    return _train(options, f"scratch-{share:g}", {"heads_kept": heads_kept})


def _speed(options: argparse.Namespace) -> dict[str, Any]:
    """Measure models in turn, several times, and return the median seconds of each beam."""
    names = ["full", *(f"pruned-{share:g}" for share in SHARES if (options.work / f"pruned-{share:g}").is_dir())]
    opened = {name: _opened(options, options.work / name) for name in names}
    seconds: dict[str, dict[str, list[float]]] = {name: {"1": [], "4": []} for name in names}
    for _ in range(4):  # the first round records and compiles, and is left out
        for name in names:
            for beam, times in seconds[name].items():
                times.append(_time(opened[name].text, opened[name].model, int(beam)))
    medians = {name: {beam: statistics.median(t[1:]) for beam, t in times.items()} for name, times in seconds.items()}
    return {"seconds_by_model": medians, "sentences": len(opened["full"].text.texts)}


def _time(text: PruningText, model: Transformer, beam: int) -> float:
    translator = _translators.setdefault(id(model), Translator(text.vocabularies, TorchEngine(model)))
    _wait()
    start = time.perf_counter()
    list(translator.translate([source for source, _ in text.texts], SearchSettings(beam=beam)))
    _wait()
    return time.perf_counter() - start


_translators: dict[int, Translator] = {}


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


# Tables


def _print_tables(results: dict[str, dict[str, Any]]) -> None:
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or platform.machine()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    print(f"\n{device}, {os.cpu_count()} CPUs, torch {torch.__version__}, commit {commit.strip() or 'unknown'}\n")
    if "heads" in results:
        row = results["heads"]
        print(
            f"`clearhead heads`: {row['num_heads']} heads, {row['sentences']} sentences, "
            f"{row['command_seconds']:.0f} s; {row['needed']} heads raise the loss significantly if they are removed.\n"
        )
    _print_models(results)
    if "sweep" in results:
        _print_rows(
            "Removed by importance, BLEU of the validation text",
            ("removed from", "heads", "encoder", "decoder", "cross", "loss", "BLEU"),
            [
                [row["part"], *_counts(row), f"{row['loss']:.3f}", f"{row['bleu']:.2f}"]
                for row in results["sweep"]["rows"]
            ],
        )
    if "speed" in results:
        times = results["speed"]["seconds_by_model"]
        _print_rows(
            f"Seconds to translate {results['speed']['sentences']} sentences",
            ("model", "greedy", "beam 4"),
            [[name, f"{row['1']:.3f}", f"{row['4']:.3f}"] for name, row in times.items()],
        )


def _print_models(results: dict[str, dict[str, Any]]) -> None:
    rows = []
    for name, row in results.items():
        if "bleu" in row:
            rows.append([name, *_counts(row), f"{row['parameters']:,}", f"{row['loss']:.3f}", f"{row['bleu']:.2f}"])
        if "tuned" in row:
            tuned = row["tuned"]
            cells = [*_counts(tuned), f"{tuned['parameters']:,}", f"{tuned['loss']:.3f}", f"{tuned['bleu']:.2f}"]
            rows.append([f"{name}, tuned", *cells])
    if rows:
        columns = ("model", "heads", "encoder", "decoder", "cross", "parameters", "loss", "BLEU")
        _print_rows("Models, BLEU of the test text", columns, rows)
        print(next(row["signature"] for row in results.values() if "signature" in row) + "\n")


def _counts(row: dict[str, Any]) -> list[str]:
    return [str(row["heads"]), *(str(row[kind.replace(".", "_")]) for kind in KINDS)]


def _print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print(f"### {title}\n\n| {' | '.join(columns)} |\n|---|{'---:|' * (len(columns) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print()


# Picture


def _draw(results: dict[str, dict[str, Any]], path: Path) -> None:
    """Plot BLEU against heads: each kind of attention alone on the left, whole models on the right."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(10, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        colours = {"encoder": BLUE, "decoder": GREEN, "cross": VERMILION}
        names = {"encoder": "encoder self-attention", "decoder": "decoder self-attention", "cross": "cross-attention"}
        keys = {name: kind.replace(".", "_") for kind, name in KINDS.items()}
        for part, colour in colours.items():
            rows = [row for row in results["sweep"]["rows"] if row["part"] == part]
            points = [row[keys[part]] for row in rows], [row["bleu"] for row in rows]
            left.plot(*points, marker="o", color=colour, label=names[part])
        left.set(title="One kind of attention, no training", xlabel="heads left of 48", ylabel="BLEU, validation text")
        styles = {"pruned": (BLUE, "s", "by importance"), "tuned": (BLUE, "o", "by importance, then trained"),
                  "scratch": (GREEN, "^", "from scratch")}  # fmt: skip
        pruned = {name: row for name, row in results.items() if name.startswith("pruned")}
        models = results | {name.replace("pruned", "tuned"): row["tuned"] for name, row in pruned.items()}
        for kind, (colour, marker, label) in styles.items():
            rows = sorted((row for name, row in models.items() if name.startswith(kind)), key=lambda row: row["heads"])
            line = "--" if kind == "pruned" else "-"
            points = [row["heads"] for row in rows], [row["bleu"] for row in rows]
            right.plot(*points, marker=marker, color=colour, linestyle=line, label=label)
        right.axhline(results["train"]["bleu"], color=GREY, linewidth=1)
        right.annotate("all 144 heads", (144, results["train"]["bleu"]), (0, 4), textcoords="offset points", ha="right")
        right.set(title="All kinds together", xlabel="heads left of 144", ylabel="BLEU, test text")
        for axes in (left, right):
            axes.legend(loc="lower right")
        content = BytesIO()
        figure.savefig(content, format="svg", metadata={"Date": None, "Creator": "clearhead"})
    path.write_text(follow_dark_mode(content.getvalue().decode("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
