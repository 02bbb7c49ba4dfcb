"""Static and contextual word vectors.

A static vector is the average of all uses of a word in the data: it is close to the most common meaning, and it is the
same in every sentence. A weighted mean of the words around it gives the same word a different vector in each sentence.
"""

import numpy as np

from clearhead.studies.experiment import Measurement, ResultTable, Rows
from clearhead.studies.picture import Panel
from clearhead.worksheet import solve
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import divide, mix

CLAIM = (
    "A static vector is the average of all meanings of a word. A weighted mean of the vectors in a sentence gives "
    "the word a vector for this sentence."
)
MEANINGS = np.eye(2)  # fruit, technology
USES = ((9000, 1000), (5000, 5000), (1000, 9000))
# The parts of the gallery exercise 'bank' in pairs: name in the table, first part, row of 'bank'.
_WEIGHTS = (
    ("lecture notes, first example", 0, 0),
    ("lecture notes, full table", 2, 1),
    ("softmax of dot products", 4, 1),
)
_BANK = np.array([0.5, 0.5])
PANELS = (
    Panel("'bank' in two sentences", ("cosine before", "cosine after"), "weights", label="cosine of the two vectors"),
    Panel("'apple', averaged", ("cosine with fruit", "cosine with technology"), "uses as fruit", tables={1: ""},
          label="cosine"),
)  # fmt: skip


def run(seed: int) -> Measurement:
    """Compare 'bank' in two sentences, and average 'apple' over its uses. The seed has no effect."""
    answers = solve("bank").answers
    rows: Rows = []
    for name, part, row in _WEIGHTS:
        money, river = answers[part][row], answers[part + 1][row]
        rows.append((name, cosine(_BANK, _BANK), cosine(money, river), angle_between(money, river)))
    apples: Rows = []
    for uses in USES:
        average = average_of_uses(*uses)
        to_fruit, to_technology = (cosine(average, meaning) for meaning in MEANINGS)
        apples.append((*uses, float(average[0]), float(average[1]), to_fruit, to_technology))
    tables = (
        ResultTable(
            "'bank' in 'money bank grows' and in 'river bank flows' (the vectors are invented)",
            ("weights", "cosine before", "cosine after", "angle after (degrees)"),
            rows,
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
            apples,
        ),
    )
    fruit, technology, to_fruit, to_technology = (float(cell) for cell in apples[0][2:])
    cosines = [float(row[2]) for row in rows]
    finding = (
        f"The static vectors of 'bank' in the two sentences are equal (cosine {float(rows[0][1]):.0f}); the weighted "
        f"means differ (cosine {min(cosines):.3f} to {max(cosines):.3f}). The average of 'apple' is [{fruit:.1f}, "
        f"{technology:.1f}], with cosine {to_fruit:.3f} to fruit and {to_technology:.3f} to technology."
    )
    return Measurement(tables, finding)


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
