"""The numbers that a person works with and does not write, kept as different people keep them.

These are the exponentials of a softmax and their sum, the root of a variance, √d, e and π: in full, or to two or more
decimals, rounded or cut. Divisors keep two significant figures at least; exponentials may be rounded to the same
decimals whatever their size. Each function yields the result of a step for every such habit, the full result first.
Arrays can have a leading axis of states, unless the search is thorough.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from clearhead.worksheet.arrays import Array, Ids, Mask
from clearhead.worksheet.reference import ACTIVATIONS, REFERENCE

Inputs = Mapping[str, Any]
_TIE = 1e-9  # of a unit: 0.125 is a tie, whatever its last bits are
_LARGEST_EXPONENT = 300
_POWERS_OF_TEN = 10.0 ** np.arange(-_LARGEST_EXPONENT, _LARGEST_EXPONENT + 1)
_NUM_MIXED = 64  # ways of keeping the exponentials of a row, each with its own digits


def kept(values: Array, unit: Array | float, *, is_cut: bool | Mask) -> Array:
    """Round numbers to a unit, halves away from 0, or cut them."""
    with np.errstate(invalid="ignore", divide="ignore"):
        steps = np.abs(values) / unit
        counts = np.floor(steps + np.where(is_cut, _TIE, 0.5 + _TIE))
        return np.asarray(np.where(np.isfinite(values), np.copysign(counts * unit, values), values))


def decimal_exponents(values: Array) -> Ids:
    """Return the decimal exponents of numbers, -2 for 0.05; 0 for 0 and for infinite numbers."""
    size = np.abs(values)
    size = np.where((size > 0.0) & (size < np.inf), size, 1.0)
    return np.clip(np.floor(np.log10(size)), -_LARGEST_EXPONENT + 10, _LARGEST_EXPONENT - 10).astype(np.int64)


def powers_of_ten(exponents: Ids) -> Array:
    """Return 10^k for integers k, which are looked up: that is much faster than a power."""
    return np.asarray(_POWERS_OF_TEN[exponents + _LARGEST_EXPONENT])


def two_figures(values: Array) -> Array:
    """Return the unit of the second significant figure of numbers."""
    return powers_of_ten(decimal_exponents(values) - 1)


@dataclass(frozen=True)
class Shortening:
    """How numbers are shortened: to some decimals, but to no fewer than some figures (0: any); rounded or cut."""

    decimals: int
    figures: int
    is_cut: bool

    def of(self, values: Array, exponents: Ids | None = None) -> Array:
        """Return the shortened numbers; their decimal exponents may be known."""
        if not self.figures:
            return kept(values, 10.0**-self.decimals, is_cut=self.is_cut)
        exponents = decimal_exponents(values) if exponents is None else exponents
        smallest = powers_of_ten(exponents + 1 - self.figures)
        return kept(values, np.minimum(10.0**-self.decimals, smallest), is_cut=self.is_cut)


@dataclass(frozen=True)
class Care:
    """How finely habits are searched, and the coarsest unit of the line itself."""

    unit: float
    is_thorough: bool = False

    @property
    def digits(self) -> list[Shortening]:
        """The ways of shortening a number: to two decimals or more, and at most two fewer than the line has."""
        least = max(2, round(-math.log10(self.unit)) - 2) if self.unit > 0.0 else 2
        decimals = range(least, least + (5 if self.is_thorough else 2))
        figures = (2, 3, 4) if self.is_thorough else (2,)
        return [Shortening(*choice) for choice in product(decimals, figures, (False, True))]

    @property
    def digits_of_powers(self) -> list[Shortening]:
        """The same for exponentials: small ones may be rounded to the decimals of the others, 0.04 and not 0.037."""
        plain = Care(self.unit).digits
        return [*self.digits, *(replace(digits, figures=0) for digits in plain if not digits.is_cut)]

    def shortened(self, values: Array) -> Iterator[Array]:
        """Yield numbers in every way of shortening them."""
        exponents = decimal_exponents(values)
        for digits in self.digits:
            yield digits.of(values, exponents)


def _constants(number: float) -> list[float]:
    """Return a constant in full and shortened, each value once."""
    short = [float(Shortening(decimals, 2, is_cut).of(np.asarray(number)))
             for decimals in (2, 3, 4, 5) for is_cut in (False, True)]  # fmt: skip
    return list(dict.fromkeys([number, *(round(value, 12) for value in short)]))


EULERS, PIS = _constants(math.e), _constants(math.pi)


def _softmax(inputs: Inputs, care: Care) -> Iterator[Array]:
    scores, base = np.asarray(inputs["scores"]), inputs.get("base")
    yield REFERENCE["softmax"](**inputs)
    if inputs.get("exponentials") is not None:  # they are lines of the sheet
        return
    if base is None:
        for euler in EULERS[1:]:
            yield REFERENCE["softmax"](scores=scores, base=euler)
    yield from _from_powers(scores, base or math.e, care)
    if base is None and care.is_thorough:
        for euler in EULERS[1:]:
            yield from _from_powers(scores, euler, Care(care.unit))


def _from_powers(scores: Array, base: float, care: Care) -> Iterator[Array]:
    """Yield weights from exponentials, or a sum of them, that were shortened."""
    exponents = np.where(np.isneginf(scores), scores, scores * math.log(base))
    largest = np.max(exponents, axis=-1, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    for shift in (largest, 0.0 * largest):
        with np.errstate(over="ignore"):
            powers = np.exp(exponents - shift)
        sizes, full_total = decimal_exponents(powers), np.sum(powers, axis=-1, keepdims=True)
        for digits in care.digits_of_powers:
            short = digits.of(powers, sizes)
            total = np.sum(short, axis=-1, keepdims=True)
            if not digits.figures:  # nobody divides by a sum of one figure
                is_lost = total < 10.0 ** (1 - digits.decimals) * (1.0 - _TIE)
                yield _quotient(np.where(is_lost, powers, short), np.where(is_lost, full_total, total))
                continue
            yield _quotient(short, total)
            yield _quotient(short, digits.of(total))
            yield _quotient(powers, digits.of(full_total))
        if care.is_thorough:
            yield from _mixed(powers, care)


def _mixed(powers: Array, care: Care) -> Iterator[Array]:
    """Yield weights from exponentials that are kept with different digits in one row."""
    choices = np.stack([powers, *care.shortened(powers)])
    for places in np.random.default_rng(0).integers(len(choices), size=(_NUM_MIXED, *powers.shape)):
        short = np.take_along_axis(choices, places[None], axis=0)[0]
        yield _quotient(short, np.sum(short, axis=-1, keepdims=True))


def _quotient(values: Array, totals: Array) -> Array:
    return np.asarray(values / np.where((totals == 0.0) | ~np.isfinite(totals), 1.0, totals))


def _exponentiate(inputs: Inputs, care: Care) -> Iterator[Array]:
    yield REFERENCE["exponentiate"](**inputs)
    if inputs.get("base") is None:
        for euler in EULERS[1:]:
            yield REFERENCE["exponentiate"](scores=inputs["scores"], base=euler)


def _divide(inputs: Inputs, care: Care) -> Iterator[Array]:
    scores = np.asarray(inputs["scores"])
    yield REFERENCE["divide"](scores=scores)
    for total in care.shortened(np.sum(scores, axis=-1, keepdims=True)):
        yield _quotient(scores, total)


def _scale(inputs: Inputs, care: Care) -> Iterator[Array]:
    scores = np.asarray(inputs["scores"])
    yield REFERENCE["scale"](**inputs)
    if inputs.get("divisor") is None and inputs.get("root_of") is not None:
        for root in roots(inputs["root_of"], care.unit)[1:]:
            yield scores / root


def roots(number: float, unit: float) -> list[float]:
    """Return √d in full, to two or more decimals, and to one decimal if the line itself is as coarse."""
    root = math.sqrt(number)
    values, unit = _constants(root), min(unit, 0.1)
    if unit > 0.01:
        values += [round(float(kept(np.asarray(root), unit, is_cut=is_cut)), 12) for is_cut in (False, True)]
    return [value for value in dict.fromkeys(values) if value > 0.0]


def _normalise(inputs: Inputs, care: Care) -> Iterator[Array]:
    yield REFERENCE["normalise"](**inputs)
    if inputs.get("mean") is None or inputs.get("variance") is None or inputs.get("deviation") is not None:
        return
    epsilon, outside = inputs.get("epsilon") or 0.0, inputs.get("epsilon_outside") or 0.0
    gap = np.asarray(inputs["x"]) - inputs["mean"]
    with np.errstate(invalid="ignore"):
        deviation = np.sqrt(np.maximum(inputs["variance"], 0.0) + epsilon)
    for root in care.shortened(deviation):
        normal = _quotient(gap, root + outside)
        yield from _scaled_and_shifted(iter([normal]), inputs)
        if inputs.get("gain") is not None or inputs.get("shift") is not None:
            yield from _scaled_and_shifted((digits.of(normal) for digits in care.digits[:4]), inputs)
    if inputs.get("gain") is not None or inputs.get("shift") is not None:
        yield from _scaled_and_shifted(care.shortened(_quotient(gap, deviation + outside)), inputs)


def _scaled_and_shifted(normals: Iterator[Array], inputs: Inputs) -> Iterator[Array]:
    gain, shift = inputs.get("gain"), inputs.get("shift")
    for normal in normals:
        scaled = normal if gain is None else gain * normal
        yield np.asarray(scaled if shift is None else scaled + shift)


def _rms_normalise(inputs: Inputs, care: Care) -> Iterator[Array]:
    yield REFERENCE["rms_normalise"](**inputs)
    x = np.asarray(inputs["x"])
    root = np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + (inputs.get("epsilon") or 0.0))
    yield from _scaled_and_shifted((_quotient(x, short) for short in care.shortened(root)), inputs)


def _activate(inputs: Inputs, care: Care) -> Iterator[Array]:
    x, function = np.asarray(inputs["x"]), inputs["function"]
    yield ACTIVATIONS[function](x)
    if function not in ("tanh", "sigmoid", "silu"):
        return
    for euler in EULERS if care.is_thorough else EULERS[:3]:
        exponents = np.clip(x * math.log(euler), -150.0, 150.0)
        yield from (
            bent * x if function == "silu" else bent
            for bent in (_tanh(exponents, care) if function == "tanh" else _sigmoid(exponents, care))
        )


def _tanh(x: Array, care: Care) -> Iterator[Array]:
    yield np.tanh(x)
    for digits in care.digits_of_powers:
        up, down, square = digits.of(np.exp(x)), digits.of(np.exp(-x)), digits.of(np.exp(2.0 * x))
        yield (up - down) / (up + down)
        yield (square - 1.0) / (square + 1.0)


def _sigmoid(x: Array, care: Care) -> Iterator[Array]:
    yield ACTIVATIONS["sigmoid"](x)
    for digits in care.digits_of_powers:
        up, down = digits.of(np.exp(x)), digits.of(np.exp(-x))
        yield 1.0 / (1.0 + down)
        yield up / (1.0 + up)


def _kernel(inputs: Inputs, care: Care) -> Iterator[Array]:
    yield REFERENCE["kernel"](**inputs)
    gaps = np.asarray(inputs["key_times"])[None, :] - np.asarray(inputs["query_times"])[:, None]
    exponents = -(gaps**2) / (2.0 * inputs["variance"])
    for euler in EULERS:
        powers = euler**exponents
        for pi in PIS:
            root = math.sqrt(2.0 * pi * inputs["variance"])
            for short in _constants(root):
                yield powers / short
                if pi == math.pi:
                    yield from (power / short for power in care.shortened(powers))


def _cosine(inputs: Inputs, care: Care) -> Iterator[Array]:
    dots, lengths = np.asarray(inputs["dots"]), np.asarray(inputs["lengths"])
    products = lengths * np.swapaxes(lengths, -1, -2)
    yield dots / products
    for short in care.shortened(products):
        yield _quotient(dots, short)


_HABITS: Mapping[str, Callable[[Inputs, Care], Iterator[Array]]] = {
    "softmax": _softmax,
    "exponentiate": _exponentiate,
    "divide": _divide,
    "scale": _scale,
    "normalise": _normalise,
    "rms_normalise": _rms_normalise,
    "activate": _activate,
    "kernel": _kernel,
    "cosine": _cosine,
}


def habits(step: str, inputs: Inputs, care: Care) -> list[Array]:
    """Return the result of a step for every habit."""
    if step not in _HABITS:
        return [np.asarray(REFERENCE[step](**inputs))]
    results: list[Array] = []
    with np.errstate(all="ignore"):
        for result in _HABITS[step](inputs, care):
            if not any((result == other).all() for other in (*results[:1], *results[-3:])):
                results.append(np.asarray(result))
    return results
