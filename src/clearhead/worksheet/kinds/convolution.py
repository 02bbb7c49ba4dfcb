"""A 1-D convolution over the tokens with padding at both ends, causal padding or no padding."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import ACTIVATE, CONVOLVE
from clearhead.worksheet.cells import Matrix, Vector
from clearhead.worksheet.input_tokens import EmbeddedTokens
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import Shapes, size


class ConvolutionProblem(EmbeddedTokens, Problem):
    """A filter that slides over the tokens."""

    summary: ClassVar[str] = "a 1-D convolution over the tokens with padding at both ends, causal padding or no padding"

    kind: Literal["convolution"] = "convolution"
    taps: tuple[Matrix, ...] = Field(
        max_length=1000, description="the filter: one weight matrix for each neighbour, in order"
    )
    b: Vector | None = Field(None, description="bias")
    padding: Literal["same", "causal", "valid"] = Field(
        "same",
        description="same: the middle of the filter is at the token; causal: the end of the filter is at the token; "
        "valid: no padding",
    )
    activation: Literal["none", "relu", "tanh", "sigmoid"] = Field(
        "none", description="activation function of the result"
    )

    def mistakes(self, shapes: Shapes) -> None:
        """Report a filter that does not fit."""
        self.embedding_mistakes(shapes)
        if not self.is_given:
            shapes.add(("X", "embedding", "tokens"), "convolution needs X, or an embedding with tokens.")
            return
        if not self.taps:
            shapes.add(("taps",), "taps is empty. Give at least one weight matrix.")
            return
        count, width = self.size(shapes)
        for number, tap in enumerate(self.taps, 1):
            shapes.product("X", width, None, f"tap {number}", tap)
            if tap.shape != self.taps[0].shape:
                shapes.add(
                    ("taps",), f"tap {number} is {size(tap)}, but tap 1 is {size(self.taps[0])}. Give all one shape."
                )
        if self.b is not None:
            shapes.bias("b", self.b, "tap 1", self.taps[0])
        if self.padding == "valid" and len(self.taps) > count:
            shapes.add(
                ("taps", "padding"),
                f"a filter of {len(self.taps)} taps does not fit into {count} tokens without padding. "
                "Give fewer taps, or another padding.",
            )

    def work(self, pen: Pen) -> None:
        """Write the convolution."""
        x = self.work_embedding(pen.at("input"))
        width = len(self.taps)
        first = {"same": -(width // 2), "causal": 1 - width, "valid": 0}[self.padding]
        count = len(x) - width + 1 if self.padding == "valid" else len(x)
        taps = tuple(
            pen.give(f"W_{number}", np.asarray(tap), symbol=f"W{subscript(number)}")
            for number, tap in enumerate(self.taps, 1)
        )
        b = None if self.b is None else pen.give("b", self.b)
        y = pen.work(CONVOLVE, x=x, taps=taps, first=first, count=count, b=b)
        if self.activation != "none":
            pen.work(ACTIVATE, symbol="Y′", x=y, function=self.activation)
