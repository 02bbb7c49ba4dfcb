"""The calculation of a cell of each Step, as an Expression of the numbers shown (tokens as rows).

A Step that only copies numbers (a look-up, a mask, a join) has no calculation; its entry is `moves`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from clearhead.steps import Record
from clearhead.worksheet.expression import (
    EULER,
    PI,
    Call,
    Difference,
    Expression,
    Negative,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    long_sum,
)
from clearhead.worksheet.reference import NORM_AXES, rotary_pairs


class ShownNumbers(Protocol):
    """The digits that a reader sees, of a cell or of a single number."""

    is_left_first: bool  # False if the sheet writes W X for what is computed as X W
    max_terms: int  # longer sums are written with an ellipsis

    def cell(self, value: Any, *index: int) -> Number:
        """Return the shown number at `index` of a given or recorded array."""

    def plain(self, number: float) -> Number:
        """Return a single number, such as a width or an epsilon, with its own digits."""


Working = Callable[[Record, int, int, ShownNumbers], Expression | None]


def moves(record: Record, row: int, column: int, numbers: ShownNumbers) -> None:
    """Return None: the numbers are only copied."""


def _dot(count: int, pair: Callable[[int], tuple[Number, Number]], numbers: ShownNumbers) -> Sum:
    return long_sum(
        range(count), lambda k: Product(pair(k) if numbers.is_left_first else pair(k)[::-1]), numbers.max_terms
    )


def _with_bias(total: Sum, b: Any, column: int, numbers: ShownNumbers) -> Sum:
    return total if b is None else Sum((*total.terms, numbers.cell(b, column)), total.left_out)


def project(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """Σ x w + b"""
    x, w = record.inputs["x"], record.inputs["w"]
    total = _dot(w.shape[0], lambda k: (numbers.cell(x, row, k), numbers.cell(w, k, column)), numbers)
    return _with_bias(total, record.inputs.get("b"), column, numbers)


def transform(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """Σ w x + b"""
    x, w = record.inputs["x"], record.inputs["w"]
    total = _dot(w.shape[1], lambda k: (numbers.cell(w, column, k), numbers.cell(x, row, k)), numbers)
    return _with_bias(total, record.inputs.get("b"), column, numbers)


def score(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """Σ q k"""
    q, k = record.inputs["q"], record.inputs["k"]
    return _dot(q.shape[1], lambda e: (numbers.cell(q, row, e), numbers.cell(k, column, e)), numbers)


def mix(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """Σ weight v"""
    weights, v = record.inputs["weights"], record.inputs["v"]
    return _dot(v.shape[0], lambda k: (numbers.cell(weights, row, k), numbers.cell(v, k, column)), numbers)


def add(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """a + b"""
    return Sum(tuple(_spread(record.inputs[name], row, column, numbers) for name in ("a", "b")))


def scale(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """score / √d"""
    inputs = record.inputs
    root = inputs.get("root_of")
    by: Expression = numbers.plain(inputs["divisor"]) if root is None else Call("√", numbers.plain(root))
    return Quotient(numbers.cell(inputs["scores"], row, column), by)


def shift(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression | None:
    """s - the largest s of the row"""
    scores = record.inputs["scores"]
    if not np.isfinite(scores[row, column]):
        return None
    largest = int(np.argmax(scores[row]))
    return Difference(numbers.cell(scores, row, column), numbers.cell(scores, row, largest))


def exponentiate(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression | None:
    """e^s"""
    scores, base = record.inputs["scores"], record.inputs.get("base")
    if not np.isfinite(scores[row, column]):
        return None
    return Power(EULER if base is None else numbers.plain(base), numbers.cell(scores, row, column))


def row_sum(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """Σ x"""
    x = record.inputs["x"]
    return long_sum(range(x.shape[1]), lambda k: numbers.cell(x, row, k), numbers.max_terms)


def softmax(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression | None:
    """e^s / Σ e^s, over the keys that are not masked"""
    scores, base = record.inputs["scores"], record.inputs.get("base")
    if not np.isfinite(scores[row, column]):
        return None
    if "exponentials" in record.inputs:
        exponentials, total = record.inputs["exponentials"], record.inputs["total"]
        return Quotient(numbers.cell(exponentials, row, column), numbers.cell(total, row, 0))
    foot = EULER if base is None else numbers.plain(base)
    keys = np.flatnonzero(np.isfinite(scores[row])).tolist()
    total = long_sum(keys, lambda k: Power(foot, numbers.cell(scores, row, k)), numbers.max_terms)
    return Quotient(Power(foot, numbers.cell(scores, row, column)), total)


def divide(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression | None:
    """s / Σ s"""
    scores = record.inputs["scores"]
    if np.sum(scores[row]) == 0.0:
        return None
    total = long_sum(range(scores.shape[1]), lambda k: numbers.cell(scores, row, k), numbers.max_terms)
    return Quotient(numbers.cell(scores, row, column), total)


def kernel(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """e^(-(tⱼ - tᵢ)² / 2σ²) / √(2πσ²)"""
    variance, two = numbers.plain(record.inputs["variance"]), Number("2")
    gap = Difference(numbers.cell(record.inputs["key_times"], column), numbers.cell(record.inputs["query_times"], row))
    exponent = Quotient(Negative(Power(gap, two)), Product((two, variance)))
    return Quotient(Power(EULER, exponent), Call("√", Product((two, PI, variance))))


def position(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression | None:
    """sin(pos / base^(2i/d)) or the cosine"""
    inputs = record.inputs
    if not inputs["formula"].startswith("sinusoidal"):
        return None
    dimension = int(inputs["dimensions"][column])
    is_odd = dimension % 2 == 1
    exponent = dimension - 1 if is_odd and inputs["formula"] == "sinusoidal" else dimension
    angle = _angle(numbers.cell(inputs["positions"], row), exponent, inputs, numbers)
    return Call("cos" if is_odd else "sin", angle)


def angle(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """pos / base^(2i/d)"""
    return _angle(numbers.cell(record.inputs["positions"], row), 2 * column, record.inputs, numbers)


def _angle(position: Number, exponent: int, inputs: Mapping[str, Any], numbers: ShownNumbers) -> Expression:
    power = Power(numbers.plain(inputs["base"]), Quotient(numbers.plain(exponent), numbers.plain(inputs["width"])))
    return Quotient(position, power)


def rotate(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """a cos θ - b sin θ, or a sin θ + b cos θ"""
    x, angles = record.inputs["x"], record.inputs["angles"]
    first, second = rotary_pairs(x.shape[1], record.inputs["pairing"])
    is_first = column in first
    pair = int(np.flatnonzero((first if is_first else second) == column)[0])
    a, b = numbers.cell(x, row, int(first[pair])), numbers.cell(x, row, int(second[pair]))
    turn = numbers.cell(angles, row, pair)
    cosine, sine = Call("cos", turn), Call("sin", turn)
    if is_first:
        return Difference(Product((a, cosine)), Product((b, sine)))
    return Sum((Product((a, sine)), Product((b, cosine))))


def activate(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """f(x)"""
    return Call(record.inputs["function"], numbers.cell(record.inputs["x"], row, column))


def mean(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """Σ x / n"""
    x, together = record.inputs["x"], normalised_together(record, row, column)
    total = long_sum(range(len(together)), lambda n: numbers.cell(x, *together[n]), numbers.max_terms)
    return Quotient(total, numbers.plain(len(together)))


def variance(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """Σ (x - μ)² / n"""
    x, together = record.inputs["x"], normalised_together(record, row, column)
    average, two = numbers.cell(record.inputs["mean"], row, column), Number("2")

    def square(n: int) -> Expression:
        return Power(Difference(numbers.cell(x, *together[n]), average), two)

    total = long_sum(range(len(together)), square, numbers.max_terms)
    return Quotient(total, numbers.plain(len(together)))


def normalised_together(record: Record, row: int, column: int) -> list[tuple[int, int]]:
    """Return the cells that share one mean and one variance."""
    x, over, counted = record.inputs["x"], record.inputs["over"], record.inputs.get("counted")
    rows = range(x.shape[0]) if -2 in NORM_AXES[over] else [row]
    columns = range(x.shape[1]) if -1 in NORM_AXES[over] else [column]
    is_counted = [True] * x.shape[0] if counted is None or over == "features" else counted
    return [(i, j) for i in rows for j in columns if is_counted[i]]


def deviation(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """√(σ² + ε)"""
    return _root(record.inputs, numbers.cell(record.inputs["variance"], row, column), numbers)


def normalise(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """γ (x - μ) / √(σ² + ε) + β; a mean and variance that are not recorded are the token's, to six figures"""
    inputs = record.inputs
    if "deviation" in inputs:
        average, spread = (_spread(inputs[name], row, column, numbers) for name in ("mean", "deviation"))
    elif "mean" in inputs:
        average, spread = (_spread(inputs[name], row, column, numbers) for name in ("mean", "variance"))
    else:
        average, spread = (numbers.plain(float(f"{of(inputs['x'][row]):.6g}")) for of in (np.mean, np.var))
    return _normalised(inputs, numbers.cell(inputs["x"], row, column), average, spread, column, numbers)


