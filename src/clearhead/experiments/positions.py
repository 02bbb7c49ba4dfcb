"""Why positions are sines and cosines.

A count distinguishes positions but grows without bound; a single sine is bounded but repeats its values. Sines and
cosines of many frequencies together are bounded and distinct. They are similar to the bits of a counter: some
change quickly, others slowly. A step of k is the same rotation at every position, so that a relative position
is a linear map.
"""

from typing import TYPE_CHECKING

import numpy as np

from clearhead.experiments.colours import BLUE, GREY, VERMILION
from clearhead.experiments.experiment import Cell, Experiment, ResultTable
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import angle, position

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Why positions are sines and cosines"
SIZE = (11.0, 5.6)
WIDTH = 128
BASE = 10000.0
LAST = 1000  # positions 0 … LAST are compared
NUM_SHOWN = 50
NUM_BITS = 4
STEPS_AHEAD = (1, 7, 50, 500)
_DIMENSIONS_SHOWN = (0, 16, 32, 48, 64, 80, 96, 112)


def run(seed: int) -> Experiment:
    """Compare position encodings, count how often their numbers change and check the rotation. Nothing is random."""
    pos = np.arange(LAST + 1, dtype=np.float64)
    vectors = encode(pos)
    codes = {"count": pos[:, None], "sin(pos)": np.sin(pos)[:, None], f"PE, {WIDTH} numbers": vectors}
    nearest = {name: nearest_pair(code) for name, code in codes.items()}
    compared: list[tuple[Cell, ...]] = [
        (name, float(np.max(np.abs(code))), nearest[name][0], f"{nearest[name][1]} and {nearest[name][2]}")
        for name, code in codes.items()
    ]
    errors = [rotation_error(vectors, ahead) for ahead in STEPS_AHEAD]
    tables = (
        ResultTable(
            f"positions 0 … {LAST}",
            ("encoding", "largest number", "smallest distance", "between positions"),
            tuple(compared),
        ),
        ResultTable(
            "number of changes (of a bit, or of the sign)",
            ("number", "steps", "changes", "changes per step"),
            _change_rows(vectors),
        ),
        ResultTable(
            "PE(pos + k) as a rotation of PE(pos)",
            ("k", "largest error over all positions"),
            tuple(zip(STEPS_AHEAD, errors, strict=True)),
        ),
    )
    (count, sine, sines) = compared
    finding = (
        f"For positions 0 … {LAST}, the count reaches {float(count[1]):.0f}. sin(pos) stays within ±1, but two "
        f"positions are only {float(sine[2]):.0e} apart. The {WIDTH} numbers of PE stay within ±1, and any two "
        f"positions are at least {float(sines[2]):.2f} apart. A step of k is the same rotation at every position, with "
        f"an error of {_below(max(errors))}."
    )
    claim = (
        "A count is unbounded and a single sine repeats, but sines of many frequencies are bounded and distinct, and "
        "they encode relative positions."
    )
    bits = counter_bits()
    arrays = {"positions": vectors[:NUM_SHOWN], "bits": bits, "changes": sign_changes(vectors)}
    return Experiment("positions", TITLE, seed, claim, finding, tables, arrays)


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


def _change_rows(vectors: Array) -> tuple[tuple[Cell, ...], ...]:
    bits = sign_changes(counter_bits()[:, ::-1] - 0.5)
    steps = 2**NUM_BITS - 1
    rows: list[tuple[Cell, ...]] = [
        (f"bit {bit} of a counter", steps, int(changes), float(changes) / steps) for bit, changes in enumerate(bits)
    ]
    changes = sign_changes(vectors)
    rows += [(f"PE, dimension {dim}", LAST, int(changes[dim]), float(changes[dim]) / LAST) for dim in _DIMENSIONS_SHOWN]
    return tuple(rows)


def _below(error: float) -> str:
    return "less than 1e-12" if error < 1e-12 else f"{error:.0e}"


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the 50 × 128 encodings, a binary counter, and the smallest distance in each encoding."""
    grid = figure.add_gridspec(1, 2, width_ratios=(1.9, 1))
    encoding_panel, counter_panel = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    heat = encoding_panel.subplots()
    image = heat.imshow(
        result.arrays["positions"], cmap="cividis", vmin=-1, vmax=1, aspect="auto", interpolation="nearest"
    )
    heat.set(title=f"PE: {NUM_SHOWN} positions × {WIDTH} dimensions", xlabel="dimension", ylabel="position")
    heat.set_xticks(range(0, WIDTH, 16))
    encoding_panel.colorbar(image, ax=heat, label="value", ticks=[-1, 0, 1], pad=0.02)
    counter, nearness = counter_panel.subplots(2, 1, height_ratios=(1.5, 1))
    counter.imshow(result.arrays["bits"], cmap="cividis", aspect="auto", interpolation="nearest")
    counter.set_xticks(range(NUM_BITS), [str(bit) for bit in reversed(range(NUM_BITS))])
    counter.set_yticks([0, 5, 10, 15])
    counter.set(title="0 … 15 in binary (yellow = 1)", xlabel="bit (0 changes at every step)", ylabel="number")
    for axes in (heat, counter):
        axes.spines[:].set_visible(False)
    _draw_nearness(result.tables[0], nearness)


def _draw_nearness(table: ResultTable, axes: "Axes") -> None:
    names = ("count", "sin(pos)", "PE")
    colours = (GREY, VERMILION, BLUE)
    rows = zip(table.column("smallest distance"), table.column("largest number"), colours, strict=True)
    for height, (distance, largest, colour) in enumerate(rows):
        axes.plot(float(distance), height, "o", color=colour, markersize=10)
        side, gap = ("left", 10) if float(distance) < 1e-3 else ("right", -10)
        bound = f"reaches {float(largest):,.0f}"
        axes.annotate(bound, (float(distance), height), (gap, 0), textcoords="offset points", ha=side, va="center")
    axes.set_xscale("log")
    axes.set(
        xlim=(1e-8, 10),
        ylim=(2.5, -0.5),
        title=f"Nearest two of 0 … {LAST:,}",
        xlabel="distance between their encodings",
    )
    axes.set_yticks(range(3), names)
    axes.minorticks_off()
