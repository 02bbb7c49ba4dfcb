"""The image of a step: the least and the greatest value that a cell can have when its inputs are known only to ±.

Bounds are rigorous and without fudge factors; √d, e and π may have been used to two decimals or more. A new Step
gets an entry in `IMAGES`: a function of its inputs, each array a Range, everything else as it is.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import ACTIVATIONS, REFERENCE, rotary_pairs

CONSTANT = 0.01  # what √d, e or π may be off by, rounded or cut at two decimals
_EULER = CONSTANT / math.e  # relative to e: what every exponent may be off by, as a share of itself
_TIE = 1e-12  # of a probability: float64 cannot tell on which side of a draw it lies
_GELU_DIP = (-0.7517915, -0.1699713)  # where it is least, and a number just below that least value
_SILU_DIP = (-1.2784645, -0.2784646)
SHORTENED = frozenset({"scale", "softmax", "activate", "kernel"})  # the steps whose images allow for it


@dataclass(frozen=True, eq=False)
class Range:
    """The numbers between `low` and `high`, cell by cell."""

    low: Array
    high: Array

    @property
    def middle(self) -> Array:
        """The centre of each cell; an infinite one is itself."""
        with np.errstate(invalid="ignore"):
            return np.where(self.low == self.high, self.low, (self.low + self.high) / 2)

    @property
    def radius(self) -> Array:
        """Half the width of each cell; an infinite one has none."""
        with np.errstate(invalid="ignore"):
            return np.where(self.low == self.high, 0.0, (self.high - self.low) / 2)

    def widened(self, by: Array | float) -> "Range":
        """Return the range with `by` added at both ends."""
        return Range(self.low - by, self.high + by)

    def turned(self) -> "Range":
        """Return the transpose."""
        return Range(self.low.T, self.high.T)


def exactly(value: Array) -> Range:
    """Return the range of numbers that are known."""
    return Range(value, value)


def around(value: Array, radius: Array | float) -> Range:
    """Return the numbers within `radius` of a value; infinities stay alone."""
    spread = np.where(np.isfinite(value), radius, 0.0)
    return Range(value - spread, value + spread)


Inputs = Mapping[str, Any]
Image = Callable[[Inputs], Range]


def _product(a: Range, b: Range) -> Range:
    """|dy| ≤ Σ |a| r_b + |b| r_a + r_a r_b"""
    spread = np.abs(a.middle) @ b.radius + a.radius @ np.abs(b.middle) + a.radius @ b.radius
    return around(a.middle @ b.middle, spread)


def _with_bias(y: Range, inputs: Inputs) -> Range:
    b = inputs.get("b")
    return y if b is None else Range(y.low + b.low, y.high + b.high)


def project(inputs: Inputs) -> Range:
    """The bound of a matrix product."""
    return _with_bias(_product(inputs["x"], inputs["w"]), inputs)


def transform(inputs: Inputs) -> Range:
    """The bound of a matrix product, the weights on the left."""
    return _with_bias(_product(inputs["x"], inputs["w"].turned()), inputs)


def score(inputs: Inputs) -> Range:
    """The bound of a matrix product."""
    return _product(inputs["q"], inputs["k"].turned())


def mix(inputs: Inputs) -> Range:
    """The bound of a matrix product."""
    return _product(inputs["weights"], inputs["v"])


def add(inputs: Inputs) -> Range:
    """The ends add up."""
    a, b = inputs["a"], inputs["b"]
    return Range(a.low + b.low, a.high + b.high)


def multiply(inputs: Inputs) -> Range:
    """The least and the greatest of the four products of ends."""
    a, b = inputs["a"], inputs["b"]
    return _ends(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)


def _ends(*candidates: Array) -> Range:
    return Range(np.minimum.reduce(candidates), np.maximum.reduce(candidates))


def scale(inputs: Inputs) -> Range:
    """Divided by √d, which may have been shortened, or by a number."""
    scores: Range = inputs["scores"]
    if inputs.get("divisor") is not None:
        return Range(scores.low / inputs["divisor"], scores.high / inputs["divisor"])
    root = math.sqrt(inputs["root_of"])
    if root == round(root):
        return Range(scores.low / root, scores.high / root)
    less, more = root - CONSTANT, root + CONSTANT
    return _ends(scores.low / less, scores.low / more, scores.high / less, scores.high / more)


def mask(inputs: Inputs) -> Range:
    """The scores where they may be seen."""
    allowed, fill = np.asarray(inputs["allowed"].low, dtype=bool), inputs["fill"]
    return Range(np.where(allowed, inputs["scores"].low, fill), np.where(allowed, inputs["scores"].high, fill))


def softmax(inputs: Inputs) -> Range:
    """A weight is least where its own score is least and all others are greatest.

    e shortened by a share δ multiplies the distance of every score from the row's greatest by 1 ± δ.
    """
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
    """1 / (1 + Σ e^(othersₖ - ownⱼ)), k over the rest of the row"""
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
    """own / (own + the others of the row)"""
    rest = np.sum(others, axis=-1, keepdims=True) - others
    total = own + np.maximum(rest, 0.0)
    return np.asarray(own / np.where(total == 0.0, 1.0, total))


def divide(inputs: Inputs) -> Range:
    """As softmax where nothing is negative; else the bound of a quotient."""
    scores: Range = inputs["scores"]
    if np.all(scores.low >= 0):
        return Range(_share(scores.low, scores.high), _share(scores.high, scores.low))
    total_low, total_high = scores.low.sum(axis=-1, keepdims=True), scores.high.sum(axis=-1, keepdims=True)
    around_zero = (total_low <= 0) & (total_high >= 0)
    safe_low, safe_high = np.where(around_zero, 1.0, total_low), np.where(around_zero, 1.0, total_high)
    ends = _ends(scores.low / safe_low, scores.low / safe_high, scores.high / safe_low, scores.high / safe_high)
    return Range(np.where(around_zero, -np.inf, ends.low), np.where(around_zero, np.inf, ends.high))


def activate(inputs: Inputs) -> Range:
    """The ends; gelu and silu dip once, so their least value counts too. e may have been shortened."""
    x, function = inputs["x"], inputs["function"]
    bend = ACTIVATIONS[function]
    ends = _ends(bend(x.low), bend(x.high))
    if function in ("tanh", "sigmoid"):
        return _ends(bend(x.low - np.abs(x.low) * _EULER), bend(x.high + np.abs(x.high) * _EULER))
    if function == "silu":
        return _short_silu(x)
    if function != "gelu":
        return ends
    at, least = _GELU_DIP
    return Range(np.where((x.low <= at) & (x.high >= at), np.minimum(least, ends.low), ends.low), ends.high)


def _short_silu(x: Range) -> Range:
    """x σ((1 ± δ) x), for an e shortened by a share δ: it grows with δ on both sides of 0, and dips once."""
    silu = ACTIVATIONS["silu"]
    less, more = 1.0 - _EULER, 1.0 + _EULER
    low = np.minimum(silu(x.low * less), silu(x.high * less)) / less
    high = np.maximum(silu(x.low * more), silu(x.high * more)) / more
    at, least = (number / less for number in _SILU_DIP)
    return Range(np.where((x.low <= at) & (x.high >= at), np.minimum(least, low), low), high)


def mean(inputs: Inputs) -> Range:
    """The means of the ends."""
    others = {name: _low(value) for name, value in inputs.items() if name != "x"}
    return Range(REFERENCE["mean"](inputs["x"].low, **others), REFERENCE["mean"](inputs["x"].high, **others))


def variance(inputs: Inputs) -> Range:
    """The mean of the least and of the greatest squares."""
    gaps = Range(inputs["x"].low - inputs["mean"].high, inputs["x"].high - inputs["mean"].low)
    most = np.maximum(np.abs(gaps.low), np.abs(gaps.high))
    least = np.where((gaps.low <= 0) & (gaps.high >= 0), 0.0, np.minimum(np.abs(gaps.low), np.abs(gaps.high)))
    others = {name: _low(value) for name, value in inputs.items() if name not in ("x", "mean")}
    return Range(REFERENCE["mean"](least**2, **others), REFERENCE["mean"](most**2, **others))


def _low(value: Any) -> Any:
    return value.low if isinstance(value, Range) else value


def normalise(inputs: Inputs) -> Range:
    """Numerator and deviation by their ends; without mean and variance by the Jacobian of the whole."""
    x: Range = inputs["x"]
    if inputs.get("mean") is None or inputs.get("variance") is None:
        epsilon, outside = inputs.get("epsilon") or 0.0, inputs.get("epsilon_outside") or 0.0
        return gained(joint_norm(x, (-1,), None, epsilon, outside), inputs)
    gap = Range(x.low - inputs["mean"].high, x.high - inputs["mean"].low)
    epsilon, outside = inputs.get("epsilon") or 0.0, inputs.get("epsilon_outside") or 0.0
    least = np.sqrt(np.maximum(inputs["variance"].low, 0.0) + epsilon) + outside
    most = np.sqrt(np.maximum(inputs["variance"].high, 0.0) + epsilon) + outside
    with np.errstate(divide="ignore", invalid="ignore"):
        result = _ends(gap.low / least, gap.low / most, gap.high / least, gap.high / most)
    return gained(without_nan(result), inputs)


def joint_norm(x: Range, axes: tuple[int, ...], counted: Array | None, epsilon: float, outside: float) -> Range:
    """Bound a norm whose mean and variance were not written, by the Jacobian of the whole.

    y = (x - μ)/σ has ∂yⱼ/∂xₖ = (δⱼₖ - 1/n - s yⱼyₖ/n)/σ, where s = σ/√(v + ε) is 1 unless an ε stands outside the
    root; a quadratic term covers what the first order leaves out.
    """
    centre, radius = x.middle, x.radius
    is_in = np.ones(centre.shape, dtype=bool) if counted is None else np.broadcast_to(
        np.asarray(counted, dtype=bool)[:, None], centre.shape
    )  # fmt: skip
    number = is_in.sum(axis=axes, keepdims=True)
    mu = np.mean(centre, axis=axes, keepdims=True, where=is_in)
    root = np.sqrt(np.mean((centre - mu) ** 2, axis=axes, keepdims=True, where=is_in) + epsilon)
    sigma = root + outside
    reach = np.max(radius, axis=axes, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        y, steep = (centre - mu) / sigma, sigma / root
        square = 1.0 + y * y * steep
        own = radius * np.abs(1.0 - is_in * square / number)
        cross = (radius * is_in).sum(axis=axes, keepdims=True) + np.abs(y) * steep * (radius * np.abs(y) * is_in).sum(
            axis=axes, keepdims=True
        )
        first = (own + np.maximum(cross - radius * is_in * square, 0.0) / number) / sigma
        # half the second derivative, at worst where σ has shrunk to 0.7 of itself: 1/0.7² < 2.05
        second = 2.05 * (reach / sigma) ** 2 * (2.0 + (np.abs(y) + 0.6) / 0.7 * (1.0 + steep / 2.0))
        spread = np.where(reach < 0.3 * root, first + second, np.inf)
        spread = np.where(radius.max(axis=axes, keepdims=True) == 0.0, 0.0, spread)
    most = np.sqrt(number.astype(np.float64)) * 1.0000001  # no member is further than √n deviations from its mean
    far = np.where(is_in, most, np.inf)
    return Range(np.maximum(y - spread, -far), np.minimum(y + spread, far))


def rms_normalise(inputs: Inputs) -> Range:
    """Numerator and root of the mean square by their ends; no number is further than √n from 0."""
    x: Range = inputs["x"]
    most = np.maximum(np.abs(x.low), np.abs(x.high)) ** 2
    least = np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(np.abs(x.low), np.abs(x.high))) ** 2
    epsilon, number = inputs.get("epsilon") or 0.0, x.low.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        # the number itself is in its own mean: the ends of the others only
        rest_low, rest_high = least.sum(axis=-1, keepdims=True) - least, most.sum(axis=-1, keepdims=True) - most
        ends = [
            end / np.sqrt((end**2 + rest) / number + epsilon)
            for end in (x.low, x.high)
            for rest in (rest_low, rest_high)
        ]
    return gained(without_nan(_ends(*ends)), inputs)


def joint_variance(x: Range, over: str, counted: Array | None) -> Range:
    """Bound a variance whose mean was not written: |dv| ≤ 2/n Σ |x - μ| r + Σ r²/n"""
    mean, shape = REFERENCE["mean"], {"over": over, "counted": counted}
    centre, radius = x.middle, x.radius
    gaps = np.abs(centre - mean(centre, **shape))
    spread = 2.0 * mean(gaps * radius, **shape) + mean(radius**2, **shape)
    value = mean(gaps**2, **shape)
    return Range(np.maximum(value - spread, 0.0), value + spread)


def gained(normal: Range, inputs: Inputs) -> Range:
    """Return γ y + β of a normalised range."""
    if inputs.get("gain") is not None:
        normal = multiply({"a": inputs["gain"], "b": normal})
        normal = without_nan(normal)
    if inputs.get("shift") is not None:
        normal = add({"a": normal, "b": inputs["shift"]})
    return normal


def without_nan(result: Range) -> Range:
    """Return the range with no bound where there is none to tell."""
    return Range(
        np.where(np.isnan(result.low), -np.inf, result.low), np.where(np.isnan(result.high), np.inf, result.high)
    )


def rotate(inputs: Inputs) -> Range:
    """a cos θ ∓ b sin θ: the centre, and |a| + |b| for what θ may be off by."""
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
    """The bound of every product, added up."""
    x, taps = inputs["x"], inputs["taps"]
    shape = {"first": inputs["first"], "count": inputs["count"]}
    middle = REFERENCE["convolve"](x.middle, [tap.middle for tap in taps], **shape)
    spread = REFERENCE["convolve"](x.radius, [np.abs(tap.middle) + tap.radius for tap in taps], **shape)
    spread = spread + REFERENCE["convolve"](np.abs(x.middle), [tap.radius for tap in taps], **shape)
    return _with_bias(around(middle, spread), inputs)


def loss(inputs: Inputs) -> Range:
    """-ln falls: the ends change places."""
    p = inputs["probabilities"]
    with np.errstate(divide="ignore"):
        low = REFERENCE["loss"](np.maximum(p.high, 0.0), _low(inputs["targets"]))
        high = REFERENCE["loss"](np.maximum(p.low, 0.0), _low(inputs["targets"]))
    return Range(low, high)


def gradient(inputs: Inputs) -> Range:
    """The ends, less the target."""
    p, targets = inputs["probabilities"], _low(inputs["targets"])
    return Range(REFERENCE["gradient"](p.low, targets), REFERENCE["gradient"](p.high, targets))


def length(inputs: Inputs) -> Range:
    """The lengths of the nearest and of the farthest corner."""
    x = inputs["x"]
    most = np.maximum(np.abs(x.low), np.abs(x.high))
    least = np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(np.abs(x.low), np.abs(x.high)))
    return Range(REFERENCE["length"](least), REFERENCE["length"](most))


def cosine(inputs: Inputs) -> Range:
    """The ends of the quotient; no length is negative."""
    dots, lengths = inputs["dots"], inputs["lengths"]
    shortest = np.maximum(lengths.low, 0.0)
    low, high = shortest * shortest.T, lengths.high * lengths.high.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return without_nan(_ends(dots.low / low, dots.low / high, dots.high / low, dots.high / high))


def kernel(inputs: Inputs) -> Range:
    """e and π may have been shortened."""
    value = REFERENCE["kernel"](_low(inputs["query_times"]), _low(inputs["key_times"]), inputs["variance"])
    gaps = np.asarray(_low(inputs["key_times"]))[None, :] - np.asarray(_low(inputs["query_times"]))[:, None]
    exponent = gaps**2 / (2.0 * inputs["variance"])
    return around(value, value * (np.expm1(exponent * _EULER) + CONSTANT / math.pi))


def choose(inputs: Inputs) -> Range:
    """The first and the last place that can be chosen."""
    p, draw = inputs["probabilities"], inputs.get("draw")
    last = p.low.shape[-1] - 1
    if draw is None:
        may_be = p.high >= np.max(p.low, axis=-1, keepdims=True)
        return Range(
            np.argmax(may_be, axis=-1)[..., None] + 0.0, last - np.argmax(may_be[..., ::-1], axis=-1)[..., None] + 0.0
        )
    # place j is passed if the running sum up to it is at most `draw` of the whole: what comes later counts against it
    least = (1.0 - draw) * np.cumsum(p.low, axis=-1) - draw * _after(p.high)
    most = (1.0 - draw) * np.cumsum(p.high, axis=-1) - draw * _after(p.low)
    fewest, most_passed = (
        np.minimum(np.sum(gap <= tie, axis=-1), last)[..., None] for gap, tie in ((most, -_TIE), (least, _TIE))
    )
    return Range(fewest + 0.0, most_passed + 0.0)


def _after(values: Array) -> Array:
    """Σ of what stands behind each cell of a row"""
    return np.asarray(np.sum(values, axis=-1, keepdims=True) - np.cumsum(values, axis=-1))


def idf(inputs: Inputs) -> Range:
    """The more documents hold a word, the less it tells: the ends change places."""
    counts, rule = inputs["counts"], inputs["rule"]
    with np.errstate(divide="ignore"):
        return Range(REFERENCE["idf"](counts.high, rule), REFERENCE["idf"](counts.low, rule))


def both_ends(step: str) -> Image:
    """Return the image of a step that only moves cells or adds them up: the step done with each end."""

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
    "scale": scale,
    "mask": mask,
    "softmax": softmax,
    "divide": divide,
    "activate": activate,
    "mean": mean,
    "variance": variance,
    "normalise": normalise,
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
            *("embed", "split", "append", "join", "pick", "total"),
            *("position", "angle", "one_hot"),
        )
    },
}
