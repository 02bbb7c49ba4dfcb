"""How people round: written numbers, numbers that they work on with, and quantities that they never write.

Unwritten quantities inside one line (the exponentials of a softmax, their sum, σ, √d, the exponentials of tanh and
sigmoid) are kept in full, or to k decimals, rounded or cut. k is at least 2 and mostly at least one less than the
decimals of the line, at times two less, so σ may have two decimals below a norm with three or four. Where k decimals
would leave fewer than two significant figures of a number, people keep two figures: 0.0067, not 0.01. Exponentials are
at times rounded to k decimals whatever their size, 0.04 and 0.08, if the sum of a row keeps two figures. On a line with
f significant figures f - 1 figures are kept, at times f - 2. √d may also be used with the decimals of the line itself.
The lengths of a cosine and the mean and variance of a norm are lines, which need not be written.

No teacher would call these faultless, so they do not occur: a weight above 1 (from a sum that was cut), weights
divided by a sum with two figures (0.18 for 0.187 makes a row that sums to 1.04: the sum has at least three figures),
σ with two decimals below a norm with five (1.00116 for 1), a line that is not written and kept to one significant
figure (5 for 5.1 and 10 for 11.1, of which only the product is written), and tanh of a number below 0.5 from rounded
exponentials, whose difference has hardly a figure left: lines with such a number are computed in full.
"""

import math
import random
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np

from clearhead.steps import Record
from clearhead.worksheet.reference import REFERENCE

Inputs = dict[str, Any]
WAYS = {"half-up": ROUND_HALF_UP, "half-even": ROUND_HALF_EVEN, "cut": ROUND_DOWN}
LARGEST_POWER = 30.0  # nobody works with e^40: the greatest score is subtracted first
LEAST_TANH = 0.5
COARSE = 0.25  # of the lines whose inner quantities are rounded: they have two digits less than the line
PLAIN = 0.25  # of them keep exponentials to the same decimals whatever their size
DIVISORS = frozenset(  # lines that people often keep without writing them
    {"mean", "variance", "length", "exponentiate", "row_sum", "deviation", "root_mean_square"}
)


@dataclass(frozen=True)
class Precision:
    """Decimals or significant figures, and the direction of rounding; never fewer than `least` significant figures."""

    decimals: int | None
    figures: int | None
    way: str = "half-up"
    least: int = 0

    def kept(self, value: float) -> Decimal:
        """Return the digits that are written of a value."""
        # Binary noise would turn a cut 0.3 into 0.29; and a calculator shows nine digits or so, and 1 - 1e-10 as 1.
        number = Decimal(f"{value:.8e}" if self.way == "cut" else f"{value:.12e}")
        if self.figures is None:
            assert self.decimals is not None
            places = self.decimals
            if self.least and number:
                places = max(places, self.least - 1 - number.adjusted())
            return number.quantize(Decimal(1).scaleb(-places), WAYS[self.way], Context(prec=60))
        if number == number.to_integral_value():
            return number.quantize(Decimal(1), context=Context(prec=60))  # nobody writes 120 for an exact 123
        rounded = Context(prec=self.figures, rounding=WAYS[self.way]).plus(number)
        top = rounded.adjusted() - self.figures + 1
        return rounded.quantize(Decimal(1).scaleb(top), context=Context(prec=60))

    def kept_all(self, values: Any) -> Any:
        """Return the rounded numbers of an array; infinities stay."""
        values = np.asarray(values, dtype=np.float64)
        is_number = np.isfinite(values) & (values != 0.0)
        numbers = np.where(is_number, values, 1.0)
        sizes = np.clip(np.floor(np.log10(np.abs(numbers))), -200, 200)
        if self.figures is None:
            places = np.full(values.shape, float(self.decimals or 0))
            if self.least:
                places = np.maximum(places, self.least - 1 - sizes)
        else:
            places = self.figures - 1 - sizes
            is_number &= numbers != np.round(numbers)  # whole numbers are not rounded
        scale = 10.0**places
        scaled = np.abs(numbers) * scale
        whole = np.floor(scaled * (1 + 1e-12) + (1e-7 if self.way == "cut" else 0.5))
        return np.where(is_number, np.copysign(whole / scale, numbers), values)

    def unit(self, value: float) -> float:
        """Return the unit of the last digit written of a value."""
        if self.figures is None:
            assert self.decimals is not None
            return float(10.0**-self.decimals)
        return float(10.0 ** (math.floor(math.log10(abs(value))) - self.figures + 1)) if value else 0.0

    @property
    def finer(self) -> "Precision":
        """The same with one digit more: a guard digit."""
        if self.figures is None:
            return replace(self, decimals=(self.decimals or 0) + 1)
        return replace(self, figures=self.figures + 1)

    def decimals_of(self, values: Any) -> int:
        """Return the decimals of a line; where figures are counted, those of its largest number."""
        if self.figures is None:
            return self.decimals or 0
        sizes = np.abs(values[np.isfinite(values)])
        largest = float(sizes.max()) if sizes.size else 0.0
        return max(0, self.figures - 1 - math.floor(math.log10(largest))) if largest else self.figures


