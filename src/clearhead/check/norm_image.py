"""The images of mean, variance and norms, also combined where the lines between them were not written."""

import numpy as np

from clearhead.check.interval import Inputs, Range, add, hull, low_of, multiply, without_nan
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import REFERENCE


def mean(inputs: Inputs) -> Range:
    """Return the means of the ends."""
    others = {name: low_of(value) for name, value in inputs.items() if name != "x"}
    return Range(REFERENCE["mean"](inputs["x"].low, **others), REFERENCE["mean"](inputs["x"].high, **others))


def variance(inputs: Inputs) -> Range:
    """Return the means of the least and of the greatest squares."""
    gaps = Range(inputs["x"].low - inputs["mean"].high, inputs["x"].high - inputs["mean"].low)
    most = np.maximum(np.abs(gaps.low), np.abs(gaps.high))
    least = np.where((gaps.low <= 0) & (gaps.high >= 0), 0.0, np.minimum(np.abs(gaps.low), np.abs(gaps.high)))
    others = {name: low_of(value) for name, value in inputs.items() if name not in ("x", "mean")}
    return Range(REFERENCE["mean"](least**2, **others), REFERENCE["mean"](most**2, **others))


def normalise(inputs: Inputs) -> Range:
    """Bound by the ends of numerator and deviation or, without written mean and variance, by the joint Jacobian."""
    x: Range = inputs["x"]
    if inputs.get("deviation") is not None:
        return _by_deviation(x, inputs)
    if inputs.get("mean") is None or inputs.get("variance") is None:
        epsilon, outside = inputs.get("epsilon") or 0.0, inputs.get("epsilon_outside") or 0.0
        return gained(joint_norm(x, (-1,), None, epsilon, outside), inputs)
    gap = Range(x.low - inputs["mean"].high, x.high - inputs["mean"].low)
    epsilon, outside = inputs.get("epsilon") or 0.0, inputs.get("epsilon_outside") or 0.0
    least = np.sqrt(np.maximum(inputs["variance"].low, 0.0) + epsilon) + outside
    most = np.sqrt(np.maximum(inputs["variance"].high, 0.0) + epsilon) + outside
    with np.errstate(divide="ignore", invalid="ignore"):
        result = hull(gap.low / least, gap.low / most, gap.high / least, gap.high / most)
    return gained(without_nan(result), inputs)


def deviation(inputs: Inputs) -> Range:
    """Return the roots of the ends."""
    return Range(*(_root(end, inputs) for end in (inputs["variance"].low, inputs["variance"].high)))


def _root(variance: Array, inputs: Inputs) -> Array:
    epsilon, outside = inputs.get("epsilon") or 0.0, inputs.get("epsilon_outside") or 0.0
    return np.asarray(np.sqrt(np.maximum(variance, 0.0) + epsilon) + outside)


def _by_deviation(x: Range, inputs: Inputs) -> Range:
    """Bound a norm with a written deviation by the ends of numerator and deviation."""
    gap = Range(x.low - inputs["mean"].high, x.high - inputs["mean"].low)
    least, most = np.maximum(inputs["deviation"].low, 0.0), inputs["deviation"].high
    with np.errstate(divide="ignore", invalid="ignore"):
        result = hull(gap.low / least, gap.low / most, gap.high / least, gap.high / most)
    return gained(without_nan(result), inputs)


def joint_norm(x: Range, axes: tuple[int, ...], counted: Array | None, epsilon: float, outside: float) -> Range:
    """Bound a norm with unwritten mean and variance by its Jacobian.

    y = (x - μ)/σ has ∂yⱼ/∂xₖ = (δⱼₖ - 1/n - s yⱼyₖ/n)/σ, where s = σ/√(v + ε) is 1 unless an ε is outside the
    root; a quadratic term covers the error of this first-order bound.
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
        # half the second derivative in the worst case, where σ has shrunk by a factor of 0.7: 1/0.7² < 2.05
        second = 2.05 * (reach / sigma) ** 2 * (2.0 + (np.abs(y) + 0.6) / 0.7 * (1.0 + steep / 2.0))
        spread = np.where(reach < 0.3 * root, first + second, np.inf)
        spread = np.where(radius.max(axis=axes, keepdims=True) == 0.0, 0.0, spread)
    most = np.sqrt(number.astype(np.float64)) * 1.0000001  # no value is further than √n deviations from the mean
    far = np.where(is_in, most, np.inf)
    return Range(np.maximum(y - spread, -far), np.minimum(y + spread, far))


def root_mean_square(inputs: Inputs) -> Range:
    """Return the root mean squares of the nearest and of the farthest corner."""
    x = inputs["x"]
    most = np.maximum(np.abs(x.low), np.abs(x.high))
    least = np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(np.abs(x.low), np.abs(x.high)))
    epsilon = inputs.get("epsilon") or 0.0
    return Range(*(REFERENCE["root_mean_square"](end, epsilon) for end in (least, most)))


def rms_normalise(inputs: Inputs) -> Range:
    """Bound by the ends of numerator and root mean square; no number is further than √n from 0."""
    x: Range = inputs["x"]
    if inputs.get("rms") is not None:
        rms_low, rms_high = np.maximum(inputs["rms"].low, 0.0), inputs["rms"].high
        with np.errstate(divide="ignore", invalid="ignore"):
            return gained(without_nan(hull(*(a / b for a in (x.low, x.high) for b in (rms_low, rms_high)))), inputs)
    most = np.maximum(np.abs(x.low), np.abs(x.high)) ** 2
    least = np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(np.abs(x.low), np.abs(x.high))) ** 2
    epsilon, number = inputs.get("epsilon") or 0.0, x.low.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        # the number itself is part of its mean, so only the others vary
        rest_low, rest_high = least.sum(axis=-1, keepdims=True) - least, most.sum(axis=-1, keepdims=True) - most
        ends = [
            end / np.sqrt((end**2 + rest) / number + epsilon)
            for end in (x.low, x.high)
            for rest in (rest_low, rest_high)
        ]
    return gained(without_nan(hull(*ends)), inputs)


def joint_variance(x: Range, over: str, counted: Array | None) -> Range:
    """Bound a variance with an unwritten mean: |dv| ≤ 2/n Σ |x - μ| r + Σ r²/n."""
    mean, shape = REFERENCE["mean"], {"over": over, "counted": counted}
    centre, radius = x.middle, x.radius
    gaps = np.abs(centre - mean(centre, **shape))
    spread = 2.0 * mean(gaps * radius, **shape) + mean(radius**2, **shape)
    value = mean(gaps**2, **shape)
    return Range(np.maximum(value - spread, 0.0), value + spread)


def gained(normal: Range, inputs: Inputs) -> Range:
    """Return γ y + β for a normalised range."""
    if inputs.get("gain") is not None:
        normal = multiply({"a": inputs["gain"], "b": normal})
        normal = without_nan(normal)
    if inputs.get("shift") is not None:
        normal = add({"a": normal, "b": inputs["shift"]})
    return normal
