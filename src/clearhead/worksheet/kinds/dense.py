"""One dense layer with any activation function, the same for every token."""

from typing import ClassVar, Literal

import numpy as np

from clearhead.worksheet.dense import DenseLayer
from clearhead.worksheet.input_tokens import PositionedTokens
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import Shapes


class DenseLayerProblem(PositionedTokens, DenseLayer, Problem):
    """A linear layer with an activation function, the same for every token."""

    summary: ClassVar[str] = "one dense layer: a linear layer with any activation function, softmax included"

    kind: Literal["dense-layer"] = "dense-layer"

    def mistakes(self, shapes: Shapes) -> None:
        """Report shapes that do not fit."""
        self.token_mistakes(shapes)
        if not self.is_given:
            shapes.add(("X", "embedding", "tokens"), "dense-layer needs X, or an embedding with tokens.")
            return
        x = None if self.X is None else np.asarray(self.X)
        self.layer_mistakes(shapes, "X", x, self.size(shapes)[1])

    def work(self, pen: Pen) -> None:
        """Write the layer."""
        self.work_layer(pen.at("dense"), self.work_tokens(pen.at("input")))