@dataclass(frozen=True)
class Constants:
    """e and π as a student uses them; None for the calculator's."""

    euler: float | None = None
    pi: float | None = None


CALCULATOR = Constants()


@dataclass(frozen=True)
class Inner:
    """How the quantities inside one line are kept; None for in full."""

    precision: Precision | None = None
    root: Precision | None = None  # of √d
    subtracts: bool = True  # the greatest score before the exponentials
    only_sum: bool = False  # only the sum of the exponentials is rounded
    has_two_powers: bool = False  # e^x and e^-x in tanh, instead of e^2x; e^x in the sigmoid, instead of e^-x
    is_plain: bool = False  # exponentials have the same decimals whatever their size

    def keep_powers(self, powers: Any) -> Any:
        """Return exponentials as the student keeps them; a row whose sum would have one figure keeps more."""
        careful = self.keep(powers)
        if self.precision is None or not self.is_plain or self.precision.decimals is None:
            return careful
        plain = replace(self.precision, least=0).kept_all(powers)
        least = 10.0 ** (1 - self.precision.decimals)
        return np.where(np.sum(plain, axis=-1, keepdims=True) >= least - 1e-9, plain, careful)

    def keep(self, values: Any) -> Any:
        """Return quantities as the student keeps them."""
        return values if self.precision is None else self.precision.kept_all(values)


IN_FULL = Inner()


def random_inner(draw: random.Random, chance: float, precision: Precision, value: Any) -> Inner:
    """Draw how the inner quantities of a line are kept; `chance` is the probability that they are rounded."""
    if not chance:
        return IN_FULL
    decimals = precision.decimals_of(value)
    is_coarse = draw.random() < COARSE
    least = max(2, decimals - (2 if is_coarse else 1))
    kept = Precision(
        draw.randint(least, least + 2),
        None,
        draw.choice(["half-up", "half-up", "cut"]),
        least=max(2, (precision.figures or 0) - (2 if is_coarse else 1)),
    )
    root = Precision(draw.choice([2, 2, 3, 4]), None, draw.choice(["half-up", "cut"]))
    if precision.figures is None and draw.random() < 0.3:
        root = Precision(max(1, decimals), None)
    return Inner(
        precision=kept if draw.random() < chance else None,
        root=root if draw.random() < chance else None,
        subtracts=draw.random() < 0.5,
        only_sum=draw.random() < 0.3,
        has_two_powers=draw.random() < 0.5,
        is_plain=draw.random() < PLAIN and kept.way != "cut",
    )


def compute(record: Record, inputs: Inputs, constants: Constants, inner: Inner = IN_FULL) -> Any:
    """Compute one step correctly, with the constants and the inner quantities as the student keeps them."""
    special = _RULES.get(record.step.name)
    with np.errstate(all="ignore"):
        if special is not None:
            return special(inputs, constants, inner)
        return np.asarray(REFERENCE[record.step.name](**inputs), dtype=np.float64)


def _scale(inputs: Inputs, constants: Constants, inner: Inner) -> Any:
    if inner.root is None or inputs.get("root_of") is None:
        return np.asarray(REFERENCE["scale"](**inputs), dtype=np.float64)
    return inputs["scores"] / float(inner.root.kept(math.sqrt(inputs["root_of"])))


