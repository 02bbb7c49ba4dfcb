"""The input cells that each cell of a Step is computed from (tokens as rows). A page highlights them.

A new Step gets an entry in `PARENTS`: a function of (record, row, column).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from clearhead.steps import Record
from clearhead.worksheet.reference import rotary_pairs
from clearhead.worksheet.working import normalised_together


@dataclass(frozen=True)
class Parent:
    """One cell of the input `name`; a vector has only row 0. `part` is the index if the input is a tuple of arrays."""

    name: str
    row: int
    column: int
    part: int | None = None


Parents = Callable[[Record, int, int], list[Parent]]


def _row(record: Record, name: str, row: int) -> list[Parent]:
    return [Parent(name, row, j) for j in range(record.inputs[name].shape[1])]


def _column(record: Record, name: str, column: int) -> list[Parent]:
    return [Parent(name, i, column) for i in range(record.inputs[name].shape[0])]


def _same(record: Record, row: int, column: int, *names: str) -> list[Parent]:
    """Return the same cell of each input that is given; a single row or column is used for all of them."""
    cells = []
    for name in names:
        if name in record.inputs:
            height, width = np.atleast_2d(record.inputs[name]).shape
            cells.append(Parent(name, row if height > 1 else 0, column if width > 1 else 0))
    return cells


def same_cell(*names: str) -> Parents:
    """Return the Parents of a Step that is computed cell by cell from these inputs."""
    return lambda record, row, column: _same(record, row, column, *names)


def same_row(name: str) -> Parents:
    """Return the Parents of a Step that uses the entire row of an input."""
    return lambda record, row, column: _row(record, name, row)


def embed(record: Record, row: int, column: int) -> list[Parent]:
    """Return the token's row of the table."""
    return [Parent("table", int(record.inputs["ids"][row]), column)]


def position(record: Record, row: int, column: int) -> list[Parent]:
    """Return the position and the dimension."""
    return [Parent("positions", 0, row), Parent("dimensions", 0, column)]


def angle(record: Record, row: int, column: int) -> list[Parent]:
    """Return the position."""
    return [Parent("positions", 0, row)]


def rotate(record: Record, row: int, column: int) -> list[Parent]:
    """Return both dimensions of the pair, and its angle."""
    first, second = rotary_pairs(record.inputs["x"].shape[1], record.inputs["pairing"])
    pair = int(np.flatnonzero((first == column) | (second == column))[0])
    return [Parent("x", row, int(first[pair])), Parent("x", row, int(second[pair])), Parent("angles", row, pair)]


def project(record: Record, row: int, column: int) -> list[Parent]:
    """Return a row of x and a column of w."""
    return [*_row(record, "x", row), *_column(record, "w", column), *_same(record, 0, column, "b")]


def transform(record: Record, row: int, column: int) -> list[Parent]:
    """Return a row of w and a row of x."""
    return [*_row(record, "w", column), *_row(record, "x", row), *_same(record, 0, column, "b")]


def split(record: Record, row: int, column: int) -> list[Parent]:
    """Return the cell in the matrix before the split."""
    width = record.inputs["x"].shape[1] // record.inputs["num_heads"]
    return [Parent("x", row, (record.inputs["head"] - 1) * width + column)]


def append(record: Record, row: int, column: int) -> list[Parent]:
    """Return the cached cell or the new one."""
    cached = record.inputs["cached"].shape[0]
    return [Parent("cached", row, column) if row < cached else Parent("new", row - cached, column)]


def score(record: Record, row: int, column: int) -> list[Parent]:
    """Return a row of q and a row of k."""
    return [*_row(record, "q", row), *_row(record, "k", column)]


def kernel(record: Record, row: int, column: int) -> list[Parent]:
    """Return both times."""
    return [Parent("query_times", 0, row), Parent("key_times", 0, column)]


def mask(record: Record, row: int, column: int) -> list[Parent]:
    """Return the cell of the mask, and the score if it is allowed."""
    names = ("scores", "allowed") if record.inputs["allowed"][row, column] else ("allowed",)
    return _same(record, row, column, *names)


def softmax(record: Record, row: int, column: int) -> list[Parent]:
    """Return the row of scores; if the exponentials are recorded, the own exponential and the sum of the row."""
    if "exponentials" in record.inputs:
        return _same(record, row, column, "exponentials", "total")
    return _row(record, "scores", row)


def mix(record: Record, row: int, column: int) -> list[Parent]:
    """Return a row of weights and a column of v."""
    return [*_row(record, "weights", row), *_column(record, "v", column)]


