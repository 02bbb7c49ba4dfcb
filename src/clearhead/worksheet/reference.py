"""The reference implementation (oracle): every Step in plain numpy, float64, tokens as rows.

It deliberately shares no code with the torch model, because a shared implementation cannot check itself. Worksheets
are computed with these functions, and any trace, including one of a model, can be recomputed with them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from clearhead.steps import Record
from clearhead.worksheet.arrays import Array, Ids, Mask

ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
    "sigmoid": lambda x: _sigmoid(x),
    "gelu": lambda x: x * 0.5 * (1.0 + np.vectorize(math.erf, otypes=[np.float64])(x / math.sqrt(2.0))),
    "silu": lambda x: x * _sigmoid(x),
}


def _sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x), computed so that nothing overflows"""
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small)))


NORM_AXES: Mapping[str, tuple[int, ...]] = {"features": (-1,), "tokens": (-2,), "all": (-2, -1)}


def embed(ids: Ids, table: Array) -> Array:
    """xₜ = E[idₜ]"""
    return np.take(table, ids, axis=0)


def position(positions: Array, dimensions: Ids, width: int, formula: str, base: float) -> Array:
    """PE(pos, 2i) = sin(pos / base^(2i/d)), PE(pos, 2i+1) = cos(pos / base^(2i/d))

    'sinusoidal-odd-exponent' has 2i+1 instead of 2i in the exponent of the cosine.
    'one-hot' has a 1 at dimension pos, 'count' has pos in every dimension.
    """
    pos, dim = np.asarray(positions, dtype=np.float64)[:, None], np.asarray(dimensions)[None, :]
    if formula == "one-hot":
        return np.asarray(pos == dim, dtype=np.float64)
    if formula == "count":
        return np.broadcast_to(pos, (pos.shape[0], dim.shape[1])).copy()
    is_odd = dim % 2 == 1
    exponent = np.where(is_odd & (formula == "sinusoidal"), dim - 1, dim) / width
    angles = pos / base**exponent
    return np.where(is_odd, np.cos(angles), np.sin(angles))


