"""The feed-forward network of a layer: two linear layers with an activation between them, the same for every token.

W_2 f(W_1 x + b_1) + b_2          (with tokens as rows: f(x W_1 + b_1) W_2 + b_2)

A second activation can follow the second linear layer.
"""

from typing import Literal

from pydantic import Field

from clearhead.steps.vocabulary import ACTIVATE, CONVOLVE, PROJECT
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.cells import Matrix, Vector
from clearhead.worksheet.dense import OutputActivation, work_output_activation
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import ProblemFields
from clearhead.worksheet.shapes import Shapes


class FeedForwardLayer(ProblemFields):
    """Two weight matrices, their biases and the activation function."""

    W_1: Matrix = Field(description="weights of the first linear layer")
    b_1: Vector | None = Field(None, description="bias of the first linear layer")
    W_2: Matrix = Field(description="weights of the second linear layer")
    b_2: Vector | None = Field(None, description="bias of the second linear layer")
    activation: Literal["relu", "gelu", "silu", "tanh", "sigmoid"] = Field(
        "relu", description="the activation function"
    )
    output_activation: OutputActivation = Field(
        "none", description="a second activation, after the second linear layer"
    )
    as_convolution: bool = Field(
        False, description="compute the same result as two 1-D convolutions with filters of one token"
    )

    def layer_mistakes(self, shapes: Shapes, x_name: str, count: int, width: int) -> None:
        """Report weights and biases that do not fit."""
        del count
        shapes.product(x_name, width, None, "W_1", self.W_1)
        shapes.product("the hidden layer", shapes.width(self.W_1), None, "W_2", self.W_2)
        for number, w, b in ((1, self.W_1, self.b_1), (2, self.W_2, self.b_2)):
            if b is not None:
                shapes.bias(f"b_{number}", b, f"W_{number}", w)

    def work_layer(self, pen: Pen, x: Array) -> Array:
        """Write the two linear layers and the activation."""
        for number, w, b in ((1, self.W_1, self.b_1), (2, self.W_2, self.b_2)):
            weights = pen.give(f"W_{number}", w)
            bias = None if b is None else pen.give(f"b_{number}", b)
            here, symbol = pen.at("first" if number == 1 else "second"), f"F{'₁' if number == 1 else '₂'}"
            if self.as_convolution:
                x = here.work(CONVOLVE, symbol=symbol, x=x, taps=(weights,), first=0, count=len(x), b=bias)
            else:
                x = here.work(PROJECT, symbol=symbol, x=x, w=weights, b=bias)
            if number == 1:
                x = here.work(ACTIVATE, symbol="F₁′", x=x, function=self.activation)
        return work_output_activation(pen.at("second"), x, self.output_activation, "F₂′")
