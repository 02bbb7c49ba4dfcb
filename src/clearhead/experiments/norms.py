"""Why Transformers normalise along the features.

Batch norm takes its mean and variance down the rows of a batch. Sentences are filled up to one length with rows of
zeros, and if those are counted, a real token's numbers move with the amount of padding. Layer norm looks at one row
alone, and never sees the padding.
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

TITLE = "What padding does to batch norm and to layer norm"
SIZE = (16.0, 6.6)
MOST_PADDING = 100
EPSILON = 1e-5
_SHOWN = (0, 1, 2, 5, 10, 20, 50, 100)
_KINDS = ("batch norm, counted", "batch norm, left out", "layer norm")


def run(seed: int) -> Experiment:
    """Normalise the table of the notes with 0 … 100 rows of padding. Nothing is random: the seed changes nothing."""
    table = given_table()
    counted, excluded, layer, means, variances = [], [], [], [], []
    for rows in range(MOST_PADDING + 1):
        padded = np.concatenate([table, np.zeros((rows, table.shape[1]))])
        is_real = np.arange(len(padded)) < len(table)
        means.append(mean(padded, "tokens")[0])
        variances.append(variance(padded, mean(padded, "tokens"), "tokens")[0])
        counted.append(norm(padded, "tokens", None)[: len(table)])
        excluded.append(norm(padded, "tokens", is_real)[: len(table)])
        layer.append(norm(padded, "features", None)[: len(table)])
    arrays = {
        "batch means": np.stack(means),  # (padding, D)
        "batch variances": np.stack(variances),
        "batch norm, counted": np.stack(counted),  # (padding, S, D)
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
            "what becomes of z1 = 7 of token s1, with padding counted or left out",
            ("padding rows", "batch mean", "batch variance", *_KINDS),
            tuple(values),
        ),
        ResultTable(
            "the farthest that any of the 15 real numbers has moved",
            ("padding rows", *_KINDS),
            tuple((rows, *(float(moves[kind][rows]) for kind in _KINDS)) for rows in _SHOWN),
        ),
    )
    before, after = arrays[_KINDS[0]][0, 0, 0], arrays[_KINDS[0]][-1, 0, 0]
    finding = (
        f"With {MOST_PADDING} padding rows counted, batch norm gives {after:.2f} for what was {before:.2f}; the "
        f"farthest any real number moves is {moves[_KINDS[0]][-1]:.2f}, with padding left out "
        f"{moves[_KINDS[1]][-1]:.3g}, and with layer norm {moves[_KINDS[2]][-1]:.3g}."
    )
    claim = "Padding zeros change what batch norm makes of a real token, and leave layer norm as it was."
    return Experiment("norms", TITLE, seed, claim, finding, tables, arrays)


def given_table() -> Array:
    """Return the table of the notes: three numbers for each of five samples."""
    return np.asarray(read_data(gallery()["norms"].read_bytes())["parts"][0]["X"], dtype=np.float64)


def norm(x: Array, over: str, counted: Mask | None) -> Array:
    """(x - μ) / √(σ² + ε), its μ and σ² over the counted tokens of a feature, or over the features of a token"""
    mu = mean(x, over, counted)
    return normalise(x, mu, variance(x, mu, over, counted), epsilon=EPSILON)


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the statistics of a batch, and one token's numbers, against the number of padding rows."""
    statistics, values = figure.subplots(1, 2, width_ratios=(1, 1.35))
    padding = np.arange(MOST_PADDING + 1)
    statistics.plot(padding, result.arrays["batch means"][:, 0], color=VERMILION, label="mean")
    deviation = np.sqrt(result.arrays["batch variances"][:, 0])
    statistics.plot(padding, deviation, "--", color=BLUE, label="standard deviation")
    statistics.set(title="Batch statistics, padding counted", ylabel="of the numbers in column z1", ylim=(0, None))
    statistics.legend()
    lines = (
        ("batch norm, counted", "batch norm, padding counted", VERMILION, "-"),
        ("batch norm, left out", "batch norm, padding left out", GREEN, "--"),
        ("layer norm", "layer norm", BLUE, "-"),
    )
    for name, label, colour, style in lines:
        values.plot(padding, result.arrays[name][:, 0, 0], style, color=colour, label=label)
    values.axhline(0, color=GREY, linewidth=1)
    values.set(
        title="Token s1: what becomes of its z1 = 7", ylabel="normalised value (standard deviations)", ylim=(0, None)
    )
    values.legend(loc="center right", bbox_to_anchor=(1.0, 0.58))
    for axes in (statistics, values):
        axes.set_xlabel("padding rows added to 5 real ones")
        axes.set_xlim(0, MOST_PADDING)
