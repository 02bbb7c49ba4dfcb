"""Why positions are sines and cosines.

A count distinguishes positions but grows without bound; a single sine is bounded but repeats its values. Sines and
cosines of many frequencies together are bounded and distinct. They are similar to the bits of a counter: some
change quickly, others slowly. A step of k is the same rotation at every position, so that a relative position
is a linear map.
"""

from typing import TYPE_CHECKING

import numpy as np

from clearhead.studies.experiment import Experiment, Measurement, ResultTable, Rows, format_cell
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import angle, position

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLAIM = (
    "A count is unbounded and a single sine repeats, but sines of many frequencies are bounded and distinct, and "
    "they encode relative positions."
)
SIZE = (11.0, 5.6)
WIDTH = 128
BASE = 10000.0
LAST = 1000  # positions 0 … LAST are compared
NUM_SHOWN = 50
NUM_BITS = 4
STEPS_AHEAD = (1, 7, 50, 500)
_DIMENSIONS_SHOWN = (0, 16, 32, 48, 64, 80, 96, 112)


def run(seed: int) -> Measurement:
    """Compare position encodings, count how often their numbers change and check the rotation. Nothing is random."""
    pos = np.arange(LAST + 1, dtype=np.float64)
    vectors = encode(pos)
    codes = {"count": pos[:, None], "sin(pos)": np.sin(pos)[:, None], f"PE, {WIDTH} numbers": vectors}
    nearest = {name: nearest_pair(code) for name, code in codes.items()}
    compared: Rows = [
        (name, float(np.max(np.abs(code))), nearest[name][0], f"{nearest[name][1]} and {nearest[name][2]}")
        for name, code in codes.items()
    ]
    errors = [rotation_error(vectors, ahead) for ahead in STEPS_AHEAD]
    tables = (
        ResultTable(
            f"positions 0 … {LAST}",
            ("encoding", "largest number", "smallest distance", "between positions"),
            compared,
        ),
        ResultTable(
            "number of changes (of a bit, or of the sign)",
            ("number", "steps", "changes", "changes per step"),
            _change_rows(vectors),
        ),
        ResultTable(
            "PE(pos + k) as a rotation of PE(pos)",
            ("k", "largest error over all positions"),
            list(zip(STEPS_AHEAD, errors, strict=True)),
        ),
    )
    (count, sine, sines) = compared
    finding = (
        f"For positions 0 … {LAST}, the count reaches {float(count[1]):.0f}. sin(pos) stays within ±1, but two "
        f"positions are only {float(sine[2]):.0e} apart. The {WIDTH} numbers of PE stay within ±1, and any two "
        f"positions are at least {float(sines[2]):.2f} apart. A step of k is the same rotation at every position "
        f"(largest error: {format_cell(max(errors))})."
    )
    arrays = {"positions": vectors[:NUM_SHOWN], "bits": counter_bits()}
    return Measurement(tables, finding, arrays)


def encode(positions: Array) -> Array:
    """Return the position vectors, a row for each position."""
    return position(positions, np.arange(WIDTH), WIDTH, "sinusoidal", BASE)


def nearest_pair(code: Array) -> tuple[float, int, int]:
    """Return the smallest distance between the encodings of two positions, and the two positions."""
    best = (float("inf"), 0, 0)
    for first in range(len(code) - 1):
        distances = np.sqrt(np.sum((code[first + 1 :] - code[first]) ** 2, axis=1))
        near = int(np.argmin(distances))
        # A difference within rounding does not count as smaller, so that every machine names the same pair.
        if distances[near] < best[0] * (1.0 - 1e-9):
            best = (float(distances[near]), first, first + 1 + near)
    return best


def counter_bits() -> Array:
    """Return 0 … 15 in binary, one row for each, highest bit first."""
    return np.array([[number >> bit & 1 for bit in reversed(range(NUM_BITS))] for number in range(2**NUM_BITS)], float)


def sign_changes(columns: Array) -> Array:
    """Return the number of sign changes of every column; zero counts as positive."""
    is_up = columns >= 0.0
    return np.asarray(np.sum(is_up[1:] != is_up[:-1], axis=0), dtype=np.float64)


def rotation(ahead: int) -> Array:
    """Return the matrix R with PE(pos + k) = PE(pos) R: a rotation by k / base^(2i/d) of each pair of dimensions i.

    sin(a + b) = sin a cos b + cos a sin b and cos(a + b) = cos a cos b - sin a sin b, so R depends on k but not on pos.
    """
    turns = angle(np.array([float(ahead)]), WIDTH, BASE)[0]  # (D/2,)
    matrix = np.zeros((WIDTH, WIDTH))
    for pair, turn in enumerate(turns):
        here = slice(2 * pair, 2 * pair + 2)
        matrix[here, here] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    return matrix


def rotation_error(vectors: Array, ahead: int) -> float:
    """Return the largest |PE(pos) R - PE(pos + k)| over all positions and dimensions."""
    truth = encode(np.arange(len(vectors), dtype=np.float64) + ahead)
    return float(np.max(np.abs(vectors @ rotation(ahead) - truth)))


def _change_rows(vectors: Array) -> Rows:
    bits = sign_changes(counter_bits()[:, ::-1] - 0.5)
    steps = 2**NUM_BITS - 1
    rows: Rows = [
        (f"bit {bit} of a counter", steps, int(changes), float(changes) / steps) for bit, changes in enumerate(bits)
    ]
    changes = sign_changes(vectors)
    rows += [(f"PE, dimension {dim}", LAST, int(changes[dim]), float(changes[dim]) / LAST) for dim in _DIMENSIONS_SHOWN]
    return rows


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the 50 × 128 encodings and a binary counter: no table has them."""
    encoding, counter = figure.subplots(1, 2, width_ratios=(2.6, 1))
    for axes, name in ((encoding, "positions"), (counter, "bits")):
        axes.imshow(result.arrays[name], cmap="cividis", aspect="auto", interpolation="nearest")
        axes.spines[:].set_visible(False)
    encoding.set(title=f"PE from -1 (blue) to 1 (yellow): {NUM_SHOWN} positions", xlabel="dimension", ylabel="position")
    counter.set_xticks(range(NUM_BITS), [str(bit) for bit in reversed(range(NUM_BITS))])
    counter.set(title="0 … 15 in binary (yellow = 1)", xlabel="bit (0 changes at every step)", ylabel="number")
