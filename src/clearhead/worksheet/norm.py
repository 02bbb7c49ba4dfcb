"""Write the steps of a norm, per token, per feature or over all numbers: mean, variance, normalised numbers."""

from typing import Any, Literal

import numpy as np
from pydantic import Field

from clearhead.errors import ProblemError
from clearhead.steps.vocabulary import ADD, DEVIATION, MEAN, NORMALISE, RMS_NORMALISE, ROOT_MEAN_SQUARE, VARIANCE
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.cells import Count, Real, Vector
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import ProblemFields
from clearhead.worksheet.shapes import Shapes

_OVER = {"layer": "features", "batch": "tokens", "all": "all"}


class NormRule(ProblemFields):
    """The kind of norm, its parameters and its padding."""

    norm: Literal["layer", "batch", "all", "rms", "none"] = Field(
        "layer",
        description="layer: over the features of each token; batch: over the tokens of each feature; all: over all "
        "d × n numbers; rms: divide each token by its root mean square; none",
    )
    epsilon: Real = Field(1e-5, ge=0, description="added to the variance, to avoid division by 0")
    epsilon_place: Literal["inside", "outside"] = Field("inside", description="inside: √(σ² + ε); outside: √σ² + ε")
    gain: Vector | None = Field(None, description="γ, a factor for each feature")
    shift: Vector | None = Field(None, description="β, added to each feature")
    padding: Count = Field(0, ge=0, description="the number of padding tokens at the end")
    count_padding: bool = Field(False, description="include padding in the mean and variance of batch and all")

    def norm_mistakes(self, shapes: Shapes, count: int, width: int) -> None:
        """Report vectors of the wrong length, too much padding, and keys that the norm does not use."""
        idle = [name for name in ("gain", "shift") if getattr(self, name) is not None and self.norm == "none"]
        if idle:
            shapes.add(("norm", idle[0]), f"norm none does not use {idle[0]}. Remove it, or choose another norm.")
        for name, vector in (("gain", self.gain), ("shift", self.shift)):
            if vector is not None:
                shapes.vector(name, vector, width, f"tokens are {width} wide")
        if self.norm == "rms" and (self.shift is not None or self.epsilon_place == "outside"):
            idle_name = "shift" if self.shift is not None else "epsilon_place: outside"
            shapes.add(
                ("norm", "shift", "epsilon_place"),
                f"norm rms does not use {idle_name}. Remove it, or choose another norm.",
            )
        if self.padding >= count:
            shapes.add(
                ("padding",),
                f"padding = {self.padding}, but there are {count} tokens, and at least one must not be padding. "
                f"Give a number from 0 to {count - 1}.",
            )

    def work_norm(self, pen: Pen, x: Array, names: tuple[str, ...] = (), sub: str = "") -> Array:
        """Write the mean, the variance and the normalised numbers."""
        if self.norm == "none":
            return x
        if self.norm == "rms":
            return self._work_rms(pen, x, names, sub)
        over = _OVER[self.norm]
        counted = None
        if self.padding and not self.count_padding and over != "features":
            real = np.arange(x.shape[0]) < x.shape[0] - self.padding
            counted = pen.give_as_rows("counted", real.astype(np.float64), rows=names)
        mean = pen.work(MEAN, symbol=f"{MEAN.symbol}{sub}", x=x, over=over, counted=counted)
        variance = pen.work(VARIANCE, symbol=f"{VARIANCE.symbol}{sub}", x=x, mean=mean, over=over, counted=counted)
        if self.epsilon == 0.0 and np.any(variance == 0.0):
            raise ProblemError(self._zero_variance(variance, names))
        gain = None if self.gain is None else pen.give_as_rows("γ", self.gain)
        shift = None if self.shift is None else pen.give_as_rows("β", self.shift)
        place = "epsilon" if self.epsilon_place == "inside" else "epsilon_outside"
        epsilon: dict[str, Any] = {place: self.epsilon} if self.epsilon else {}
        inputs = {"x": x, "mean": mean, "variance": variance, "gain": gain, "shift": shift, **epsilon}
        if "deviation" in pen.show:
            symbol = f"{DEVIATION.symbol}{sub}"
            inputs["deviation"] = pen.work(DEVIATION, symbol=symbol, variance=variance, **epsilon)
            inputs = {name: value for name, value in inputs.items() if name not in epsilon}
        return pen.work(NORMALISE, symbol=f"{NORMALISE.symbol}{sub}", **inputs)

    def _work_rms(self, pen: Pen, x: Array, names: tuple[str, ...], sub: str) -> Array:
        empty = np.flatnonzero(~np.any(x, axis=1))
        if self.epsilon == 0.0 and empty.size:
            raise ProblemError(self._zero_variance(np.any(x, axis=1).astype(np.float64), names))
        gain = None if self.gain is None else pen.give_as_rows("γ", self.gain)
        epsilon: dict[str, Any] = {"epsilon": self.epsilon} if self.epsilon else {}
        symbol = f"{RMS_NORMALISE.symbol}{sub}"
        if "deviation" not in pen.show:
            return pen.work(RMS_NORMALISE, symbol=symbol, x=x, gain=gain, **epsilon)
        rms = pen.work(ROOT_MEAN_SQUARE, symbol=f"{ROOT_MEAN_SQUARE.symbol}{sub}", x=x, **epsilon)
        return pen.work(RMS_NORMALISE, symbol=symbol, x=x, gain=gain, rms=rms)

    def _zero_variance(self, variance: Array, names: tuple[str, ...]) -> str:
        index = int(np.flatnonzero(variance == 0.0)[0])
        owner = {
            "layer": f"token {index + 1}" + (f" ('{names[index]}')" if index < len(names) else ""),
            "rms": f"token {index + 1}" + (f" ('{names[index]}')" if index < len(names) else ""),
            "batch": f"feature {index + 1}",
            "all": "all numbers",
        }[self.norm]
        return (
            f"the variance of {owner} is 0 and epsilon is 0, so normalising would divide by zero. "
            "Give an epsilon greater than 0, such as 1e-5."
        )


def work_residual(pen: Pen, x: Array, y: Array, symbol: str = "R") -> Array:
    """Write the input of a sublayer plus its output."""
    return pen.work(ADD, symbol=symbol, a=x, b=y)