def angle(positions: Array, width: int, base: float) -> Array:
    """θ(pos, i) = pos / base^(2i/d), one for each pair of dimensions"""
    pairs = np.arange(width // 2, dtype=np.float64)
    return np.asarray(positions, dtype=np.float64)[..., None] / base ** (2.0 * pairs / width)


def rotary_pairs(width: int, pairing: str) -> tuple[Ids, Ids]:
    """Return the first and the second dimension of every pair: neighbours (0,1) or halves (0, width/2)."""
    pairs = np.arange(width // 2)
    return (2 * pairs, 2 * pairs + 1) if pairing == "neighbours" else (pairs, pairs + width // 2)


def rotate(x: Array, angles: Array, pairing: str) -> Array:
    """(a, b) → (a cos θ - b sin θ, a sin θ + b cos θ)"""
    first, second = rotary_pairs(x.shape[-1], pairing)
    a, b = x[..., first], x[..., second]
    rotated = np.empty_like(x)
    rotated[..., first] = a * np.cos(angles) - b * np.sin(angles)
    rotated[..., second] = a * np.sin(angles) + b * np.cos(angles)
    return rotated


def add(a: Array, b: Array) -> Array:
    """a + b"""
    return a + b


def project(x: Array, w: Array, b: Array | None = None) -> Array:
    """x W + b"""
    return x @ w if b is None else x @ w + b


def transform(x: Array, w: Array, b: Array | None = None) -> Array:
    """W xᵢ + b, a row for each i"""
    return project(x, w.T, b)


def split(x: Array, head: int, num_heads: int) -> Array:
    """Return the columns of x that belong to `head`, counted from 1."""
    width = x.shape[-1] // num_heads
    return np.ascontiguousarray(x[..., (head - 1) * width : head * width])


def append(cached: Array, new: Array) -> Array:
    """Return the cached rows followed by the new ones."""
    return np.concatenate([cached, new], axis=-2)


def score(q: Array, k: Array) -> Array:
    """q kᵀ"""
    return q @ np.swapaxes(k, -1, -2)


def kernel(query_times: Array, key_times: Array, variance: float) -> Array:
    """exp(-(tⱼ - tᵢ)² / 2σ²) / √(2πσ²)"""
    gaps = np.asarray(key_times)[None, :] - np.asarray(query_times)[:, None]
    return np.exp(-(gaps**2) / (2.0 * variance)) / float(np.sqrt(2.0 * np.pi * variance))


def scale(scores: Array, root_of: float | None = None, divisor: float | None = None) -> Array:
    """scores / √d, or divided by a number"""
    if root_of is not None:
        return scores / float(np.sqrt(root_of))
    if divisor is None:  # in a file that was edited
        raise ValueError("scores are divided by nothing")
    return scores / divisor


def mask(scores: Array, allowed: Mask, fill: float) -> Array:
    """scores where allowed, `fill` elsewhere"""
    return np.where(np.asarray(allowed, dtype=bool), scores, fill)


def shift(scores: Array) -> Array:
    """sᵢⱼ - maxⱼ sᵢⱼ along the last axis; a row that contains only -∞ is unchanged"""
    largest = np.max(scores, axis=-1, keepdims=True)
    return scores - np.where(np.isfinite(largest), largest, 0.0)


def exponentiate(scores: Array, base: float | None = None) -> Array:
    """base^s, number by number; 0 for -∞"""
    is_masked = np.isneginf(scores)
    exponents = np.where(is_masked, 0.0, scores)
    return np.where(is_masked, 0.0, np.exp(exponents) if base is None else np.power(base, exponents))


def row_sum(x: Array) -> Array:
    """Σⱼ xᵢⱼ along the last axis"""
    return np.asarray(np.sum(x, axis=-1, keepdims=True))


def softmax(
    scores: Array, base: float | None = None, exponentials: Array | None = None, total: Array | None = None
) -> Array:
    """base^sᵢⱼ / Σⱼ base^sᵢⱼ along the last axis; the largest score is subtracted first, so that nothing overflows.

    A row that contains only -∞ gives zeros, where the formula would give 0/0. With `exponentials` and their `total`,
    these are divided instead.
    """
    if exponentials is not None and total is not None:
        return np.asarray(exponentials / np.where(total == 0.0, 1.0, total))
    exponents = scores if base is None else np.where(np.isneginf(scores), scores, scores * np.log(base))
    largest = np.max(exponents, axis=-1, keepdims=True)
    powers = np.exp(exponents - np.where(np.isfinite(largest), largest, 0.0))
    total = np.sum(powers, axis=-1, keepdims=True)
    return powers / np.where(total == 0.0, 1.0, total)


def divide(scores: Array) -> Array:
    """sᵢⱼ / Σⱼ sᵢⱼ along the last axis; a row of zeros is unchanged"""
    total = np.sum(scores, axis=-1, keepdims=True)
    return scores / np.where(total == 0.0, 1.0, total)


def mix(weights: Array, v: Array) -> Array:
    """weights v"""
    return weights @ v


def join(parts: Sequence[Array]) -> Array:
    """Return the parts side by side; a part with one row is repeated for every row."""
    rows = max(part.shape[-2] for part in parts)
    spread = [np.broadcast_to(part, (*part.shape[:-2], rows, part.shape[-1])) for part in parts]
    return np.concatenate(spread, axis=-1)


def activate(x: Array, function: str) -> Array:
    """f(x), number by number"""
    return ACTIVATIONS[function](x)


def mean(x: Array, over: str, counted: Mask | None = None) -> Array:
    """Σ x / n over a token's features, over the tokens of a feature, or over all; `counted` selects the tokens"""
    return np.asarray(np.mean(x, axis=NORM_AXES[over], keepdims=True, where=_counted(x, over, counted)))


def variance(x: Array, mean: Array, over: str, counted: Mask | None = None) -> Array:
    """Σ (x - μ)² / n, the biased variance, over the same numbers as the mean"""
    squares = (x - mean) ** 2
    return np.asarray(np.mean(squares, axis=NORM_AXES[over], keepdims=True, where=_counted(x, over, counted)))


def _counted(x: Array, over: str, counted: Mask | None) -> Mask:
    if counted is None or over == "features":
        return np.ones(x.shape, dtype=bool)
    return np.broadcast_to(np.asarray(counted, dtype=bool)[..., :, None], x.shape)


def deviation(variance: Array, epsilon: float = 0.0, epsilon_outside: float = 0.0) -> Array:
    """√(σ² + ε); ε is inside the root unless it is given as `epsilon_outside`"""
    return np.asarray(np.sqrt(variance + epsilon) + epsilon_outside)


def normalise(
    x: Array,
    mean: Array | None = None,
    variance: Array | None = None,
    epsilon: float = 0.0,
    epsilon_outside: float = 0.0,
    gain: Array | None = None,
    shift: Array | None = None,
    deviation: Array | None = None,
) -> Array:
    """γ (x - μ) / √(σ² + ε) + β; ε is inside the root unless it is given as `epsilon_outside`

    By default mean and variance are those of each token: layer norm, as in the fused kernel of a model. With
    `deviation`, that is the divisor.
    """
    mu = np.mean(x, axis=-1, keepdims=True) if mean is None else mean
    var = np.mean((x - mu) ** 2, axis=-1, keepdims=True) if variance is None else variance
    normal = (x - mu) / (np.sqrt(var + epsilon) + epsilon_outside if deviation is None else deviation)
    scaled = normal if gain is None else gain * normal
    return scaled if shift is None else scaled + shift


def root_mean_square(x: Array, epsilon: float = 0.0) -> Array:
    """√(mean of x² + ε), with the mean over each token's numbers"""
    return np.asarray(np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + epsilon))


def rms_normalise(x: Array, epsilon: float = 0.0, gain: Array | None = None, rms: Array | None = None) -> Array:
    """γ x / √(mean of x² + ε), with the mean over each token's numbers, or γ x / `rms`"""
    normal = x / (root_mean_square(x, epsilon) if rms is None else rms)
    return np.asarray(normal if gain is None else gain * normal)


def convolve(x: Array, taps: Sequence[Array], first: int, count: int, b: Array | None = None) -> Array:
    """y[t] = Σₖ x[t + first + k] Wₖ + b, zeros beyond the ends"""
    length = x.shape[-2]
    total = np.zeros((*x.shape[:-2], count, taps[0].shape[1]))
    for k, tap in enumerate(taps):
        places = np.arange(count) + first + k
        inside = (places >= 0) & (places < length)
        total[..., inside, :] += x[..., places[inside], :] @ tap
    return total if b is None else total + b


def pick(x: Array, row: int) -> Array:
    """Return row `row` of x, counted from 1, as a matrix with one row."""
    return np.ascontiguousarray(x[..., row - 1 : row, :])


def copy(x: Array, part: int, row: int | None = None, names: Ids | None = None) -> Array:
    """Return a line of an earlier part, or one of its rows, counted from 1."""
    del part, names
    return np.array(x if row is None else x[..., row - 1 : row, :])


def multiply(a: Array, b: Array) -> Array:
    """a ⊙ b"""
    return a * b


def complement(x: Array) -> Array:
    """1 - x, cell by cell"""
    return 1.0 - x


def choose(probabilities: Array, draw: float | None = None) -> Array:
    """Return the index of the largest probability; with `draw`, the first index where the running sum exceeds it."""
    if draw is None:
        return np.asarray(np.argmax(probabilities, axis=-1)[..., None], dtype=np.float64)
    running = np.cumsum(probabilities, axis=-1)
    place = np.sum(running <= draw * running[..., -1:], axis=-1)
    return np.asarray(np.minimum(place, probabilities.shape[-1] - 1)[..., None], dtype=np.float64)


def loss(probabilities: Array, targets: Ids) -> Array:
    """-ln p[target]"""
    return np.asarray(-np.log(np.take_along_axis(probabilities, np.asarray(targets)[:, None], axis=-1)))


def total(x: Array) -> Array:
    """Σ x"""
    return np.asarray(np.sum(x)).reshape(1, 1)


def gradient(probabilities: Array, targets: Ids) -> Array:
    """p - y, the gradient of the cross-entropy with respect to the logits"""
    return probabilities - np.eye(probabilities.shape[-1])[np.asarray(targets)]


def one_hot(ids: Ids, words: Array) -> Array:
    """1 at the id, 0 elsewhere"""
    return np.eye(len(words))[ids]


def idf(counts: Array, rule: str) -> Array:
    """ln(N / df), or ln((1 + N) / (1 + df)) + 1"""
    documents, having = counts.shape[0], np.sum(counts > 0, axis=0, keepdims=True)
    if rule == "N/df":
        return np.asarray(np.log(documents / having))
    return np.asarray(np.log((1 + documents) / (1 + having)) + 1.0)


def length(x: Array) -> Array:
    """√Σ x²"""
    return np.asarray(np.sqrt(np.sum(x**2, axis=-1, keepdims=True)))


def cosine(dots: Array, lengths: Array) -> Array:
    """xᵢ·xⱼ / (|xᵢ| |xⱼ|)"""
    return dots / (lengths * lengths.T)


REFERENCE: Mapping[str, Callable[..., Array]] = {
    "embed": embed,
    "position": position,
    "angle": angle,
    "rotate": rotate,
    "add": add,
    "project": project,
    "transform": transform,
    "split": split,
    "append": append,
    "score": score,
    "kernel": kernel,
    "scale": scale,
    "mask": mask,
    "shift": shift,
    "exponentiate": exponentiate,
    "row_sum": row_sum,
    "softmax": softmax,
    "divide": divide,
    "mix": mix,
    "join": join,
    "activate": activate,
    "mean": mean,
    "variance": variance,
    "deviation": deviation,
    "normalise": normalise,
    "root_mean_square": root_mean_square,
    "rms_normalise": rms_normalise,
    "convolve": convolve,
    "pick": pick,
    "copy": copy,
    "multiply": multiply,
    "complement": complement,
    "choose": choose,
    "loss": loss,
    "total": total,
    "gradient": gradient,
    "one_hot": one_hot,
    "idf": idf,
    "length": length,
    "cosine": cosine,
}


def replay(record: Record) -> Array:
    """Recompute the value of a Record (tokens as rows) from its inputs."""
    inputs: dict[str, Any] = dict(record.inputs)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        return REFERENCE[record.step.name](**inputs)
