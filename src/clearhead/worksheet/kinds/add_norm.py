"""Add and normalise: the residual, then layer norm, batch norm, RMS norm or a norm over all d × n numbers."""

from typing import ClassVar, Literal

from pydantic import Field

from clearhead.worksheet.cells import Matrix, Tokens
from clearhead.worksheet.norm import NormRule, work_residual
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import Shapes


class AddAndNormProblem(NormRule, Problem):
    """The input of a layer plus its output, normalised."""

    summary: ClassVar[str] = (
        "residual, then layer norm, batch norm, RMS norm or a norm over all numbers, with or without padding"
    )

    kind: Literal["add-and-norm"] = "add-and-norm"
    X: Matrix = Field(description="the input of the layer, or simply the table to normalise")
    Y: Matrix | None = Field(None, description="the output of the layer, which is added to X")
    tokens: Tokens = Field((), description="the names of the tokens")

    def mistakes(self, shapes: Shapes) -> None:
        """Report shapes that do not fit."""
        count, width = shapes.tokens(self.X), shapes.width(self.X)
        if self.Y is not None and self.Y.shape != self.X.shape:
            because = f"X is {self.X.shape[0]} × {self.X.shape[1]}, and they are added"
            shapes.shape("Y", self.Y, count, width, because, ("Y", "X"))
        shapes.names("tokens", self.tokens, "X", count)
        self.norm_mistakes(shapes, count, width)
        if self.norm == "none" and self.Y is None:
            shapes.add(
                ("norm", "Y"), "there is nothing to do: norm is none and Y is not given. Choose a norm, or give Y."
            )

    def work(self, pen: Pen) -> None:
        """Write the sum and its norm."""
        here = pen.at("add_and_norm")
        x = pen.give("X", self.X, rows=self.tokens)
        if self.Y is not None:
            x = work_residual(here, x, pen.give("Y", self.Y, rows=self.tokens), "A" if pen.layout == "columns" else "R")
        self.work_norm(here, x, self.tokens)
