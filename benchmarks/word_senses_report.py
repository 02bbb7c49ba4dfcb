"""Tables and a plot of the results of benchmarks/word_senses.py."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from clearhead.errors import ClearheadError
from clearhead.experiments.colours import BLUE, GREEN, GREY, INK, VERMILION
from clearhead.experiments.experiment import Experiment
from clearhead.experiments.picture import check_picture, save_picture
from clearhead.studies.variants import VARIANTS
from halves import print_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = Mapping[str, Any]
Counts = Mapping[str, Mapping[str, int]]
SIZE = (12.5, 5.4)
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
          f"{len(counts)} words, ± standard error over the words for the last layer:\n")  # fmt: skip
    print_table(heads, [[name, *accuracy_cells(words, depth)] for name, words in rows.items()])
    print("Mean cosine of two vectors of a word with the same sense / with different senses:\n")
    print_table(heads, [[name, *cosine_cells(words, depth)] for name, words in rows.items()])
    print("The last layer, word by word, in %:\n")
    table = [
        [f"{word} ({', '.join(senses)})", f"{100 / len(senses):.0f}",
         *(f"{100 * last_layer(words, word)['accuracy']:.0f}" for words in rows.values())]
        for word, senses in counts.items()
    ]  # fmt: skip
    print_table(("word", "guess", *rows), table)
    report_translations(rows)


def accuracy_cells(words: Sequence[Mapping[str, Any]], depth: int) -> list[str]:
    """Return the share of every layer, with its error in the last one."""
    cells = [f"{100 * share:.1f}" for share in means(words, "accuracy")]
    cells[-1] += f" ± {100 * error_of_mean([word['layers'][-1]['accuracy'] for word in words]):.1f}"
    return [*cells, *["–"] * (depth + 1 - len(cells))]


def cosine_cells(words: Sequence[Mapping[str, Any]], depth: int) -> list[str]:
    """Return both cosines of every layer."""
    pairs = zip(means(words, "within"), means(words, "between"), strict=True)
    cells = [f"{within:.3f} / {between:.3f}" for within, between in pairs]
    return [*cells, *["–"] * (depth + 1 - len(cells))]


def last_layer(words: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Return the last layer of a word."""
    last: dict[str, Any] = next(word for word in words if word["word"] == name)["layers"][-1]
    return last


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
    arrays = {f"{measure} {name}": np.array(means(words, measure))
              for name, words in rows.items() for measure in ("accuracy", "within", "between")}  # fmt: skip
    arrays["guess"] = np.array([guess_of(counts)])
    title = "The sense of an ambiguous word in the vectors of trained encoders"
    finding = "; ".join(f"{name}: {arrays[f'accuracy {name}'][-1]:.2f}" for name in rows)
    save_picture(Experiment("word-senses", title, 0, "", finding, (), arrays), path, sys.modules[__name__])


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the share of senses that can be read, and the cosines, by layer."""
    shares, cosines = figure.subplots(1, 2)
    names = [name.removeprefix("accuracy ") for name in result.arrays if name.startswith("accuracy ")]
    labels = set()
    for number, name in enumerate(names):
        plain = name.removesuffix(_UNTRAINED)
        variant = VARIANTS.get(plain.rsplit("-", 1)[0])
        title = plain if variant is None else variant.title
        style: dict[str, Any] = {
            "color": _COLOURS[number % len(_COLOURS)] if variant is None else variant.colour,
            "linestyle": "-" if variant is None else variant.line,
        }
        is_trained = name == plain
        if not is_trained:
            style |= {"linewidth": 1.0, "alpha": 0.7}
        accuracy = result.arrays[f"accuracy {name}"]
        layers = np.arange(len(accuracy))
        label = None if title in labels or not is_trained else title
        labels.add(title)
        shares.plot(layers, accuracy, marker="o", markersize=4 if is_trained else 2, label=label, **style)
        if is_trained:
            difference = result.arrays[f"within {name}"] - result.arrays[f"between {name}"]
            cosines.plot(layers, difference, marker="o", markersize=4, **style)
    guess = float(result.arrays["guess"][0])
    shares.axhline(guess, color=GREY, linewidth=1.0, linestyle="--")
    shares.annotate("guess", (0.99, guess), xycoords=("axes fraction", "data"), ha="right", va="bottom", color=GREY)
    has_untrained = any(name.endswith(_UNTRAINED) for name in names)
    title = "Sense read from the vector" + (" (thin: random weights)" if has_untrained else "")
    shares.set(title=title, ylabel="share of vectors", ylim=(min(0.45, guess - 0.03), 1.0))
    cosines.set(title="Same sense more similar than different senses", ylabel="difference of the mean cosines")
    cosines.set_ylim(bottom=min(0.0, cosines.get_ylim()[0]))
    for plot in (shares, cosines):
        plot.set_xlabel("layer (0: static embedding)")
        plot.xaxis.get_major_locator().set_params(integer=True)
    figure.legend(*shares.get_legend_handles_labels(), loc="outside lower center", ncols=4)
