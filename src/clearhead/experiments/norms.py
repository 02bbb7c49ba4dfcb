"""Why Transformers normalise over the features.

Batch norm computes its mean and variance over the rows of a batch. Sentences are padded to one length with rows of
zeros, and if these rows are included, the values of a real token depend on the amount of padding. Layer norm uses only
the row of one token, so padding has no effect.
"""

from typing import TYPE_CHECKING

import numpy as np

from clearhead.experiments.colours import BLUE, GREEN, GREY, VERMILION
from clearhead.experiments.experiment import Cell, Experiment, ResultTable
from clearhead.worksheet.arrays import Array, Mask
from clearhead.worksheet.reading import gallery, read_data
from clearhead.worksheet.reference import mean, normalise, variance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "The effect of padding on batch norm and layer norm"
SIZE = (11.0, 4.6)
MOST_PADDING = 100
EPSILON = 1e-5
_SHOWN = (0, 1, 2, 5, 10, 20, 50, 100)
_LABELS = {  # name of the array -> column of the tables and label of the plot
    "batch norm, counted": "batch norm, padding included",
    "batch norm, left out": "batch norm, padding excluded",
    "layer norm": "layer norm",
}
_KINDS = tuple(_LABELS)


def run(seed: int) -> Experiment:
    """Normalise the table of the exercise `norms` with 0 … 100 rows of padding. The seed has no effect."""
    table = given_table()
    included, excluded, layer, means, variances = [], [], [], [], []
    for rows in range(MOST_PADDING + 1):
        padded = np.concatenate([table, np.zeros((rows, table.shape[1]))])
        is_real = np.arange(len(padded)) < len(table)
        means.append(mean(padded, "tokens")[0])
        variances.append(variance(padded, mean(padded, "tokens"), "tokens")[0])
        included.append(norm(padded, "tokens", None)[: len(table)])
        excluded.append(norm(padded, "tokens", is_real)[: len(table)])
        layer.append(norm(padded, "features", None)[: len(table)])
    arrays = {
        "batch means": np.stack(means),  # (padding, D)
        "batch variances": np.stack(variances),
        "batch norm, counted": np.stack(included),  # (padding, S, D)
        "batch norm, left out": np.stack(excluded),
        "layer norm": np.stack(layer),
    }
    moves = {kind: np.max(np.abs(arrays[kind] - arrays[kind][0]), axis=(1, 2)) for kind in _KINDS}
    values: list[tuple[Cell, ...]] = [
        (
            rows,
            float(arrays["batch means"][rows, 0]),
            float(arrays["batch variances"][rows, 0]),
            *(float(arrays[kind][rows, 0, 0]) for kind in _KINDS),
        )
        for rows in _SHOWN
    ]
    tables = (
        ResultTable(
            "normalised value of feature z1 of token s1 (z1 = 7)",
            ("padding rows", "batch mean", "batch variance", *_LABELS.values()),
            tuple(values),
        ),
        ResultTable(
            "largest change of any of the 15 values that are not padding",
            ("padding rows", *_LABELS.values()),
            tuple((rows, *(float(moves[kind][rows]) for kind in _KINDS)) for rows in _SHOWN),
        ),
    )
    before, after = arrays[_KINDS[0]][0, 0, 0], arrays[_KINDS[0]][-1, 0, 0]
    finding = (
        f"With {MOST_PADDING} padding rows included, batch norm changes the value of z1 from {before:.2f} to "
        f"{after:.2f}. The largest change of any value that is not padding is {moves[_KINDS[0]][-1]:.2f}. With padding "
        f"excluded this change is {moves[_KINDS[1]][-1]:.3g}, and with layer norm it is {moves[_KINDS[2]][-1]:.3g}."
    )
    claim = "Padding with zeros changes the batch norm of the other tokens, but not their layer norm."
    return Experiment("norms", TITLE, seed, claim, finding, tables, arrays)


def given_table() -> Array:
    """Return the table of the gallery exercise `norms`: three features for each of five tokens."""
    return np.asarray(read_data(gallery()["norms"].read_bytes())["parts"][0]["X"], dtype=np.float64)


def norm(x: Array, over: str, counted: Mask | None) -> Array:
    """(x - μ) / √(σ² + ε), with μ and σ² over the counted tokens of a feature, or over the features of a token"""
    mu = mean(x, over, counted)
    return normalise(x, mu, variance(x, mu, over, counted), epsilon=EPSILON)


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the statistics of a batch, and one normalised value, against the number of padding rows."""
    statistics, values = figure.subplots(1, 2, width_ratios=(1, 1.35))
    padding = np.arange(MOST_PADDING + 1)
    statistics.plot(padding, result.arrays["batch means"][:, 0], color=VERMILION, label="mean")
    deviation = np.sqrt(result.arrays["batch variances"][:, 0])
    statistics.plot(padding, deviation, "--", color=BLUE, label="standard deviation")
    statistics.set(title="Batch statistics, padding included", ylabel="statistics of column z1", ylim=(0, None))
    statistics.legend()
    for (name, label), colour, style in zip(_LABELS.items(), (VERMILION, GREEN, BLUE), ("-", "--", "-"), strict=True):
        values.plot(padding, result.arrays[name][:, 0, 0], style, color=colour, label=label)
    values.axhline(0, color=GREY, linewidth=1)
    values.set(title="Token s1: normalised value of z1 = 7", ylabel="normalised value", ylim=(0, None))
    values.legend(loc="center right", bbox_to_anchor=(1.0, 0.37))
    for axes in (statistics, values):
        axes.set_xlabel("padding rows added to 5 real rows")
        axes.set_xlim(0, MOST_PADDING)
