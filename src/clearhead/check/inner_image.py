"""Widen the image of a step for the inner numbers that a person shortens and does not write.

Exponentials are kept to two decimals; their sum, σ and a root mean square too, or to two figures if they are small;
rounded or cut. These are bounds for inputs that are rounded; for exact inputs, `habits` lists all results.
"""

from collections.abc import Callable, Mapping

import numpy as np

from clearhead.check.interval import Inputs, Range, hull, without_nan
from clearhead.worksheet.arrays import Array

INNER_UNIT = 0.01  # the largest error of a number that was cut at two decimals
_SHARE = 0.1  # the largest relative error of a number that was cut at two figures


def _error(values: Array, unit: float) -> Array:
    """Return the largest error of numbers that are not negative."""
    return np.minimum(unit, _SHARE * values)


def _softmax(image: Range, inputs: Inputs, unit: float) -> Range:
    if inputs.get("exponentials") is not None:  # they are lines of the sheet
        return image
    scores: Range = inputs["scores"]
    factor = 1.0 if inputs.get("base") is None else np.log(inputs["base"])
    low, high = (
        (scores.low * factor, scores.high * factor) if factor > 0 else (scores.high * factor, scores.low * factor)
    )
    middle = np.where(np.isneginf(scores.middle), -np.inf, scores.middle * factor)
    top = np.max(middle, axis=-1, keepdims=True)
    bounds = [image.low, image.high]
    for shift in (np.where(np.isfinite(top), top, 0.0), np.zeros(top.shape)):
        bounds += _from_short_powers(np.exp(low - shift), np.exp(high - shift), unit)
    return hull(*bounds)


def _from_short_powers(least: Array, most: Array, unit: float) -> list[Array]:
    """Return the bounds of weights, given the bounds of their exponentials."""
    least, most = np.nan_to_num(least, nan=0.0, posinf=np.inf), np.nan_to_num(most, nan=0.0, posinf=np.inf)
    if not np.all(np.isfinite(most)):
        return []
    is_plain = np.sum(least, axis=-1, keepdims=True) > 5.0 * unit  # nobody divides by a sum of one figure
    least, most = (
        values + way * np.where(is_plain, np.minimum(unit, values), _error(values, unit))
        for values, way in ((least, -1.0), (most, 1.0))
    )
    bounds = []
    for own, others, way in ((least, most, 1.0), (most, least, -1.0)):
        total = own + np.maximum(np.sum(others, axis=-1, keepdims=True) - others, 0.0)
        total = total + way * _error(total, unit)
        bounds.append(own / np.where(total > 0.0, total, 1.0))
    return bounds


def _divide(image: Range, inputs: Inputs, unit: float) -> Range:
    total = np.abs(np.sum(inputs["scores"].middle, axis=-1, keepdims=True))
    return _by_share(image, np.minimum(unit / np.where(total > 0.0, total, 1.0), _SHARE))


def _by_share(image: Range, share: Array) -> Range:
    """Widen a range by a share of its numbers."""
    return image.widened(np.maximum(np.abs(image.low), np.abs(image.high)) * share)


def _activate(image: Range, inputs: Inputs, unit: float) -> Range:
    x, function = inputs["x"], inputs["function"]
    if function not in ("tanh", "sigmoid", "silu"):
        return image
    effects = []
    for place in (x.low, x.high, np.clip(0.0, x.low, x.high)):
        up, down = np.exp(np.clip(place, -300.0, 300.0)), np.exp(np.clip(-place, -300.0, 300.0))
        if function == "tanh":
            effects.append(2.0 * (down * unit + up * unit) / (up + down) ** 2)
            effects.append(2.0 * unit / (1.0 + up**2) ** 2)
        else:
            size = np.abs(place) if function == "silu" else 1.0
            effects += [unit / (1.0 + power) ** 2 * size for power in (up, down)]
    return image.widened(1.1 * np.maximum.reduce(effects))  # the greatest effect can lie between these places


def _normalise(image: Range, inputs: Inputs, unit: float) -> Range:
    variance = inputs.get("variance")
    if variance is None or inputs.get("deviation") is not None:
        return image
    least = np.sqrt(np.maximum(variance.low, 0.0) + (inputs.get("epsilon") or 0.0))
    least = least + (inputs.get("epsilon_outside") or 0.0)
    return _by_deviation(image, least, inputs, unit)


def _rms_normalise(image: Range, inputs: Inputs, unit: float) -> Range:
    x: Range = inputs["x"]
    least = np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(np.abs(x.low), np.abs(x.high)))
    root = np.sqrt(np.mean(least**2, axis=-1, keepdims=True) + (inputs.get("epsilon") or 0.0))
    return _by_deviation(image, root, inputs, unit)


def _by_deviation(image: Range, least: Array, inputs: Inputs, unit: float) -> Range:
    """Widen a norm for a shortened deviation and, where it is scaled or shifted, for a shortened result before that."""
    share = np.where(least > 0.0, np.minimum(unit / np.where(least > 0.0, least, 1.0), _SHARE), _SHARE)
    gain, shift = inputs.get("gain"), inputs.get("shift")
    before = Range(image.low - shift.high, image.high - shift.low) if shift is not None else image
    wide = np.maximum(np.abs(before.low), np.abs(before.high)) * share / (1.0 - _SHARE)
    if gain is not None or shift is not None:
        wide = wide + unit * (1.0 if gain is None else np.maximum(np.abs(gain.low), np.abs(gain.high)))
    return image.widened(wide)


_INNER: Mapping[str, Callable[[Range, Inputs, float], Range]] = {
    "softmax": _softmax,
    "divide": _divide,
    "activate": _activate,
    "normalise": _normalise,
    "rms_normalise": _rms_normalise,
}


def with_inner_numbers(step: str, image: Range, inputs: Inputs, unit: float = INNER_UNIT) -> Range:
    """Return the image of a step if its inner numbers may have been shortened to a unit."""
    widen = _INNER.get(step)
    if widen is None:
        return image
    with np.errstate(all="ignore"):
        return without_nan(widen(image, inputs, unit))