def _softmax(inputs: Inputs, constants: Constants, inner: Inner) -> Any:
    scores, base = inputs["scores"], inputs.get("base") or constants.euler
    if inputs.get("exponentials") is not None:  # lines of their own
        return np.asarray(REFERENCE["softmax"](**inputs), dtype=np.float64)
    if inner.precision is None:
        return REFERENCE["softmax"](scores=scores, base=base)
    largest = np.max(scores, axis=-1, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    exponents = np.where(np.isneginf(scores), scores, scores * math.log(base or math.e))
    top = largest * math.log(base or math.e)
    if inner.subtracts or np.any(np.abs(top) > LARGEST_POWER):
        exponents = exponents - top
    powers = np.exp(exponents)
    kept = powers if inner.only_sum else inner.keep_powers(powers)
    total = np.sum(kept, axis=-1, keepdims=True)
    if inner.only_sum:  # with three figures at least: nobody accepts a row that sums to 1.04
        total = replace(inner.precision, least=max(3, inner.precision.least)).kept_all(total)
    weights = kept / np.where(total == 0.0, 1.0, total)
    return weights if np.all(weights <= 1.0 + 1e-9) else REFERENCE["softmax"](scores=scores, base=base)


def _exponentiate(inputs: Inputs, constants: Constants, inner: Inner) -> Any:
    return REFERENCE["exponentiate"](inputs["scores"], inputs.get("base") or constants.euler)


def _normalise(inputs: Inputs, constants: Constants, inner: Inner) -> Any:
    if inner.precision is None or inputs.get("variance") is None or inputs.get("deviation") is not None:
        return np.asarray(REFERENCE["normalise"](**inputs), dtype=np.float64)
    sigma = inner.keep(np.sqrt(inputs["variance"] + inputs.get("epsilon", 0.0)))
    normal = (inputs["x"] - inputs["mean"]) / (sigma + inputs.get("epsilon_outside", 0.0))
    gain, shift = inputs.get("gain"), inputs.get("shift")
    scaled = normal if gain is None else gain * normal
    return scaled if shift is None else scaled + shift


def _rms_normalise(inputs: Inputs, constants: Constants, inner: Inner) -> Any:
    if inputs.get("rms") is not None:
        return np.asarray(REFERENCE["rms_normalise"](**inputs), dtype=np.float64)
    x, gain = inputs["x"], inputs.get("gain")
    normal = x / inner.keep(np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + inputs.get("epsilon", 0.0)))
    return normal if gain is None else gain * normal


def _activate(inputs: Inputs, constants: Constants, inner: Inner) -> Any:
    x, function = inputs["x"], inputs["function"]
    if function == "softmax":
        return _softmax({"scores": x}, constants, inner)
    is_plain = inner.precision is None and constants.euler is None
    if is_plain or function not in ("tanh", "sigmoid", "silu") or np.any(np.abs(x) > LARGEST_POWER / 2):
        return np.asarray(REFERENCE["activate"](**inputs), dtype=np.float64)
    exponents = x * math.log(constants.euler or math.e)
    if function == "tanh":
        has_small = np.any((np.abs(x) < LEAST_TANH) & (np.abs(x) > 1e-9))
        return np.tanh(exponents) if has_small else _tanh(exponents, inner)
    if inner.has_two_powers:
        power = inner.keep(np.exp(exponents))
        bent = power / (1.0 + power)
    else:
        bent = 1.0 / (1.0 + inner.keep(np.exp(-exponents)))
    return bent * x if function == "silu" else bent


def _tanh(exponents: Any, inner: Inner) -> Any:
    if inner.has_two_powers:
        up, down = inner.keep(np.exp(exponents)), inner.keep(np.exp(-exponents))
        return (up - down) / (up + down)
    power = inner.keep(np.exp(2.0 * exponents))
    return (power - 1.0) / (power + 1.0)


def _kernel(inputs: Inputs, constants: Constants, inner: Inner) -> Any:
    gaps = np.asarray(inputs["key_times"])[None, :] - np.asarray(inputs["query_times"])[:, None]
    top = (constants.euler or math.e) ** (-(gaps**2) / (2.0 * inputs["variance"]))
    bottom = math.sqrt(2.0 * (constants.pi or math.pi) * inputs["variance"])
    return inner.keep(top) / float(inner.keep(bottom))


_RULES = {
    "scale": _scale,
    "softmax": _softmax,
    "exponentiate": _exponentiate,
    "normalise": _normalise,
    "rms_normalise": _rms_normalise,
    "activate": _activate,
    "kernel": _kernel,
}
