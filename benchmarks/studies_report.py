"""Plots of the results of benchmarks/studies.py: BLEU by length for positions, BLEU by width for scaling."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clearhead.plots import BLUE, GREEN, GREY, INK, VERMILION
from clearhead.studies.experiment import Experiment
from clearhead.studies.picture import save_picture
from readers_report import middle_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (9.5, 4.8)
_FEWEST = 20  # sentences of a length that is drawn
_LONGEST = 20  # words of a training sentence: data.max_words of configs/studies/position-training.yaml
_KINDS = {"none": (VERMILION, "o-"), "sinusoidal": (BLUE, "o-"), "learned": (GREEN, "s--"), "rotary": (INK, "^-.")}
_TITLES = {
    "position-training": "Kinds of positions: translations of short and of long sentences",
    "score-scaling": "Scaled and unscaled scores, one head and eight",
}


def save_plot(study: str, results: Mapping[str, Mapping[str, Any]], report: Mapping[str, Any], path: Path) -> None:
    """Draw the results of a study and write the plot as SVG or PNG."""
    save_picture(as_experiment(study, results, report), path, sys.modules[__name__])


def as_experiment(study: str, results: Mapping[str, Mapping[str, Any]], report: Mapping[str, Any]) -> Experiment:
    """Return the numbers of the plot; `report` is what `clearhead evaluate --json` printed for the variants."""
    buckets = [bucket for bucket in report["by_length"]["buckets"] if bucket["sentences"] >= _FEWEST]
    arrays = {"words": np.array([middle_of(bucket["name"]) for bucket in buckets])}
    for name, result in results.items():
        arrays[f"bleu {name}"] = np.array([result["scores"].get("bleu", np.nan)])
        arrays[f"lengths {name}"] = np.array(
            [bucket["scores"].get(slug(name), {}).get("bleu", np.nan) for bucket in buckets]
        )
    return Experiment(study, _TITLES[study], 0, "", (), "", arrays)


def slug(name: str) -> str:
    """Return the name of a variant as its folder has it."""
    return name.replace(", ", "-").replace(" ", "-")


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the plot of either study."""
    axes = figure.subplots()
    if result.name == "position-training":
        _draw_lengths(result, axes)
    else:
        _draw_widths(result, axes)
    axes.set(ylabel="BLEU, test set", ylim=(0, None))
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _draw_lengths(result: Experiment, axes: "Axes") -> None:
    for kind, (colour, style) in _KINDS.items():
        if f"lengths {kind}" in result.arrays:
            axes.plot(result.arrays["words"], result.arrays[f"lengths {kind}"], style, color=colour, label=kind)
    axes.axvline(_LONGEST, color=GREY, linewidth=1)
    axes.annotate(
        f" longer than all training sentences ({_LONGEST} words)",
        (_LONGEST, 1),
        xycoords=("data", "axes fraction"),
        va="top",
        color=GREY,
        fontsize="small",
    )
    axes.set_xlabel("words of the source sentence")


def _draw_widths(result: Experiment, axes: "Axes") -> None:
    names = [name.removeprefix("bleu ") for name in result.arrays if name.startswith("bleu ")]
    widths = sorted({int(name.split(",")[0]) for name in names})
    for scaling, colour in (("scaled", BLUE), ("unscaled", VERMILION)):
        for heads, style in (("1 head", "o-"), ("8 heads", "s--")):
            scores = _scores_of(result, [f"{width}, {heads}, {scaling}" for width in widths])
            axes.plot(widths, scores, style, color=colour, label=f"{scaling}, {heads}")
            failed = [width for width, score in zip(widths, scores, strict=True) if np.isnan(score)]
            if failed:
                axes.plot(
                    failed,
                    [0.0] * len(failed),
                    "x",
                    markersize=9,
                    clip_on=False,
                    color=colour,
                    label=f"{scaling}, {heads}: failed",
                )
    axes.set_xscale("log", base=2)
    axes.set_xticks(widths, [str(width) for width in widths])
    axes.set_xlabel("width of the model")
    axes.grid(axis="y", color=GREY, alpha=0.2)


def _scores_of(result: Experiment, names: Sequence[str]) -> list[float]:
    return [float(result.arrays[f"bleu {name}"][0]) if f"bleu {name}" in result.arrays else np.nan for name in names]
