"""The image of a step: the least and the greatest value of each cell when its inputs are known only approximately.

Bounds are rigorous and have no fudge factors. √d, e and π may have been used with two or more decimals. A new Step
needs an entry in `IMAGES`: a function of its inputs, in which each array is a Range and everything else is unchanged.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from clearhead.check.interval import Inputs, Range, add, around, hull, low_of, multiply, product, without_nan
from clearhead.check.norm_image import deviation, mean, normalise, rms_normalise, root_mean_square, variance
from clearhead.check.softmax_image import divided, exponentiate, shift
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import ACTIVATIONS, REFERENCE, rotary_pairs

CONSTANT = 0.01  # the largest error of √d, e or π, rounded or cut at two decimals
_EULER = CONSTANT / math.e  # relative to e: the largest relative error of every exponent
_TIE = 1e-12  # of a probability: float64 cannot distinguish which side of a draw it is on
_GELU_DIP = (-0.7517915, -0.1699713)  # the position of its minimum, and a number just below the minimum
_SILU_DIP = (-1.2784645, -0.2784646)
SHORTENED = frozenset(
    {"scale", "softmax", "exponentiate", "divide", "activate", "kernel", "normalise", "rms_normalise"}
)  # the steps with images that allow shortened constants and inner numbers


Image = Callable[[Inputs], Range]


def _with_bias(y: Range, inputs: Inputs) -> Range:
    b = inputs.get("b")
    return y if b is None else Range(y.low + b.low, y.high + b.high)


def project(inputs: Inputs) -> Range:
    """Return the bound of a matrix product."""
    return _with_bias(product(inputs["x"], inputs["w"]), inputs)


def transform(inputs: Inputs) -> Range:
    """Return the bound of a matrix product with the weights on the left."""
    return _with_bias(product(inputs["x"], inputs["w"].turned()), inputs)


def score(inputs: Inputs) -> Range:
    """Return the bound of a matrix product."""
    return product(inputs["q"], inputs["k"].turned())


def mix(inputs: Inputs) -> Range:
    """Return the bound of a matrix product."""
    return product(inputs["weights"], inputs["v"])


def scale(inputs: Inputs) -> Range:
    """Divide by √d, which may have been shortened (`roots` are its least and greatest value), or by a number."""
    scores: Range = inputs["scores"]
    if inputs.get("divisor") is not None:
        return Range(scores.low / inputs["divisor"], scores.high / inputs["divisor"])
    root = math.sqrt(inputs["root_of"])
    if root == round(root):
        return Range(scores.low / root, scores.high / root)
    less, more = inputs.get("roots") or (root - CONSTANT, root + CONSTANT)
    return hull(scores.low / less, scores.low / more, scores.high / less, scores.high / more)


def mask(inputs: Inputs) -> Range:
    """Keep the scores that the mask allows."""
    allowed, fill = np.asarray(inputs["allowed"].low, dtype=bool), inputs["fill"]
    return Range(np.where(allowed, inputs["scores"].low, fill), np.where(allowed, inputs["scores"].high, fill))


def softmax(inputs: Inputs) -> Range:
    """Bound each weight: it is least where its own score is least and all others are greatest.

    An e with relative error δ multiplies the distance of every score from the greatest of its row by 1 ± δ.
    """
    if inputs.get("exponentials") is not None:
        return divided(inputs["exponentials"], inputs["total"])
    scores: Range = inputs["scores"]
    base = inputs.get("base")
    low, high = scores.low, scores.high
    factor = 1.0 if base is None else math.log(base)
    if factor < 0:
        low, high = high, low
    with np.errstate(invalid="ignore"):
        low, high = (
            np.where(np.isneginf(scores.low), -np.inf, low * factor),
            np.where(np.isneginf(scores.high), -np.inf, high * factor),
        )
    if base is None:
        top = np.max(high, axis=-1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        stretch = np.where(np.isfinite(low), np.abs(low - top), 0.0) * _EULER
        low, high = low - stretch, high + stretch
    return Range(_softmax_share(low, high), _softmax_share(high, low))


def _softmax_share(own: Array, others: Array) -> Array:
    """Return 1 / (1 + Σ e^(othersₖ - ownⱼ)), with k over the rest of the row."""
    log_rest = np.full(own.shape, -np.inf)
    if own.shape[-1] > 1:
        first = np.argmax(others, axis=-1, keepdims=True)
        is_first = np.arange(own.shape[-1]) == first
        top = np.max(others, axis=-1, keepdims=True)
        second = np.max(np.where(is_first, -np.inf, others), axis=-1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            powers = np.where(np.isneginf(others), 0.0, np.exp(others - top))
            log_rest = top + np.log(np.maximum(np.sum(powers, axis=-1, keepdims=True) - powers, 0.0))
            without = np.where(is_first | np.isneginf(others), 0.0, np.exp(others - second))
            log_rest = np.where(is_first, second + np.log(np.sum(without, axis=-1, keepdims=True)), log_rest)
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.where(np.isneginf(log_rest) | np.isnan(log_rest), 0.0, np.exp(log_rest - own))
    return np.where(np.isneginf(own), 0.0, 1.0 / (1.0 + ratio))


def _share(own: Array, others: Array) -> Array:
    """Return own / (own + the sum of the others of the row)."""
    rest = np.sum(others, axis=-1, keepdims=True) - others
    total = own + np.maximum(rest, 0.0)
    return np.asarray(own / np.where(total == 0.0, 1.0, total))


def divide(inputs: Inputs) -> Range:
    """Bound as softmax if nothing is negative, otherwise as a quotient."""
    scores: Range = inputs["scores"]
    if np.all(scores.low >= 0):
        return Range(_share(scores.low, scores.high), _share(scores.high, scores.low))
    total_low, total_high = scores.low.sum(axis=-1, keepdims=True), scores.high.sum(axis=-1, keepdims=True)
    around_zero = (total_low <= 0) & (total_high >= 0)
    safe_low, safe_high = np.where(around_zero, 1.0, total_low), np.where(around_zero, 1.0, total_high)
    ends = hull(scores.low / safe_low, scores.low / safe_high, scores.high / safe_low, scores.high / safe_high)
    return Range(np.where(around_zero, -np.inf, ends.low), np.where(around_zero, np.inf, ends.high))


def activate(inputs: Inputs) -> Range:
    """Return the values at the ends; gelu and silu also have one minimum. e may have been shortened."""
    x, function = inputs["x"], inputs["function"]
    bend = ACTIVATIONS[function]
    ends = hull(bend(x.low), bend(x.high))
    if function in ("tanh", "sigmoid"):
        return hull(bend(x.low - np.abs(x.low) * _EULER), bend(x.high + np.abs(x.high) * _EULER))
    if function == "silu":
        return _short_silu(x)
    if function != "gelu":
        return ends
    at, least = _GELU_DIP
    return Range(np.where((x.low <= at) & (x.high >= at), np.minimum(least, ends.low), ends.low), ends.high)


def _short_silu(x: Range) -> Range:
    """Bound x σ((1 ± δ) x) for an e with relative error δ: it grows with δ on both sides of 0, with one minimum."""
    silu = ACTIVATIONS["silu"]
    less, more = 1.0 - _EULER, 1.0 + _EULER
    low = np.minimum(silu(x.low * less), silu(x.high * less)) / less
    high = np.maximum(silu(x.low * more), silu(x.high * more)) / more
    at, least = (number / less for number in _SILU_DIP)
    return Range(np.where((x.low <= at) & (x.high >= at), np.minimum(least, low), low), high)


def rotate(inputs: Inputs) -> Range:
    """Bound a cos θ ∓ b sin θ: the centre, and |a| + |b| times the error of θ."""
    x, angles = inputs["x"], inputs["angles"]
    first, second = rotary_pairs(x.low.shape[-1], inputs["pairing"])
    middle = REFERENCE["rotate"](x.middle, angles.middle, inputs["pairing"])
    cosine, sine = np.abs(np.cos(angles.middle)), np.abs(np.sin(angles.middle))
    turn = np.minimum(angles.radius, 2.0)
    a, b = x.radius[..., first], x.radius[..., second]
    reach = np.hypot(np.abs(x.middle[..., first]) + a, np.abs(x.middle[..., second]) + b) * turn
    spread = np.empty_like(x.middle)
    spread[..., first] = a * cosine + b * sine + reach
    spread[..., second] = a * sine + b * cosine + reach
    return around(middle, spread)


def convolve(inputs: Inputs) -> Range:
    """Add up the bounds of all products."""
    x, taps = inputs["x"], inputs["taps"]
    shape = {"first": inputs["first"], "count": inputs["count"]}
    middle = REFERENCE["convolve"](x.middle, [tap.middle for tap in taps], **shape)
    spread = REFERENCE["convolve"](x.radius, [np.abs(tap.middle) + tap.radius for tap in taps], **shape)
    spread = spread + REFERENCE["convolve"](np.abs(x.middle), [tap.radius for tap in taps], **shape)
    return _with_bias(around(middle, spread), inputs)


def loss(inputs: Inputs) -> Range:
    """Swap the ends, because -ln is decreasing."""
    p = inputs["probabilities"]
    with np.errstate(divide="ignore"):
        low = REFERENCE["loss"](np.maximum(p.high, 0.0), low_of(inputs["targets"]))
        high = REFERENCE["loss"](np.maximum(p.low, 0.0), low_of(inputs["targets"]))
    return Range(low, high)


def gradient(inputs: Inputs) -> Range:
    """Subtract the target from both ends."""
    p, targets = inputs["probabilities"], low_of(inputs["targets"])
    return Range(REFERENCE["gradient"](p.low, targets), REFERENCE["gradient"](p.high, targets))


def complement(inputs: Inputs) -> Range:
    """Swap the ends, because the value decreases as x grows."""
    x = inputs["x"]
    return Range(REFERENCE["complement"](x.high), REFERENCE["complement"](x.low))


def length(inputs: Inputs) -> Range:
    """Return the lengths of the nearest and of the farthest corner."""
    x = inputs["x"]
    most = np.maximum(np.abs(x.low), np.abs(x.high))
    least = np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(np.abs(x.low), np.abs(x.high)))
    return Range(REFERENCE["length"](least), REFERENCE["length"](most))


def cosine(inputs: Inputs) -> Range:
    """Return the ends of the quotient; no length is negative."""
    dots, lengths = inputs["dots"], inputs["lengths"]
    shortest = np.maximum(lengths.low, 0.0)
    low, high = shortest * shortest.T, lengths.high * lengths.high.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return without_nan(hull(dots.low / low, dots.low / high, dots.high / low, dots.high / high))


def kernel(inputs: Inputs) -> Range:
    """Allow for a shortened e and π."""
    value = REFERENCE["kernel"](low_of(inputs["query_times"]), low_of(inputs["key_times"]), inputs["variance"])
    gaps = np.asarray(low_of(inputs["key_times"]))[None, :] - np.asarray(low_of(inputs["query_times"]))[:, None]
    exponent = gaps**2 / (2.0 * inputs["variance"])
    return around(value, value * (np.expm1(exponent * _EULER) + CONSTANT / math.pi))


def choose(inputs: Inputs) -> Range:
    """Return the first and the last position that can be chosen."""
    p, draw = inputs["probabilities"], inputs.get("draw")
    last = p.low.shape[-1] - 1
    if draw is None:
        may_be = p.high >= np.max(p.low, axis=-1, keepdims=True)
        return Range(
            np.argmax(may_be, axis=-1)[..., None] + 0.0, last - np.argmax(may_be[..., ::-1], axis=-1)[..., None] + 0.0
        )
    # position j is passed if the running sum up to it is at most `draw` times the total, which includes later cells
    least = (1.0 - draw) * np.cumsum(p.low, axis=-1) - draw * _after(p.high)
    most = (1.0 - draw) * np.cumsum(p.high, axis=-1) - draw * _after(p.low)
    fewest, most_passed = (
        np.minimum(np.sum(gap <= tie, axis=-1), last)[..., None] for gap, tie in ((most, -_TIE), (least, _TIE))
    )
    return Range(fewest + 0.0, most_passed + 0.0)


def _after(values: Array) -> Array:
    """Return the sum of the cells after each cell of a row."""
    return np.asarray(np.sum(values, axis=-1, keepdims=True) - np.cumsum(values, axis=-1))


def idf(inputs: Inputs) -> Range:
    """Swap the ends, because the value decreases as more documents contain the word."""
    counts, rule = inputs["counts"], inputs["rule"]
    with np.errstate(divide="ignore"):
        return Range(REFERENCE["idf"](counts.high, rule), REFERENCE["idf"](counts.low, rule))


def both_ends(step: str) -> Image:
    """Return the image of a step that only moves or adds cells: the step applied to each end."""

    def image(inputs: Inputs) -> Range:
        low, high = (
            np.asarray(REFERENCE[step](**{key: _end(value, end) for key, value in inputs.items()}))
            for end in ("low", "high")
        )
        return Range(low, high)

    return image


def _end(value: Any, end: str) -> Any:
    if isinstance(value, Range):
        return getattr(value, end)
    if isinstance(value, tuple):
        return tuple(_end(element, end) for element in value)
    return value


IMAGES: Mapping[str, Image] = {
    "project": project,
    "transform": transform,
    "score": score,
    "mix": mix,
    "add": add,
    "multiply": multiply,
    "complement": complement,
    "scale": scale,
    "mask": mask,
    "shift": shift,
    "exponentiate": exponentiate,
    "softmax": softmax,
    "divide": divide,
    "activate": activate,
    "mean": mean,
    "variance": variance,
    "deviation": deviation,
    "normalise": normalise,
    "root_mean_square": root_mean_square,
    "rms_normalise": rms_normalise,
    "rotate": rotate,
    "convolve": convolve,
    "loss": loss,
    "gradient": gradient,
    "length": length,
    "cosine": cosine,
    "kernel": kernel,
    "choose": choose,
    "idf": idf,
    **{
        step: both_ends(step)
        for step in (
            *("embed", "split", "append", "join", "pick", "copy", "total", "row_sum"),
            *("position", "angle", "one_hot"),
        )
    },
}
