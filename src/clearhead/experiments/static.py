"""Static and contextual word vectors.

A static vector is the average of all uses of a word in the data: it is close to the most common meaning, and it is the
same in every sentence. A weighted mean of the words around it gives the same word a different vector in each sentence.
"""

from typing import TYPE_CHECKING

import numpy as np

from clearhead.experiments.colours import BLUE, GREEN, GREY, VERMILION
from clearhead.experiments.experiment import Cell, Experiment, ResultTable
from clearhead.worksheet import solve
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import divide, mix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Static and contextual word vectors"
SIZE = (11.0, 5.4)
MEANINGS = np.eye(2)  # fruit, technology
USES = ((9000, 1000), (5000, 5000), (1000, 9000))
# The parts of the gallery exercise 'bank' in pairs: key of the arrays, name in the table, first part, row of 'bank'.
_WEIGHTS = (
    ("first sketch of the notes", "lecture notes, first example", 0, 0),
    ("full table of the notes", "lecture notes, full table", 2, 1),
    ("softmax of dot products", "softmax of dot products", 4, 1),
)
_BANK = np.array([0.5, 0.5])


def run(seed: int) -> Experiment:
    """Compare 'bank' in two sentences, and average 'apple' over its uses. The seed has no effect."""
    answers = solve("bank").answers
    rows: list[tuple[Cell, ...]] = []
    arrays: dict[str, Array] = {"bank": _BANK}
    for key, name, part, row in _WEIGHTS:
        money, river = answers[part][row], answers[part + 1][row]
        rows.append((name, cosine(_BANK, _BANK), cosine(money, river), angle_between(money, river)))
        arrays[f"money bank, {key}"], arrays[f"river bank, {key}"] = money, river
    apples: list[tuple[Cell, ...]] = []
    for uses in USES:
        average = average_of_uses(*uses)
        to_fruit, to_technology = (cosine(average, meaning) for meaning in MEANINGS)
        apples.append((*uses, float(average[0]), float(average[1]), to_fruit, to_technology))
    arrays["apple"] = average_of_uses(*USES[0])
    tables = (
        ResultTable(
            "'bank' in 'money bank grows' and in 'river bank flows' (the vectors are invented)",
            ("weights", "cosine before", "cosine after", "angle after (degrees)"),
            tuple(rows),
        ),
        ResultTable(
            "'apple' averaged over its uses",
            (
                "uses as fruit",
                "uses as technology",
                "fruit",
                "technology",
                "cosine with fruit",
                "cosine with technology",
            ),
            tuple(apples),
        ),
    )
    fruit, technology, to_fruit, to_technology = (float(cell) for cell in apples[0][2:])
    cosines = [float(row[2]) for row in rows]
    finding = (
        f"The static vectors of 'bank' in the two sentences are equal (cosine {float(rows[0][1]):.0f}); the weighted "
        f"means differ (cosine {min(cosines):.3f} to {max(cosines):.3f}). The average of 'apple' is [{fruit:.1f}, "
        f"{technology:.1f}], with cosine {to_fruit:.3f} to fruit and {to_technology:.3f} to technology."
    )
    claim = (
        "A static vector is the average of all meanings of a word. A weighted mean of the vectors in a sentence gives "
        "the word a vector for this sentence."
    )
    return Experiment("static", TITLE, seed, claim, finding, tables, arrays)


def cosine(a: Array, b: Array) -> float:
    """a·b / (|a| |b|), limited to 1 against rounding"""
    return min(1.0, float(a @ b) / float(np.sqrt((a @ a) * (b @ b))))


def angle_between(a: Array, b: Array) -> float:
    """Return the angle between two vectors in degrees."""
    return float(np.degrees(np.arccos(cosine(a, b))))


def average_of_uses(fruit: int, technology: int) -> Array:
    """Return the mean of the meanings over all uses."""
    shares = divide(np.array([[float(fruit), float(technology)]]))
    return np.asarray(mix(shares, MEANINGS)[0])


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the static and the contextual vectors of 'bank', and the average 'apple' with its two meanings."""
    bank_axes, apple_axes = figure.subplots(1, 2)
    name = _WEIGHTS[0][0]
    _arrow(bank_axes, result.arrays["bank"], GREY, "bank, static", (8, 0))
    _arrow(bank_axes, result.arrays[f"money bank, {name}"], VERMILION, "bank in\n'money bank grows'", (8, -22))
    _arrow(bank_axes, result.arrays[f"river bank, {name}"], BLUE, "bank in\n'river bank flows'", (8, 8))
    apart = float(result.tables[0].column("angle after (degrees)")[0])
    bank_axes.set(title=f"'bank' in two sentences: {apart:.0f}° apart", xlabel="finance", ylabel="water")
    _arrow(apple_axes, MEANINGS[0], GREEN, "fruit", (-2, 10))
    _arrow(apple_axes, MEANINGS[1], BLUE, "technology", (10, -4))
    fruit, technology, first, second, to_fruit, to_technology = (float(cell) for cell in result.tables[1].rows[0])
    cosines = f"cosine {to_fruit:.2f} to fruit,\n{to_technology:.2f} to technology"
    apple = f"apple, averaged: [{first:.1f}, {second:.1f}]\n{cosines}"
    _arrow(apple_axes, result.arrays["apple"], VERMILION, apple, (-165, 18))
    title = f"'apple': {fruit:,.0f} × fruit, {technology:,.0f} × technology"
    apple_axes.set(title=title, xlabel="fruit", ylabel="technology")
    bank_axes.set(xlim=(0, 1), ylim=(0, 1))
    apple_axes.set(xlim=(0, 1.15), ylim=(-0.02, 1.15))
    for axes in (bank_axes, apple_axes):
        axes.set_aspect("equal")
        axes.set_xticks([0, 0.5, 1])
        axes.set_yticks([0, 0.5, 1])


def _arrow(axes: "Axes", vector: Array, colour: str, label: str, offset: tuple[int, int]) -> None:
    x, y = float(vector[0]), float(vector[1])
    shape = {"arrowstyle": "-|>", "color": colour, "linewidth": 3, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 22}
    axes.annotate("", (x, y), (0, 0), arrowprops=shape, annotation_clip=False)
    axes.annotate(label, (x, y), offset, textcoords="offset points", color=colour, va="bottom")