def _normalised(
    inputs: Mapping[str, Any], x: Number, average: Number, spread: Expression, column: int, numbers: ShownNumbers
) -> Expression:
    divisor = spread if "deviation" in inputs else _root(inputs, spread, numbers)
    result: Expression = Quotient(Difference(x, average), divisor)
    if "gain" in inputs:
        result = Product((numbers.cell(inputs["gain"], column), result))
    return Sum((result, numbers.cell(inputs["shift"], column))) if "shift" in inputs else result


def _root(inputs: Mapping[str, Any], spread: Expression, numbers: ShownNumbers) -> Expression:
    """√(σ² + ε), or √σ² + ε"""
    if "epsilon" in inputs:
        spread = Sum((spread, numbers.plain(inputs["epsilon"])))
    root = Call("√", spread)
    return Sum((root, numbers.plain(inputs["epsilon_outside"]))) if "epsilon_outside" in inputs else root


def root_mean_square(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """√(Σ x² / n + ε)"""
    x = record.inputs["x"]
    squares = long_sum(range(x.shape[1]), lambda d: Power(numbers.cell(x, row, d), Number("2")), numbers.max_terms)
    return _root(record.inputs, Quotient(squares, numbers.plain(x.shape[1])), numbers)


def rms_normalise(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """γ x / √(Σ x² / n + ε)"""
    inputs, x = record.inputs, record.inputs["x"]
    rms = numbers.cell(inputs["rms"], row, 0) if "rms" in inputs else root_mean_square(record, row, column, numbers)
    result: Expression = Quotient(numbers.cell(x, row, column), rms)
    return Product((numbers.cell(inputs["gain"], column), result)) if "gain" in inputs else result


def convolve(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """Σₖ Σ x[t + first + k] wₖ + b, only over the tokens of the sentence"""
    x, taps, first = record.inputs["x"], record.inputs["taps"], record.inputs["first"]
    pairs = [
        (row + first + k, tap, d)
        for k, tap in enumerate(taps)
        if 0 <= row + first + k < x.shape[0]
        for d in range(x.shape[1])
    ]

    def pair(n: int) -> tuple[Number, Number]:
        token, tap, d = pairs[n]
        return numbers.cell(x, token, d), numbers.cell(tap, d, column)

    return _with_bias(_dot(len(pairs), pair, numbers), record.inputs.get("b"), column, numbers)


def multiply(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """a × b"""
    return Product(tuple(_spread(record.inputs[name], row, column, numbers) for name in ("a", "b")))


def complement(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """1 - x"""
    return Difference(Number("1"), numbers.cell(record.inputs["x"], row, column))


def loss(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """-ln p"""
    target = int(record.inputs["targets"][row])
    return Negative(Call("ln", numbers.cell(record.inputs["probabilities"], row, target)))


def total(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """Σ x"""
    x = record.inputs["x"]
    cells = list(np.ndindex(x.shape))
    return long_sum(range(len(cells)), lambda n: numbers.cell(x, *cells[n]), numbers.max_terms)


def gradient(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """p - y"""
    is_target = int(record.inputs["targets"][row]) == column
    return Difference(numbers.cell(record.inputs["probabilities"], row, column), numbers.plain(1 if is_target else 0))


def idf(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """ln(N / df)"""
    counts = record.inputs["counts"]
    documents, having = len(counts), int(np.sum(counts[:, column] > 0))
    if record.inputs["rule"] == "N/df":
        return Call("ln", Quotient(numbers.plain(documents), numbers.plain(having)))
    inner = Quotient(numbers.plain(1 + documents), numbers.plain(1 + having))
    return Sum((Call("ln", inner), Number("1")))


def length(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """√Σ x²"""
    x = record.inputs["x"]
    squares = long_sum(range(x.shape[1]), lambda d: Power(numbers.cell(x, row, d), Number("2")), numbers.max_terms)
    return Call("√", squares)


def cosine(record: Record, row: int, column: int, numbers: ShownNumbers) -> Expression:
    """x·y / (|x| |y|)"""
    dots, lengths = record.inputs["dots"], record.inputs["lengths"]
    both = Product((numbers.cell(lengths, row, 0), numbers.cell(lengths, column, 0)))
    return Quotient(numbers.cell(dots, row, column), both)


def _spread(value: Any, row: int, column: int, numbers: ShownNumbers) -> Number:
    """Return the cell of a value with broadcasting: one row or one column is used for all."""
    return numbers.cell(value, row if value.shape[0] > 1 else 0, column if value.shape[1] > 1 else 0)


WORKINGS: Mapping[str, Working] = {
    "embed": moves,
    "position": position,
    "angle": angle,
    "rotate": rotate,
    "add": add,
    "project": project,
    "transform": transform,
    "split": moves,
    "append": moves,
    "score": score,
    "kernel": kernel,
    "scale": scale,
    "mask": moves,
    "shift": shift,
    "exponentiate": exponentiate,
    "row_sum": row_sum,
    "softmax": softmax,
    "divide": divide,
    "mix": mix,
    "join": moves,
    "activate": activate,
    "mean": mean,
    "variance": variance,
    "deviation": deviation,
    "normalise": normalise,
    "root_mean_square": root_mean_square,
    "rms_normalise": rms_normalise,
    "convolve": convolve,
    "pick": moves,
    "copy": moves,
    "multiply": multiply,
    "complement": complement,
    "choose": moves,
    "loss": loss,
    "total": total,
    "gradient": gradient,
    "one_hot": moves,
    "idf": idf,
    "length": length,
    "cosine": cosine,
}
