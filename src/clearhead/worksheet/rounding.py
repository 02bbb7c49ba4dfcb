"""Round as people do by hand, half up or half even, to decimals or significant figures, and choose the digits to show.

Binary numbers cannot represent most decimal halves (2.675 is stored as 2.67499…), so a number within a few last bits
of a half counts as that half. If lines are rounded, a number near a half is computed again in exact decimals.
"""

import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import cached_property
from typing import Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from clearhead.errors import ProblemError
from clearhead.worksheet.arrays import Array, Ids, Mask
from clearhead.worksheet.cells import Count

_NOISE = 64 * np.finfo(np.float64).eps  # relative error of a few steps in float64
_NEAR_HALF = 1e-6  # of a unit: closer to a half than this, exact decimals decide
DEFAULT_DECIMALS = 4
BLANK = "____"  # shown instead of a number that the reader fills in
_HUGE = 1e9  # larger numbers are shown as 1.23×10⁹
_GIVEN_DECIMALS = 6  # on an exact sheet a given number with more decimals than this is rounded like the others
_MAX_HALVES = 10_000  # per line: more can only be a table of exact halves, which floats round correctly
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Rounding(BaseModel):
    """The number of digits, and whether later steps use the full number or the rounded line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lines: Literal["exact", "rounded"] = Field(
        "exact", description="exact: compute in full precision and round only the numbers that are shown; rounded: "
        "round the result of every step and continue with the rounded numbers, as in a calculation by hand"
    )  # fmt: skip
    decimals: Count | None = Field(None, ge=0, le=15, description="the number of decimals (default 4)")
    significant: Count | None = Field(
        None, ge=1, le=15, description="the number of significant figures, instead of decimals"
    )
    ties: Literal["half-up", "half-even"] = Field(
        "half-up",
        description="half-up: 0.125 becomes 0.13 and -0.125 becomes -0.13; half-even: 0.12 and -0.12, the even digit",
    )

    @model_validator(mode="after")
    def _one_way_of_counting(self) -> Self:
        if self.decimals is not None and self.significant is not None:
            raise ValueError("give decimals or significant, not both")
        return self

    @property
    def shown_decimals(self) -> int:
        """The number of decimals if digits are counted in decimals."""
        return DEFAULT_DECIMALS if self.decimals is None else self.decimals

    def line(self, values: Array, exactly: Callable[[int, int], Decimal | None]) -> Array:
        """Return the line that later steps use: unchanged if lines are exact, else rounded.

        `exactly(row, column)` computes a cell in exact decimals; it is called only for numbers near a half.
        """
        if self.lines == "exact":
            return values
        rounded = self.rounded(values)
        for row, column in np.argwhere(_is_near_half(self._in_units(values)))[:_MAX_HALVES].tolist():
            true = exactly(row, column)
            if true is not None:
                rounded[row, column] = float(self._quantised(true)) + 0.0
        return rounded

    def _in_units(self, values: Array) -> Array:
        if self.significant is None:
            with np.errstate(over="ignore"):
                return np.asarray(values * 10.0**self.shown_decimals)
        safe = np.where(np.isfinite(values) & (np.abs(values) > 1e-280), values, 1.0)
        return np.asarray(safe * 10.0 ** (self.significant - 1 - _exponent(np.abs(safe))))

    def _quantised(self, true: Decimal) -> Decimal:
        mode = ROUND_HALF_UP if self.ties == "half-up" else ROUND_HALF_EVEN
        if self.significant is not None:
            return Context(prec=self.significant, rounding=mode).plus(true)
        return true.quantize(Decimal(1).scaleb(-self.shown_decimals), mode, Context(prec=400))

    def rounded(self, values: Array) -> Array:
        """Round every number, whether or not the lines are exact."""
        if self.significant is not None:
            return round_significant(values, self.significant, self.ties)
        return round_decimals(values, self.shown_decimals, self.ties)

    def describe(self) -> str:
        """Describe the policy in one sentence."""
        if self.significant is not None:
            digits = f"{self.significant} significant figure{'s' * (self.significant != 1)}"
        else:
            digits = f"{self.shown_decimals} decimal{'s' * (self.shown_decimals != 1)}"
        if self.lines == "exact":
            return f"Computed in full precision, shown to at most {digits} ({self.ties})."
        return f"Every step is rounded to {digits} ({self.ties}), and the next step uses the rounded numbers."


def with_changes(
    policy: Rounding,
    *,
    lines: str | None = None,
    decimals: int | None = None,
    significant: int | None = None,
    ties: str | None = None,
) -> Rounding:
    """Return the policy with the arguments that are not None; `decimals` and `significant` replace each other."""
    new = {"lines": lines, "decimals": decimals, "significant": significant, "ties": ties}
    if decimals is not None or significant is not None:
        current = policy.model_dump(include={"lines", "ties"})
    else:
        current = policy.model_dump()
    try:
        return Rounding.model_validate({**current, **{key: value for key, value in new.items() if value is not None}})
    except ValidationError as wrong:
        raise ProblemError([_complaint(error) for error in wrong.errors()]) from None


def _complaint(error: ErrorDetails) -> str:
    if error["type"] == "value_error":
        return f"rounding: {error['ctx']['error']}."
    name, least = str(error["loc"][0]), 1 if error["loc"][0] == "significant" else 0
    return f"{name} = {repr(error['input'])[:50]} is not possible. Give an integer from {least} to 15."


def round_decimals(values: Array, decimals: int, ties: str = "half-up") -> Array:
    """Round to `decimals` places; infinities are unchanged, and -0.0 becomes 0.0."""
    unit = 10.0**decimals
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.asarray(values, dtype=np.float64) * unit
        result = _round_whole(scaled, ties) / unit
    too_long = ~np.isfinite(scaled) | (np.abs(scaled) >= 2.0**52)  # such a float has no fraction to round
    return np.where(too_long, values, result) + 0.0


def round_significant(values: Array, figures: int, ties: str = "half-up") -> Array:
    """Round to `figures` significant figures; zeros and infinities are unchanged."""
    values = np.asarray(values, dtype=np.float64)
    ordinary = np.isfinite(values) & (np.abs(values) > 1e-280) & (np.abs(values) < 1e280)
    safe = np.where(ordinary, values, 1.0)
    places = figures - 1 - _exponent(np.abs(safe))
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    result = np.asarray(_round_whole(safe * up / down, ties) / up * down)
    inexact = np.abs(places) > 22  # 10^22 is the largest power of ten that a float represents exactly
    result[inexact] = [float(f"{number:.{figures - 1}e}") for number in result[inexact]]
    return np.where(ordinary, result, values) + 0.0


def _exponent(sizes: Array) -> Ids:
    """Return e with 10^e ≤ size < 10^(e+1); log10 alone can be slightly off at the powers of ten."""
    guess = np.floor(np.log10(sizes)).astype(np.int64)
    return guess + (sizes >= 10.0 ** (guess + 1)) - (sizes < 10.0**guess)


def _round_whole(scaled: Array, ties: str) -> Array:
    size = np.abs(scaled)
    below = np.floor(size)
    beyond = size - below
    is_tie = np.abs(beyond - 0.5) <= np.clip(_NOISE * size, _NOISE, 1e-3)
    goes_up = np.where(is_tie, (below % 2 == 1) if ties == "half-even" else True, beyond > 0.5)
    return np.asarray(np.sign(scaled) * (below + goes_up))


def _is_near_half(scaled: Array) -> Mask:
    size = np.abs(np.where(np.isfinite(scaled), scaled, 0.0))
    return np.abs(size - np.floor(size) - 0.5) <= np.clip(1e-9 * size, _NEAR_HALF, 0.25)


class Digits:
    """The digits of one matrix as they are shown: the decimals that its cells need, up to the policy's limit.

    A nonzero number that would be shown as 0, and a very large one, are shown in scientific notation.
    A given matrix is shown with its own digits if they are few.
    """

    def __init__(self, values: Array, rounding: Rounding, *, is_given: bool = False) -> None:
        self._values = values
        self._rounding = rounding
        self._is_given = is_given
        self._rounded_rows: dict[tuple[int, ...], Array] = {}
        self._hidden: set[tuple[int, ...]] = set()

    @cached_property
    def _decimals(self) -> int | None:
        """The number of decimals of the matrix, computed when a cell is first shown."""
        finite = self._values[np.isfinite(self._values)]
        most = self._rounding.shown_decimals
        if self._is_given:
            own = _GIVEN_DECIMALS if self._rounding.lines == "exact" else 17  # rounded lines show what they use
            for decimals in range(own + 1):
                if _is_exact_at(finite, decimals):
                    return decimals
        if self._rounding.significant is not None:
            return None
        sample = finite[:256]  # most large matrices need all decimals, and a few cells show this
        return next((few for few in range(most) if _is_exact_at(sample, few) and _is_exact_at(finite, few)), most)

    def of(self, values: Array) -> "Digits":
        """Return the same style for the same numbers in another order."""
        other = Digits.__new__(Digits)
        other._values, other._rounding, other._is_given = values, self._rounding, self._is_given
        other._rounded_rows, other._hidden = {}, set()
        return other

    def hide(self, *index: int) -> None:
        """Show a blank instead of this cell."""
        self._hidden.add(index)

    def is_hidden(self, *index: int) -> bool:
        """Return whether this cell is shown as a blank."""
        return index in self._hidden

    def text(self, *index: int) -> str:
        """Return the cell as it is shown."""
        if index in self._hidden:
            return BLANK
        *row, column = index
        if (key := tuple(row)) not in self._rounded_rows:  # rounding an entire row at once is much faster
            self._rounded_rows[key] = self._round(self._values[key])
        return self._write(float(self._values[index]), float(self._rounded_rows[key][column]))

    def number(self, value: float) -> str:
        """Return any number with the digits of this matrix."""
        return self._write(value, float(self._round(np.asarray(value))))

    def agrees(self, number: float, *index: int) -> bool:
        """Return whether `number`, rounded by the policy, equals the cell that is shown."""
        shown = float(self._rounding.rounded(self._values[index]))
        if shown == 0.0 and self._values[index] != 0.0:  # shown in scientific notation
            return self.number(number) == self.text(*index)
        return float(self._rounding.rounded(np.asarray(number))) == shown

    def _round(self, values: Array) -> Array:
        return values if self._decimals is None else round_decimals(values, self._decimals, self._rounding.ties)

    def _write(self, value: float, shown: float) -> str:
        if not math.isfinite(value):
            return "-∞" if value < 0 else "∞"
        if self._decimals is None:
            return _significant_text(value, self._rounding)
        if shown == 0.0 and value != 0.0:
            return _scientific_text(value, max(2, min(3, self._decimals)), self._rounding.ties)
        if abs(value) >= _HUGE and self._rounding.lines == "exact":
            return _scientific_text(value, max(3, self._decimals), self._rounding.ties)
        return f"{shown:.{self._decimals}f}"


def _is_exact_at(values: Array, decimals: int) -> bool:
    slack = np.minimum(1e-12 * np.maximum(1.0, np.abs(values)), 1e-4 * 10.0**-decimals)
    with np.errstate(over="ignore"):  # numbers near 1e308 become infinite, and then need all decimals
        rounded = np.round(values, decimals)
    return bool(np.all(np.abs(rounded - values) <= slack)) and not bool(
        np.any((values != 0) & (np.abs(values) <= slack))
    )


def _significant_text(value: float, rounding: Rounding) -> str:
    figures = rounding.significant or 1
    shown = float(round_significant(np.asarray(value), figures, rounding.ties))
    if shown == 0.0:
        return "0"
    exponent = int(f"{shown:e}".partition("e")[2])
    if exponent < -4 or abs(shown) >= _HUGE:
        return _scientific_text(value, figures, rounding.ties)
    return f"{shown:.{max(0, figures - 1 - exponent)}f}"


def _scientific_text(value: float, figures: int, ties: str) -> str:
    shown = float(round_significant(np.asarray(value), figures, ties))
    mantissa, _, exponent = f"{shown:.{figures - 1}e}".partition("e")
    return f"{mantissa}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


_PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def read_shown(text: str) -> Decimal:
    """Return the exact value of digits written by `Digits`."""
    mantissa, times, power = text.partition("×10")
    if times:
        return Decimal(mantissa).scaleb(int(power.translate(_PLAIN)))
    return Decimal(text.replace("∞", "Infinity"))
