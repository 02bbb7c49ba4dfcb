"""Tables and a plot of the results of benchmarks/word_senses.py."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from clearhead.errors import ClearheadError
from clearhead.plots import BLUE, GREEN, GREY, INK, VERMILION
from clearhead.studies.experiment import Experiment
from clearhead.studies.picture import check_picture, save_picture
from clearhead.studies.variants import VARIANTS
from halves import print_table
from readers_report import LINES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = Mapping[str, Any]
Counts = Mapping[str, Mapping[str, int]]
SIZE = (15.0, 5.4)
READINGS = {"centroid": "By the nearest centroid", "linear": "By a linear map"}
_UNTRAINED = ", untrained"
_COLOURS = (INK, BLUE, GREEN, VERMILION, GREY)


def rows_of(results: Sequence[Result]) -> dict[str, list[dict[str, Any]]]:
    """Return the words of every encoder, those of random weights after all others."""
    rows = {name: words for result in results for name, words in result["results"].items()}
    return dict(sorted(rows.items(), key=lambda row: row[0].endswith(_UNTRAINED)))


def means(words: Sequence[Mapping[str, Any]], measure: str) -> list[float]:
    """Return a measure of every layer, as the mean over the words."""
    return [
        fmean(layers) for layers in zip(*([layer[measure] for layer in word["layers"]] for word in words), strict=True)
    ]


def error_of_mean(values: Sequence[float]) -> float:
    """Return the standard error of the mean over words."""
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def guess_of(counts: Counts) -> float:
    """Return the share that guessing a sense gives, as the mean over the words."""
    return fmean(1 / len(senses) for senses in counts.values())


def report(results: Sequence[Result], counts: Counts) -> None:
    """Print all tables."""
    rows = rows_of(results)
    depth = max(result["layers"] for result in results)
    heads = ("encoder", "static", *(f"layer {number}" for number in range(1, depth + 1)))
    print(f"Sentences of each sense ({sum(sum(senses.values()) for senses in counts.values()):,} in all):\n")
    print(
        ", ".join(f"*{word}* ({' / '.join(senses)}) {min(senses.values())}" for word, senses in counts.items()) + "\n"
    )
    print(f"Share of vectors whose sense is read correctly, in % (guess: {100 * guess_of(counts):.1f}), mean over "
          f"{len(counts)} words, ± standard error over the words for the last layer.\n")  # fmt: skip
    for measure, title in READINGS.items():
        print(f"{title}:\n")
        print_table(heads, [[name, *share_cells(words, measure, depth)] for name, words in rows.items()])
    print("Mean cosine of two vectors of a word with the same sense / with different senses:\n")
    print_table(heads, [[name, *cosine_cells(words, depth)] for name, words in rows.items()])
    print("The last layer, word by word, in %: the nearest centroid / a linear map:\n")
    table = [
        [f"{word} ({', '.join(senses)})", f"{100 / len(senses):.0f}",
         *(word_cell(words, word) for words in rows.values())]
        for word, senses in counts.items()
    ]  # fmt: skip
    print_table(("word", "guess", *rows), table)
    report_translations(rows)


def share_cells(words: Sequence[Mapping[str, Any]], measure: str, depth: int) -> list[str]:
    """Return the share of every layer, with its error in the last one."""
    cells = [f"{100 * share:.1f}" for share in means(words, measure)]
    cells[-1] += f" ± {100 * error_of_mean([word['layers'][-1][measure] for word in words]):.1f}"
    return [*cells, *["–"] * (depth + 1 - len(cells))]


def cosine_cells(words: Sequence[Mapping[str, Any]], depth: int) -> list[str]:
    """Return both cosines of every layer."""
    pairs = zip(means(words, "within"), means(words, "between"), strict=True)
    cells = [f"{within:.3f} / {between:.3f}" for within, between in pairs]
    return [*cells, *["–"] * (depth + 1 - len(cells))]


def word_cell(words: Sequence[Mapping[str, Any]], name: str) -> str:
    """Return the shares of the last layer for one word."""
    last = next(word for word in words if word["word"] == name)["layers"][-1]
    return " / ".join(f"{100 * last[measure]:.0f}" for measure in READINGS)


def report_translations(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Print how often the translations have the right sense, if they were made."""
    translated = {
        name: [word["translations"] for word in words] for name, words in rows.items() if words[0]["translations"]
    }
    if not translated:
        return
    print("Greedy translations, in % of the sentences: with words of the right sense only, of another sense only, and "
          "the share of right ones among both; mean over the words:\n")  # fmt: skip
    table = []
    for name, words in translated.items():
        right, other = fmean(word["right"] for word in words), fmean(word["other"] for word in words)
        share = f"{100 * right / (right + other):.1f}" if right + other else "–"
        table.append([name, f"{100 * right:.1f}", f"{100 * other:.1f}", share])
    print_table(("model", "right sense", "another sense", "right of both"), table)


