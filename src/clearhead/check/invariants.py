"""Properties that hold for any inputs. They judge cells with unknown inputs, and rows of weights that are plausible.

A faultless working passes, whether it is rounded or cut.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from clearhead.check.comparison import SheetComparison
from clearhead.check.graph import FromRecord
from clearhead.check.statement import JudgedStatement
from clearhead.check.verdict import Verdict
from clearhead.worksheet.arrays import Mask

_USUAL_EPSILON = 1e-4
_SHORT_SUM = 0.01  # the effect of a sum of exponentials that was cut at two decimals; it is at least 1
_GROUP = "a normalised group of numbers"
Cells = tuple[tuple[int, int], ...]
Broken = Iterator[tuple[str, Cells]]


def broken_invariants(comparison: SheetComparison, judged: JudgedStatement) -> list[tuple[str, Cells]]:
    """Return the sentence and the cells of every broken invariant, and set the verdict of those cells."""
    if not judged.has(Verdict.UNCHECKED):
        return _wrong_sums(comparison, judged)
    open_cells = judged.where(Verdict.UNCHECKED)
    test = INVARIANTS.get(comparison.graph.records[judged.statement.node].step.name)
    violations = [] if test is None else list(test(comparison, judged, open_cells))
    for _, cells in violations:
        for row, column in cells:
            judged.verdicts[row][column] = Verdict.INVARIANT
    if comparison.graph.has_unknown_input and test is _normalised:
        _accept_normalised(comparison, judged)
    return violations


def _accept_normalised(comparison: SheetComparison, judged: JudgedStatement) -> None:
    """Accept numbers normalised together that have mean 0 and deviation 1: with an unknown input, no more is known."""
    statement, open_cells = judged.statement, judged.where(Verdict.UNCHECKED)
    for group in _tested_groups(comparison, judged, open_cells):
        y, unit = statement.value[group], float(statement.unit[group].max())
        if y.std() > unit and _is_small_epsilon(comparison, statement.node):
            judged.set(open_cells & group, Verdict.PLAUSIBLE)


def _wrong_sums(comparison: SheetComparison, judged: JudgedStatement) -> list[tuple[str, Cells]]:
    """Find rows of weights with plausible cells whose sum is not 1, with room for a shortened sum of exponentials.

    If one of their cells is wrong, only that is blamed if the right number in its place makes the sum 1.
    """
    is_softmax = comparison.graph.records[judged.statement.node].step.name == "softmax"
    if not is_softmax or not judged.has(Verdict.PLAUSIBLE, Verdict.UNSUPPORTED):
        return []
    statement, plausible = judged.statement, judged.where(Verdict.PLAUSIBLE, Verdict.UNSUPPORTED)
    wrong = judged.where(Verdict.SLIP, Verdict.TRANSCRIPTION, Verdict.MISCONCEPTION)
    slips = judged.where(Verdict.SLIP)
    has_error = wrong.any(axis=1) if int(wrong.sum()) > 1 else (wrong & ~slips).any(axis=1)
    violations = []
    for row in np.flatnonzero(plausible.any(axis=1) & ~has_error & statement.is_written.all(axis=1)).tolist():
        total = float(statement.value[row].sum())
        reach = statement.value.shape[1] * float(statement.unit[row].max()) + _SHORT_SUM
        if abs(total - 1.0) > reach + 1e-9:
            own, room = slips[row], statement.value.shape[1] * float(statement.unit[row].max()) / 2
            corrected = float(np.where(own, judged.expected[row], statement.value[row]).sum())
            is_enough = own.any() and abs(corrected - 1.0) <= room + 1e-9
            cells = _row(row, own if is_enough else own | plausible[row])
            for cell in cells:
                judged.verdicts[cell[0]][cell[1]] = Verdict.INVARIANT
            violations.append((f"the weights of a row must sum to 1, but these sum to {total:.6g}", cells))
    return violations


def _row(row: int, columns: Mask) -> Cells:
    return tuple((row, int(column)) for column in np.flatnonzero(columns))


def _weights(comparison: SheetComparison, judged: JudgedStatement, open_cells: Mask) -> Broken:
    """Check that weights are between 0 and 1, sum to 1 along a row, and are 0 for masked keys."""
    statement = judged.statement
    y, unit = statement.value, statement.unit
    truth = comparison.graph.records[statement.node].value
    is_softmax = comparison.graph.records[statement.node].step.name == "softmax"
    for row in range(y.shape[0]):
        if not open_cells[row].any():
            continue
        out = (
            open_cells[row] & ((y[row] < -unit[row]) | (y[row] > 1 + unit[row]))
            if is_softmax
            else open_cells[row] & False
        )
        if out.any():
            yield "a weight must be between 0 and 1", _row(row, out)
            continue
        hidden = open_cells[row] & (truth[row] == 0.0) & (np.abs(y[row]) > unit[row])
        if is_softmax and hidden.any() and _is_masked(comparison, statement.node):
            yield "a masked key must have weight 0", _row(row, hidden)
            continue
        if statement.is_written[row].all():
            total, reach = float(y[row].sum()), y.shape[1] * float(unit[row].max())
            if abs(total - 1.0) > reach + 1e-9:
                yield f"the weights of a row must sum to 1, but these sum to {total:.6g}", _row(row, open_cells[row])


def _is_masked(comparison: SheetComparison, node: int) -> bool:
    return any(comparison.graph.records[parent].step.name == "mask" for parent in comparison.graph.parents[node])


def _mixture(comparison: SheetComparison, judged: JudgedStatement, open_cells: Mask) -> Broken:
    """Check that a weighted mean is between the least and the greatest number of its column of V."""
    statement = judged.statement
    inputs = comparison.graph.inputs(statement.node, comparison.fetch(comparison.x))
    v, unit = inputs["v"], statement.unit
    reach = v.shape[0] * float(np.max(unit)) * np.max(np.abs(v)) + unit
    low, high = v.min(axis=0)[None, :] - reach, v.max(axis=0)[None, :] + reach
    with np.errstate(invalid="ignore"):
        out = open_cells & ((statement.value < low) | (statement.value > high))
    for row in np.flatnonzero(out.any(axis=1)).tolist():
        yield (
            "a weighted mean must be between the least and the greatest number of its column of V",
            _row(row, out[row]),
        )


def _activation(comparison: SheetComparison, judged: JudgedStatement, open_cells: Mask) -> Broken:
    """Check that |tanh| ≤ 1, a sigmoid is between 0 and 1, and ReLU is never negative."""
    function = comparison.graph.records[judged.statement.node].inputs["function"]
    bounds = {"tanh": (-1.0, 1.0), "sigmoid": (0.0, 1.0), "relu": (0.0, np.inf)}.get(function)
    if bounds is None:
        return
    y, unit = judged.statement.value, judged.statement.unit
    with np.errstate(invalid="ignore"):
        out = open_cells & ((y < bounds[0] - unit) | (y > bounds[1] + unit))
    for row in np.flatnonzero(out.any(axis=1)).tolist():
        yield f"{function} must be between {bounds[0]:g} and {bounds[1]:g}", _row(row, out[row])


def _normalised(comparison: SheetComparison, judged: JudgedStatement, open_cells: Mask) -> Broken:
    """Check that numbers normalised together, before gain and shift, have mean 0 and deviation at most 1."""
    statement = judged.statement
    for group in _tested_groups(comparison, judged, open_cells):
        what = "a normalised vector" if _norm_rule(comparison, judged)["over"] == "features" else _GROUP
        y, unit = statement.value[group], float(statement.unit[group].max())
        cells = tuple((int(row), int(column)) for row, column in np.argwhere(open_cells & group))
        if abs(y.mean()) > unit:
            yield f"{what} must have mean 0, but this one has mean {y.mean():.4g}", cells
        elif abs(y.std() - 1.0) > unit and y.std() > unit and _is_small_epsilon(comparison, statement.node):
            yield f"{what} must have deviation 1, but this one has deviation {y.std():.4g}", cells


def _norm_rule(comparison: SheetComparison, judged: JudgedStatement) -> Mapping[str, Any]:
    """Return how the mean of a norm is taken; empty if it has none."""
    mean = comparison.graph.sources[judged.statement.node].get("mean")
    return comparison.graph.records[mean.index].inputs if isinstance(mean, FromRecord) else {}


def _tested_groups(comparison: SheetComparison, judged: JudgedStatement, open_cells: Mask) -> Iterator[Mask]:
    """Yield the complete groups of numbers normalised together; none if a gain or a shift hides their mean."""
    inputs, rule = comparison.graph.records[judged.statement.node].inputs, _norm_rule(comparison, judged)
    if "gain" in inputs or "shift" in inputs or not rule or "counted" in rule:
        return
    for group in _normalised_groups(rule["over"], open_cells.shape):
        if (open_cells & group).any() and judged.statement.is_written[group].all():
            yield group


def _normalised_groups(over: str, shape: tuple[int, ...]) -> Iterator[Mask]:
    """Yield the cells that share one mean: a row, a column or all."""
    rows, columns = np.indices(shape)
    if over == "all":
        yield np.ones(shape, dtype=bool)
        return
    index = rows if over == "features" else columns
    for number in range(int(index.max()) + 1):
        yield index == number


def _is_small_epsilon(comparison: SheetComparison, node: int) -> bool:
    """Return whether the deviation must be 1: without ε, or with a usual one where the input is unknown."""
    deviation = comparison.graph.sources[node].get("deviation")
    index = deviation.index if isinstance(deviation, FromRecord) else node
    inputs = comparison.graph.records[index].inputs
    epsilon = max(inputs.get("epsilon", 0.0), inputs.get("epsilon_outside", 0.0))
    return bool(epsilon <= (_USUAL_EPSILON if comparison.graph.has_unknown_input else 0.0))


def _spread(comparison: SheetComparison, judged: JudgedStatement, open_cells: Mask) -> Broken:
    """Check that a variance, a deviation or a root mean square is not negative."""
    with np.errstate(invalid="ignore"):
        below = open_cells & (judged.statement.value < 0.0)
    name = comparison.graph.records[judged.statement.node].step.name.replace("_", " ")
    for row in np.flatnonzero(below.any(axis=1)).tolist():
        yield f"a {name} cannot be negative", _row(row, below[row])


def _sinusoids(comparison: SheetComparison, judged: JudgedStatement, open_cells: Mask) -> Broken:
    """Check that sin² + cos² = 1 in each pair of the standard formula."""
    record, statement = comparison.graph.records[judged.statement.node], judged.statement
    if record.inputs["formula"] != "sinusoidal":
        return
    dimensions = list(record.inputs["dimensions"])
    for row in range(statement.value.shape[0]):
        for place, dimension in enumerate(dimensions[:-1]):
            if dimension % 2 or dimensions[place + 1] != dimension + 1 or not open_cells[row, place]:
                continue
            pair = statement.value[row, place : place + 2]
            reach = 2.0 * float(statement.unit[row, place : place + 2].max())
            if not np.isnan(pair).any() and abs(float(np.sum(pair**2)) - 1.0) > reach:
                yield "sin² + cos² must be 1 in each pair", ((row, place), (row, place + 1))


INVARIANTS: Mapping[str, Callable[[SheetComparison, JudgedStatement, Mask], Broken]] = {
    "softmax": _weights,
    "divide": _weights,
    "mix": _mixture,
    "activate": _activation,
    "variance": _spread,
    "deviation": _spread,
    "root_mean_square": _spread,
    "normalise": _normalised,
    "position": _sinusoids,
}
