"""Self-attention ignores the order of the tokens.

Every output is a weighted mean over all tokens, and neither the weights nor the mean depend on the position of a token.
Two sentences with the same words therefore have the same outputs in a different order, even if their meaning differs.
Positions, or a causal mask that hides later tokens, make the order matter.
"""

import numpy as np

from clearhead.studies.experiment import Measurement, ResultTable, Rows, format_cell
from clearhead.studies.picture import Panel
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import embed, mask, mix, position, project, scale, score, softmax

CLAIM = "Without positions or a causal mask, shuffling the tokens only shuffles the outputs of self-attention."
SENTENCES = ("They are rich , but are they happy ?", "They are happy , but are they rich ?")
WIDTH = 31
NUM_SHUFFLES = 100
# name -> (positions are added, later tokens are masked)
VARIANTS = {"nothing": (False, False), "positions": (True, False), "a causal mask": (False, True), "both": (True, True)}
PANELS = (
    Panel("The two sentences", ("relative to the vector norm",), "added", label="difference, relative to the norm"),
    Panel(f"{NUM_SHUFFLES} shuffles of one sentence", ("largest change by a shuffle",), "added"),
)


def run(seed: int) -> Measurement:
    """Compare the outputs of two sentences with the same words, and of shuffled sentences, for every variant."""
    random = np.random.default_rng(seed)
    first, second = (sentence.lower().split() for sentence in SENTENCES)
    words = sorted(set(first))
    table = random.standard_normal((len(words), WIDTH))
    parameters = random.standard_normal((3, WIDTH, WIDTH)) / np.sqrt(WIDTH)
    one, two = (embed(np.array([words.index(word) for word in sentence]), table) for sentence in (first, second))
    shuffles = [random.permutation(len(first)) for _ in range(NUM_SHUFFLES)]
    rows: Rows = []
    for name, variant in VARIANTS.items():
        outputs = attend(one, parameters, *variant)
        between = distances(outputs, attend(two, parameters, *variant))
        moved = max(
            float(np.max(np.abs(attend(one[order], parameters, *variant) - outputs[order]))) for order in shuffles
        )
        length = float(np.mean(np.sqrt(np.sum(outputs**2, axis=1))))
        rows.append((name, bag_difference(between), bag_difference(between) / length, moved))
    columns = ("added", "difference of the outputs", "relative to the vector norm", "largest change by a shuffle")
    title = f"'{SENTENCES[0]}' compared with '{SENTENCES[1]}', and {NUM_SHUFFLES} shuffles"
    shares = {str(row[0]): float(row[2]) for row in rows}
    finding = (
        "With nothing added, the two sentences have the same set of outputs (largest difference: "
        f"{format_cell(rows[0][1])}). With positions, the outputs differ by {shares['positions']:.0%} of their mean "
        f"norm, and with a causal mask by {shares['a causal mask']:.0%}."
    )
    return Measurement((ResultTable(title, columns, rows),), finding)


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