def check(path: Path) -> None:
    """Exit before anything is measured if the plot could not be written."""
    try:
        check_picture(path)
    except ClearheadError as wrong:
        sys.exit(str(wrong))


def draw_results(results: Sequence[Result], counts: Counts, path: Path) -> None:
    """Draw the plot and write it as SVG or PNG."""
    rows = rows_of(results)
    measures = (*READINGS, "within", "between")
    arrays = {
        f"{name}: {measure}": np.array(means(words, measure)) for name, words in rows.items() for measure in measures
    }
    arrays["guess"] = np.array([guess_of(counts)])
    title = "The sense of an ambiguous word in the vectors of trained encoders"
    finding = "; ".join(f"{name}: {arrays[f'{name}: linear'][-1]:.2f}" for name in rows)
    save_picture(Experiment("word-senses", title, 0, "", (), finding, arrays), path, sys.modules[__name__])


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the share of senses that can be read, and the cosines, by layer."""
    plots = dict(zip((*READINGS, "cosines"), figure.subplots(1, 3), strict=True))
    names = [name.removesuffix(": linear") for name in result.arrays if name.endswith(": linear")]
    labels: set[str] = set()
    numbers = {name: number for number, name in enumerate(names) if not name.endswith(_UNTRAINED)}
    for name in names:
        plain = name.removesuffix(_UNTRAINED)
        kind = plain.rsplit("-", 1)[0]
        title = VARIANTS[kind].title if kind in VARIANTS else plain
        style: dict[str, Any] = {
            "color": _COLOURS[numbers[plain] % len(_COLOURS)],
            "marker": "o",
            "markersize": 4,
            **LINES.get(kind, {}),
        }
        if name != plain:
            style |= {"linewidth": 1.0, "markersize": 2}
        label = None if title in labels or name != plain else title
        labels.add(title)
        layers = np.arange(len(result.arrays[f"{name}: linear"]))
        for measure in READINGS:
            plots[measure].plot(layers, result.arrays[f"{name}: {measure}"], label=label, **style)
        plots["cosines"].plot(layers, result.arrays[f"{name}: within"] - result.arrays[f"{name}: between"], **style)
    guess = float(result.arrays["guess"][0])
    for measure, title in READINGS.items():
        plots[measure].axhline(guess, color=GREY, linewidth=1.0, linestyle="--")
        plots[measure].set(title=f"Sense read {title[0].lower()}{title[1:]}", ylim=(min(0.45, guess - 0.03), 1.0))
    plots["linear"].annotate(
        "guess", (0.99, guess), xycoords=("axes fraction", "data"), ha="right", va="bottom", color=GREY
    )
    plots["centroid"].set_ylabel("share of vectors")
    plots["cosines"].set(title="Cosine: same sense minus other sense")
    for plot in plots.values():
        plot.set_xlabel("layer (0: static embedding)")
        plot.xaxis.get_major_locator().set_params(integer=True)
    has_untrained = any(name.endswith(_UNTRAINED) for name in names)
    note = "thin: the same encoders with random weights" if has_untrained else None
    figure.legend(*plots["linear"].get_legend_handles_labels(), loc="outside lower center", ncols=4, title=note)
