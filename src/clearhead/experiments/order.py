"""Self-attention ignores the order of the tokens.

Every output is a weighted mean over all tokens, and neither the weights nor the mean depend on the position of a token.
Two sentences with the same words therefore have the same outputs in a different order, even if their meaning differs.
Positions, or a causal mask that hides later tokens, make the order matter.
"""

from typing import TYPE_CHECKING

import numpy as np

from clearhead.experiments.colours import PAPER, VERMILION
from clearhead.experiments.experiment import Cell, Experiment, ResultTable
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import embed, mask, mix, position, project, scale, score, softmax

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Self-attention ignores word order without positions or a mask"
SIZE = (11.0, 5.0)
SENTENCES = ("They are rich , but are they happy ?", "They are happy , but are they rich ?")
WIDTH = 31
NUM_SHUFFLES = 100
SAME = 1e-12
# name -> (positions are added, later tokens are masked)
VARIANTS = {"nothing": (False, False), "positions": (True, False), "a causal mask": (False, True), "both": (True, True)}


def run(seed: int) -> Experiment:
    """Compare the outputs of two sentences with the same words, and of shuffled sentences, for every variant."""
    random = np.random.default_rng(seed)
    first, second = (sentence.lower().split() for sentence in SENTENCES)
    words = sorted(set(first))
    table = random.standard_normal((len(words), WIDTH))
    parameters = random.standard_normal((3, WIDTH, WIDTH)) / np.sqrt(WIDTH)
    one, two = (embed(np.array([words.index(word) for word in sentence]), table) for sentence in (first, second))
    shuffles = [random.permutation(len(first)) for _ in range(NUM_SHUFFLES)]
    rows: list[tuple[Cell, ...]] = []
    arrays: dict[str, Array] = {}
    for name, variant in VARIANTS.items():
        outputs = attend(one, parameters, *variant)
        between = distances(outputs, attend(two, parameters, *variant))
        moved = max(
            float(np.max(np.abs(attend(one[order], parameters, *variant) - outputs[order]))) for order in shuffles
        )
        length = float(np.mean(np.sqrt(np.sum(outputs**2, axis=1))))
        rows.append((name, bag_difference(between), bag_difference(between) / length, moved))
        arrays[f"distances, {name}"] = between
    columns = ("added", "difference of the outputs", "relative to the vector norm", "largest change by a shuffle")
    title = f"'{SENTENCES[0]}' compared with '{SENTENCES[1]}', and {NUM_SHUFFLES} shuffles"
    shares = {str(row[0]): float(row[2]) for row in rows}
    finding = (
        f"With nothing added, the two sentences have the same set of outputs ({_noise(float(rows[0][1]))}). With "
        f"positions, the outputs differ by {shares['positions']:.0%} of their mean norm, and with a causal mask by "
        f"{shares['a causal mask']:.0%}."
    )
    claim = "Without positions or a causal mask, shuffling the tokens only shuffles the outputs of self-attention."
    return Experiment("order", TITLE, seed, claim, finding, (ResultTable(title, columns, tuple(rows)),), arrays)


def attend(x: Array, parameters: Array, has_positions: bool, is_causal: bool) -> Array:
    """softmax(Q Kᵀ / √d) V of one head"""
    tokens, width = x.shape
    if has_positions:
        x = x + position(np.arange(tokens, dtype=np.float64), np.arange(width), width, "sinusoidal", 10000.0)
    q, k, v = (project(x, w) for w in parameters)
    scores = scale(score(q, k), root_of=width)
    if is_causal:
        scores = mask(scores, np.tri(tokens, dtype=bool), -np.inf)
    return mix(softmax(scores), v)


def distances(one: Array, two: Array) -> Array:
    """Return the distance of every row of `one` from every row of `two`."""
    return np.asarray(np.sqrt(np.sum((one[:, None, :] - two[None, :, :]) ** 2, axis=2)))


def bag_difference(between: Array) -> float:
    """Return the largest distance of an output of either sentence from the nearest output of the other."""
    return float(max(np.max(np.min(between, axis=0)), np.max(np.min(between, axis=1))))


def _noise(value: float) -> str:
    return "to less than 1e-12" if value < SAME else f"to {value:.0e}"


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the distances between the outputs of the two sentences, and mark equal outputs."""
    first, second = (sentence.split() for sentence in SENTENCES)
    shown = [name for name in VARIANTS if name != "both"]
    most = max(float(np.max(result.arrays[f"distances, {name}"])) for name in shown)
    panels = figure.subplots(1, 3, sharey=True)
    for axes, name in zip(panels, shown, strict=True):
        between = result.arrays[f"distances, {name}"]
        image = axes.imshow(between, cmap="cividis", vmin=0, vmax=most)
        rows, columns = np.nonzero(between < SAME)
        style = {"color": VERMILION, "markersize": 10, "markeredgecolor": PAPER, "markeredgewidth": 1.5}
        (same,) = axes.plot(columns, rows, "o", label="the same output in both sentences", **style)
        axes.set_xticks(range(len(second)), second, rotation=60, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(first)), first)
        axes.set_title(f"{name} added" if name != "nothing" else "nothing added")
        axes.set_xlabel("output of the second sentence")
        axes.spines[:].set_visible(False)
    panels[0].set_ylabel("output of the first sentence")
    figure.colorbar(image, ax=panels, label="distance", shrink=0.8, pad=0.02)
    figure.legend(handles=[same], loc="outside lower right")
