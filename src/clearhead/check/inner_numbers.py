"""The steps of a sheet for many people at once, each of whom keeps the inner numbers of a line in another way.

Inner numbers are worked with and not written: the exponentials of a softmax and their sum, σ, √d, e. The first axis of
every array with three axes is that of the people.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearhead.check.habits import EULERS, Care, decimal_exponents, habits, kept, powers_of_ten, roots
from clearhead.worksheet.arrays import Array, Mask
from clearhead.worksheet.reference import ACTIVATIONS, REFERENCE

Inputs = Mapping[str, Any]
_COARSE = 0.4  # of the people who shorten inner numbers keep two digits less than the line has
_PLAIN = 0.4  # of those who round keep two decimals also of small numbers: 0.04, not 0.037
_EULERS = np.array([2.72, 2.71, 2.72, 2.71, 2.718, *EULERS])  # mostly two decimals
_LARGEST_POWER = 30.0  # nobody works with e^40: the largest score is subtracted first
_LEAST_TANH = 0.5  # below it, the difference of shortened exponentials has hardly a figure left
_MAX_LOOPS = 60  # people for whom a step is calculated that cannot be calculated for all of them at once
_BY_HABITS = frozenset({"divide", "exponentiate", "kernel", "cosine"})
BATCHED = frozenset(
    {
        *("project", "score", "mix", "mask", "softmax", "activate", "add", "multiply", "mean", "scale", "rotate"),
        *("variance", "normalise", "rms_normalise", "split", "pick", "join", "append", "length", "copy", "choose"),
        *("shift", "row_sum", "deviation", "root_mean_square", "gradient", "complement"),
    }
)


@dataclass(frozen=True, eq=False)
class InnerNumbers:
    """How each person keeps the inner numbers of one line; arrays with the axis of people and two axes of length 1."""

    is_kept: Mask  # whether they are shortened
    decimals: Array
    figures: Array  # at least these significant figures
    is_cut: Mask
    is_shifted: Mask  # whether the largest score is subtracted before the exponentials
    is_only_sum: Mask  # whether only the sum of the exponentials is shortened
    has_two_powers: Mask  # e^x and e^-x in tanh, instead of e^2x; e^x in the sigmoid, instead of e^-x
    euler: Array
    root: Array  # a random number that chooses among the values of √d
    unit: float  # of the line

    @staticmethod
    def drawn(draw: np.random.Generator, digits: tuple[int, int], chance: Array, has_constants: Mask) -> "InnerNumbers":
        """Draw how people work in a line with these decimals and significant figures (0: decimals are counted)."""
        number, shape = len(chance), (len(chance), 1, 1)
        decimals, figures = digits
        less = np.where(draw.random(number) < _COARSE, 2, 1)
        least = np.maximum(2, decimals - less)
        two_figures = np.maximum(2, figures - less) + draw.integers(2, size=number)
        is_cut = draw.random(number) < 0.45
        is_plain = (draw.random(number) < _PLAIN) & ~is_cut
        euler = np.where(has_constants, draw.choice(_EULERS, size=number), math.e)
        return InnerNumbers(
            is_kept=(draw.random(number) < chance).reshape(shape),
            decimals=(least + draw.choice([0, 0, 0, 1, 2], size=number)).reshape(shape),
            figures=np.where(is_plain, 0, two_figures).reshape(shape),
            is_cut=is_cut.reshape(shape),
            is_shifted=(draw.random(number) < 0.5).reshape(shape),
            is_only_sum=(draw.random(number) < 0.3).reshape(shape),
            has_two_powers=(draw.random(number) < 0.5).reshape(shape),
            euler=euler.reshape(shape),
            root=np.where(draw.random(number) < chance, draw.random(number), 0.0).reshape(shape),
            unit=10.0**-decimals,
        )

    def keep(self, values: Array, *, least: int = 0) -> Array:
        """Return numbers as people keep them; those who shorten nothing keep them in full."""
        figures = np.maximum(self.figures, least)
        smallest = powers_of_ten(decimal_exponents(values) + 1 - figures)
        by_decimals = 10.0**-self.decimals
        unit = np.where(figures == 0, by_decimals, np.minimum(by_decimals, smallest))
        return np.where(self.is_kept, kept(values, unit, is_cut=self.is_cut), values)


def work(step: str, inputs: Inputs, inner: InnerNumbers) -> Array:
    """Return the result of a step with inner numbers for all people."""
    with np.errstate(all="ignore"):
        if step in _RULES:
            return np.asarray(_RULES[step](inputs, inner))
        return _chosen(habits(step, inputs, Care(inner.unit)), inner)


def work_plainly(step: str, inputs: Inputs, number: int) -> Array:
    """Return the result of another step for all people; without their axis where nothing distinguishes them."""
    with np.errstate(all="ignore"):
        if not _has_people(inputs):
            return np.asarray(REFERENCE[step](**inputs))
        if step == "loss":
            return _loss(inputs)
        if step in BATCHED or (step == "transform" and np.ndim(inputs["w"]) == 2):
            return np.asarray(REFERENCE[step](**_spread(step, inputs, number)))
        results = np.stack([REFERENCE[step](**_of_person(inputs, person)) for person in range(_MAX_LOOPS)])
        return np.resize(results, (number, *results.shape[1:]))


def _has_people(inputs: Inputs) -> bool:
    parts = [part for value in inputs.values() for part in (value if isinstance(value, tuple) else (value,))]
    return any(np.ndim(part) > 2 for part in parts if isinstance(part, np.ndarray))


def _of_person(inputs: Inputs, person: int) -> dict[str, Any]:
    def one(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(one(part) for part in value)
        return value[person] if isinstance(value, np.ndarray) and value.ndim > 2 else value

    return {name: one(value) for name, value in inputs.items()}


def _spread(step: str, inputs: Inputs, number: int) -> dict[str, Any]:
    """Return inputs that all have the axis of people, for steps that put them side by side."""

    def one(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(one(part) for part in value)
        is_single = isinstance(value, np.ndarray) and value.ndim == 2
        return np.broadcast_to(value, (number, *value.shape)) if is_single else value

    return {name: one(value) if step in ("join", "append", "rotate") else value for name, value in inputs.items()}


def _chosen(results: list[Array], inner: InnerNumbers) -> Array:
    """Return for each person the result of one habit; those who shorten nothing have the first."""
    if len(results) == 1:
        return results[0]
    shape = (len(inner.is_cut), *results[0].shape[-2:])
    chosen = np.where(inner.is_kept, (inner.root * 7919.0 % 1.0 * len(results)).astype(np.int64), 0)
    value = np.broadcast_to(results[0], shape)
    for place, result in enumerate(results):
        value = np.where(chosen == place, result, value)
    return value


def _softmax(inputs: Inputs, inner: InnerNumbers) -> Array:
    if inputs.get("exponentials") is not None:  # they are lines of the sheet
        return REFERENCE["softmax"](**inputs)
    scores, base = np.asarray(inputs["scores"]), inputs.get("base")
    factor = np.log(inner.euler if base is None else base)
    exponents = np.where(np.isneginf(scores), scores, scores * factor)
    top = np.max(exponents, axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    is_shifted = inner.is_shifted | np.any(np.abs(top) > _LARGEST_POWER, axis=(-1, -2), keepdims=True)
    powers = np.exp(exponents - np.where(is_shifted, top, 0.0))
    short = np.where(inner.is_only_sum, powers, inner.keep(powers))
    total = np.sum(short, axis=-1, keepdims=True)
    total = np.where(inner.is_only_sum, inner.keep(total, least=3), total)
    is_lost = np.any(total < 10.0 ** (1.0 - inner.decimals), axis=-2, keepdims=True) & (inner.figures == 0)
    short = np.where(is_lost, powers, short)  # nobody divides by 0.00
    total = np.where(is_lost, np.sum(powers, axis=-1, keepdims=True), total)
    return short / np.where(total == 0.0, 1.0, total)


def _scale(inputs: Inputs, inner: InnerNumbers) -> Array:
    if inputs.get("divisor") is not None or inputs.get("root_of") is None:
        return REFERENCE["scale"](**inputs)
    values = np.array(roots(inputs["root_of"], inner.unit))
    return np.asarray(inputs["scores"] / values[(inner.root * len(values)).astype(np.int64)])


def _normalise(inputs: Inputs, inner: InnerNumbers) -> Array:
    if inputs.get("mean") is None or inputs.get("variance") is None or inputs.get("deviation") is not None:
        return REFERENCE["normalise"](**inputs)
    sigma = inner.keep(np.sqrt(np.maximum(inputs["variance"], 0.0) + (inputs.get("epsilon") or 0.0)), least=2)
    normal = (inputs["x"] - inputs["mean"]) / (sigma + (inputs.get("epsilon_outside") or 0.0))
    return _scaled_and_shifted(normal, inputs, inner)


def _scaled_and_shifted(normal: Array, inputs: Inputs, inner: InnerNumbers) -> Array:
    """Return γ y + β, for some people from a shortened y."""
    gain, shift = inputs.get("gain"), inputs.get("shift")
    if gain is not None or shift is not None:
        normal = np.where(inner.is_only_sum, inner.keep(normal), normal)
    scaled = normal if gain is None else gain * normal
    return np.asarray(scaled if shift is None else scaled + shift)


def _rms_normalise(inputs: Inputs, inner: InnerNumbers) -> Array:
    if inputs.get("rms") is not None:
        return REFERENCE["rms_normalise"](**inputs)
    x = np.asarray(inputs["x"])
    root = inner.keep(REFERENCE["root_mean_square"](x, inputs.get("epsilon") or 0.0), least=2)
    return _scaled_and_shifted(x / root, inputs, inner)


def _activate(inputs: Inputs, inner: InnerNumbers) -> Array:
    x, function = np.asarray(inputs["x"]), inputs["function"]
    if function == "softmax":
        return _softmax({"scores": x}, inner)
    if function not in ("tanh", "sigmoid", "silu"):
        return np.asarray(ACTIVATIONS[function](x))
    exponents = np.clip(x * np.log(inner.euler), -150.0, 150.0)
    is_small = np.any((np.abs(x) < _LEAST_TANH) & (np.abs(x) > 1e-9), axis=(-1, -2), keepdims=True)
    if function == "tanh" and is_small.all():
        return np.asarray(np.tanh(exponents))
    up, down = inner.keep(np.exp(exponents)), inner.keep(np.exp(-exponents))
    if function == "tanh":
        square = inner.keep(np.exp(2.0 * exponents))
        bent = np.where(inner.has_two_powers, (up - down) / (up + down), (square - 1.0) / (square + 1.0))
        return np.asarray(np.where(is_small, np.tanh(exponents), bent))
    bent = np.where(inner.has_two_powers, up / (1.0 + up), 1.0 / (1.0 + down))
    return np.asarray(bent * x if function == "silu" else bent)


def _loss(inputs: Inputs) -> Array:
    chosen = np.asarray(inputs["targets"])[:, None]
    rows = np.arange(len(chosen))[:, None]
    return np.asarray(-np.log(np.asarray(inputs["probabilities"])[..., rows, chosen]))


_RULES: Mapping[str, Callable[[Inputs, InnerNumbers], Array]] = {
    "softmax": _softmax,
    "scale": _scale,
    "normalise": _normalise,
    "rms_normalise": _rms_normalise,
    "activate": _activate,
}
WITH_INNER_NUMBERS = _BY_HABITS | _RULES.keys()