def join(record: Record, row: int, column: int) -> list[Parent]:
    """Return the cell in the part that it comes from."""
    for number, part in enumerate(record.inputs["parts"]):
        if column < part.shape[1]:
            return [Parent("parts", row if part.shape[0] > 1 else 0, column, number)]
        column -= part.shape[1]
    raise AssertionError("a join is as wide as its parts")


def mean(record: Record, row: int, column: int) -> list[Parent]:
    """Return the cells that are averaged together."""
    return [Parent("x", i, j) for i, j in normalised_together(record, row, column)]


def variance(record: Record, row: int, column: int) -> list[Parent]:
    """Return the cells that are averaged together, and their mean."""
    return [*mean(record, row, column), *_same(record, row, column, "mean")]


def normalise(record: Record, row: int, column: int) -> list[Parent]:
    """Return the cell with its mean and its variance or deviation; the entire row if these are not given."""
    x = _same(record, row, column, "x") if "mean" in record.inputs else _row(record, "x", row)
    spread = "deviation" if "deviation" in record.inputs else "variance"
    return [*x, *_same(record, row, column, "mean", spread, "gain", "shift")]


def rms_normalise(record: Record, row: int, column: int) -> list[Parent]:
    """Return the token's row, or its own number and the root mean square, and the gain."""
    x = _same(record, row, column, "x", "rms") if "rms" in record.inputs else _row(record, "x", row)
    return [*x, *_same(record, 0, column, "gain")]


def convolve(record: Record, row: int, column: int) -> list[Parent]:
    """Return the neighbours inside the sentence, each with its column of the filter."""
    x, first = record.inputs["x"], record.inputs["first"]
    cells = _same(record, 0, column, "b")
    for k, tap in enumerate(record.inputs["taps"]):
        if 0 <= row + first + k < x.shape[0]:
            cells += _row(record, "x", row + first + k)
            cells += [Parent("taps", d, column, k) for d in range(tap.shape[0])]
    return cells


def pick(record: Record, row: int, column: int) -> list[Parent]:
    """Return the cell in the complete matrix."""
    return [Parent("x", record.inputs["row"] - 1, column)]


def copy(record: Record, row: int, column: int) -> list[Parent]:
    """Return the cell in the earlier part."""
    return [Parent("x", record.inputs.get("row", row + 1) - 1, column)]


def loss(record: Record, row: int, column: int) -> list[Parent]:
    """Return the target and its probability."""
    return [Parent("targets", 0, row), Parent("probabilities", row, int(record.inputs["targets"][row]))]


def total(record: Record, row: int, column: int) -> list[Parent]:
    """Return all cells."""
    return [Parent("x", i, j) for i, j in np.ndindex(record.inputs["x"].shape)]


def gradient(record: Record, row: int, column: int) -> list[Parent]:
    """Return the target and the probability."""
    return [Parent("targets", 0, row), Parent("probabilities", row, column)]


def one_hot(record: Record, row: int, column: int) -> list[Parent]:
    """Return the word."""
    return [Parent("ids", 0, row)]


def idf(record: Record, row: int, column: int) -> list[Parent]:
    """Return the word's counts in all documents."""
    return _column(record, "counts", column)


def cosine(record: Record, row: int, column: int) -> list[Parent]:
    """Return the dot product and both lengths."""
    return [Parent("dots", row, column), Parent("lengths", row, 0), Parent("lengths", column, 0)]


PARENTS: Mapping[str, Parents] = {
    "embed": embed,
    "position": position,
    "angle": angle,
    "rotate": rotate,
    "add": same_cell("a", "b"),
    "project": project,
    "transform": transform,
    "split": split,
    "append": append,
    "score": score,
    "kernel": kernel,
    "scale": same_cell("scores"),
    "mask": mask,
    "shift": same_row("scores"),
    "exponentiate": same_cell("scores"),
    "row_sum": same_row("x"),
    "softmax": softmax,
    "divide": same_row("scores"),
    "mix": mix,
    "join": join,
    "activate": same_cell("x"),
    "mean": mean,
    "variance": variance,
    "deviation": same_cell("variance"),
    "normalise": normalise,
    "root_mean_square": same_row("x"),
    "rms_normalise": rms_normalise,
    "convolve": convolve,
    "pick": pick,
    "copy": copy,
    "multiply": same_cell("a", "b"),
    "complement": same_cell("x"),
    "choose": same_row("probabilities"),
    "loss": loss,
    "total": total,
    "gradient": gradient,
    "one_hot": one_hot,
    "idf": idf,
    "length": same_row("x"),
    "cosine": cosine,
}
