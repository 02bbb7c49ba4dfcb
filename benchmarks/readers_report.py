"""Tables and a plot of the results of benchmarks/readers.py."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from clearhead.plots import BLUE, GREEN, GREY, INK, VERMILION
from clearhead.studies.experiment import Cell, Experiment, ResultTable, format_cell
from clearhead.studies.picture import save_picture
from clearhead.studies.variants import VARIANTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = Mapping[str, Any]
LINES = {  # how the line of each variant is drawn
    "recurrent-no-attention": {"color": VERMILION},
    "recurrent-dot": {"color": BLUE, "linestyle": ":"},
    "recurrent-scaled": {"color": BLUE},
    "recurrent-multiplicative": {"color": BLUE, "linestyle": "--"},
    "recurrent-additive": {"color": BLUE, "linestyle": "-."},
    "convolutional": {"color": GREEN},
    "transformer": {"color": INK},
    "transformer-packed": {"color": GREY},
}
SIZE = (12.5, 5.4)
_SHARE = 0.9  # of the best score: what the time is measured to, by default
_FEWEST = 20  # sentences of a length that is drawn


def report(results: Sequence[Result], score: float | None, picture: Path | None) -> None:
    """Print the tables as Markdown, with the machine and the signatures, and draw the plot."""
    experiment = summarise(results, score)
    machine = results[0]["machine"]
    hardware = ", ".join(machine["gpus"]) or machine["processor"]
    packages = machine["packages"]
    print(f"{hardware}; Python {machine['python']}, torch {packages['torch']}, sacrebleu {packages['sacrebleu']}; "
          f"commit {machine['commit']}\n\n{to_markdown(experiment)}")  # fmt: skip
    for signature in sorted({one["signature"] for result in results for one in result["test"].values()}):
        print(f"- {signature}")
    if picture is not None:
        save_picture(experiment, picture, sys.modules[__name__])


def summarise(results: Sequence[Result], score: float | None) -> Experiment:
    """Return all results as one experiment."""
    by_variant = {
        name: sorted((result for result in results if result["variant"] == name), key=lambda result: result["seed"])
        for name in VARIANTS
    }
    by_variant = {name: runs for name, runs in by_variant.items() if runs}
    firsts = {name: runs[0] for name, runs in by_variant.items()}
    best = {name: max(point["bleu"] for point in run["curve"]) for name, run in firsts.items()}
    score = _SHARE * max(best.values()) if score is None else score
    tables = (
        ResultTable(
            "each variant; time and speed are those of the first seed",
            (
                "variant",
                "seeds",
                "parameters",
                "updates",
                "target tokens/s",
                f"s to BLEU {score:.1f}",
                "BLEU",
                "chrF",
                "s to translate",
            ),
            tuple(_row(name, runs, score) for name, runs in by_variant.items()),
        ),
        _length_table(by_variant),
    )
    arrays: dict[str, np.ndarray] = {"score": np.array([score])}
    for name, run in firsts.items():
        arrays[f"curve {name}"] = np.array([[point["seconds"], point["bleu"]] for point in run["curve"]])
        arrays[f"lengths {name}"] = np.array(_by_length(by_variant[name]))
    claim = "A recurrent model without attention forgets long sentences (of about 30 words), and attention mends it."
    finding = describe(by_variant)
    title = "Three ways of reading a sentence: BLEU by length and by time"
    return Experiment("readers-full", title, firsts[next(iter(firsts))]["seed"], claim, tables, finding, arrays)


def to_markdown(experiment: Experiment) -> str:
    """Return the claim, the finding and the tables as Markdown."""
    parts = [f"**Claim.** {experiment.claim}"]
    if experiment.finding:
        parts.append(f"**Finding.** {experiment.finding}")
    for table in experiment.tables:
        lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
        lines += ["| " + " | ".join(map(format_cell, row)) + " |" for row in table.rows]
        parts += [f"{table.title}:", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _row(name: str, runs: Sequence[Result], score: float) -> tuple[Cell, ...]:
    first = runs[0]
    reached = [point["seconds"] for point in first["curve"] if point["bleu"] >= score]
    return (
        VARIANTS[name].title,
        len(runs),
        first["parameters"],
        first["updates"],
        round(first["tokens_per_second"]),
        f"{reached[0]:.0f}" if reached else "not reached",
        *(_with_deviation([run["test"][metric]["value"] for run in runs]) for metric in ("bleu", "chrf")),
        round(first["translation_seconds"], 1),
    )


def _with_deviation(values: Sequence[float]) -> str:
    return f"{values[0]:.1f}" if len(values) == 1 else f"{mean(values):.1f} ± {stdev(values):.1f}"


def _by_length(runs: Sequence[Result]) -> list[list[float]]:
    """Return a row for every length: the mean number of words of its bounds, the sentences, and the mean BLEU."""
    rows = []
    for index, bucket in enumerate(runs[0]["by_length"]):
        bleu = mean(run["by_length"][index]["bleu"] for run in runs)
        rows.append([middle_of(bucket["words"]), bucket["sentences"], bleu])
    return rows


def middle_of(bucket: str) -> float:
    """Return the middle of a range of lengths: 8 for '6–10 words'."""
    return mean(int(bound) for bound in bucket.removesuffix(" words").removeprefix("over ").split("–"))


def _length_table(by_variant: Mapping[str, Sequence[Result]]) -> ResultTable:
    names = list(by_variant)
    first = by_variant[names[0]][0]["by_length"]
    scores = {name: _by_length(runs) for name, runs in by_variant.items()}
    rows: list[tuple[Cell, ...]] = [
        (bucket["words"], bucket["sentences"], *(round(scores[name][index][2], 2) for name in names))
        for index, bucket in enumerate(first)
    ]
    return ResultTable(
        "BLEU by the number of words of the source sentence (mean of the seeds)",
        ("length", "sentences", *(VARIANTS[name].title for name in names)),
        tuple(rows),
    )


def describe(by_variant: Mapping[str, Sequence[Result]]) -> str:
    """Return the finding: the best variant, and how much each loses from short to long sentences."""
    bleu = {name: mean(run["test"]["bleu"]["value"] for run in runs) for name, runs in by_variant.items()}
    ranking = sorted(bleu, key=lambda name: -bleu[name])
    sentences = [
        "Best first: " + ", ".join(f"{VARIANTS[name].title} {bleu[name]:.1f}" for name in ranking) + " BLEU.",
    ]
    for name, runs in by_variant.items():
        lengths = _by_length(runs)
        rows = [row for row in lengths if row[1] >= _FEWEST] or lengths
        best, last = max(rows, key=lambda row: row[2]), rows[-1]
        share = 100 * last[2] / max(best[2], 1e-9)
        sentences.append(
            f"{VARIANTS[name].title}: {last[2]:.1f} BLEU for the longest sentences, {share:.0f} % of its best length."
        )
    return " ".join(sentences)


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw BLEU by length, and validation BLEU against the time of training."""
    lengths, times = figure.subplots(1, 2)
    for name, variant in VARIANTS.items():
        if f"curve {name}" not in result.arrays:
            continue
        style: dict[str, Any] = {**LINES[name], "label": variant.title}
        rows = result.arrays[f"lengths {name}"]
        rows = rows[rows[:, 1] >= _FEWEST]
        lengths.plot(rows[:, 0], rows[:, 2], marker="o", markersize=4, **style)
        curve = result.arrays[f"curve {name}"]
        times.plot(curve[:, 0], curve[:, 1], **style)
    lengths.set(title="Test set, by length", xlabel="words of the source sentence", ylabel="BLEU")
    times.set(title="Validation set, by time", xlabel="seconds of training", ylabel="BLEU")
    for axes in (lengths, times):
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
    figure.legend(*times.get_legend_handles_labels(), loc="outside lower center", ncols=4)
