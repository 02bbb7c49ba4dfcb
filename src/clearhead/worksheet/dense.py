"""One dense layer: a linear layer with an optional bias and any activation function, softmax included.

f(W x + b)          (with tokens as rows: f(x W + b))
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from clearhead.steps.vocabulary import ACTIVATE, PROJECT, SOFTMAX, TRANSFORM
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.cells import Matrix, Tokens, Vector, count
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import ProblemFields
from clearhead.worksheet.shapes import Shapes, size

OutputActivation = Literal["none", "relu", "gelu", "silu", "tanh", "sigmoid", "softmax"]


def work_output_activation(pen: Pen, x: Array, activation: str, symbol: str) -> Array:
    """Write f(x) number by number, or the softmax of each token's numbers; none returns x."""
    if activation == "none":
        return x
    if activation == "softmax":
        return pen.work(SOFTMAX, symbol=symbol, scores=x)
    return pen.work(ACTIVATE, symbol=symbol, x=x, function=activation)


class DenseLayer(ProblemFields):
    """A weight matrix, its bias and the activation function."""

    W: Matrix = Field(description="the weight matrix")
    b: Vector | None = Field(None, description="the bias")
    activation: OutputActivation = Field(
        "none", description="the activation function; softmax is applied to the numbers of each token"
    )
    classes: Tokens = Field((), description="names of the output numbers, such as classes or words")

    def layer_mistakes(self, shapes: Shapes, x_name: str, x: Array | None, width: int) -> None:
        """Report a weight matrix, a bias or names that do not fit."""
        shapes.product(x_name, width, x, "W", self.W)
        if self.b is not None:
            shapes.bias("b", self.b, "W", self.W)
        names_mistakes(shapes, "classes", self.classes, self.W, shapes.width(self.W))

    def work_layer(self, pen: Pen, x: Array) -> Array:
        """Write the linear layer and the activation."""
        w = pen.give("W", self.W, columns=self.classes)
        b = None if self.b is None else pen.give("b", self.b)
        before, after = ("logits", "p") if self.activation == "softmax" else ("Z", "Y")
        linear = pen.work(PROJECT, symbol="Y" if self.activation == "none" else before, x=x, w=w, b=b)
        return work_output_activation(pen, linear, self.activation, after)


class StateOutputLayer(ProblemFields):
    """An output layer on the states of a recurrent network: f(W h + b), with the weights on the left."""

    W: Matrix = Field(description="weights of the state, one row for each class or word")
    b: Vector | None = Field(None, description="bias")
    activation: OutputActivation = Field("softmax", description="the activation function of the logits")
    classes: Tokens = Field((), description="names of the outputs: the classes, or the words of the vocabulary")

    def output_mistakes(self, shapes: Shapes, state_name: str, state: int) -> None:
        """Report weights, a bias or names that do not fit the state."""
        rows, columns = self.W.shape
        if columns != state:
            shapes.add(
                ("output", "W"),
                f"output: W is {size(self.W)}, but {state_name} has {count(state, 'number')}. "
                f"Give W {count(state, 'column')}.",
            )
        if self.b is not None:
            shapes.vector("output: b", self.b, rows, f"W is {size(self.W)}", ("output", "b"))
        names_mistakes(shapes, "output: classes", self.classes, self.W, rows, ("output", "classes"))

    def work_output(self, pen: Pen, state: Array, sub: str = "") -> Array:
        """Write the logits of a state and their activation."""
        is_left = pen.layout == "rows"
        rows, columns = (self.classes, ()) if is_left else ((), self.classes)
        w = pen.give("W_out", self.W, rows=rows, columns=columns)
        b = None if self.b is None else pen.give("b_out", self.b)
        logits = pen.work(TRANSFORM if is_left else PROJECT, symbol=f"logits{sub}", x=state, w=w, b=b)
        symbol = f"p{sub}" if self.activation in ("softmax", "sigmoid") else f"y{sub}"
        return work_output_activation(pen, logits, self.activation, symbol)


def names_mistakes(
    shapes: Shapes, key: str, names: Sequence[str], weights: Array, num_outputs: int, keys: tuple[str, ...] = ()
) -> None:
    """Report names of outputs that are more or fewer than the outputs."""
    if names and len(names) != num_outputs:
        shapes.add(
            keys or (key, "W"),
            f"{key} has {count(len(names), 'name')}, but W is {size(weights)} and gives {num_outputs} numbers. "
            f"Give {count(num_outputs, 'name')}, or omit {key.rpartition(' ')[2]}.",
        )
