"""Add and normalise: the residual, then layer norm, batch norm or the norm over all of d × n."""

from typing import ClassVar, Literal

from pydantic import Field

from clearhead.worksheet.cells import Matrix, Tokens
from clearhead.worksheet.norm import NormRule, work_residual
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import Shapes


class AddAndNormProblem(NormRule, Problem):
    """What went into a layer plus what came out of it, normalised."""

    summary: ClassVar[str] = "residual, then layer norm, batch norm or the norm over everything; padding counted or not"

    kind: Literal["add-and-norm"] = "add-and-norm"
    X: Matrix = Field(description="what went into the layer, or simply the table to normalise")
    Y: Matrix | None = Field(None, description="what came out of the layer, to be added to X")
    tokens: Tokens = Field((), description="the tokens' names")

    def mistakes(self, shapes: Shapes) -> None:
        """Tell what does not fit."""
        count, width = shapes.tokens(self.X), shapes.width(self.X)
        if self.Y is not None and self.Y.shape != self.X.shape:
            because = f"X is {self.X.shape[0]} × {self.X.shape[1]}, and they are added"
            shapes.shape("Y", self.Y, count, width, because, ("Y", "X"))
        shapes.names("tokens", self.tokens, "X", count)
        self.norm_mistakes(shapes, count, width)
        if self.norm == "none" and self.Y is None:
            shapes.add(
                ("norm", "Y"), "there is nothing to do: norm is none and no Y is given to add. Give one of them."
            )

    def work(self, pen: Pen) -> None:
        """Write the sum and its norm."""
        here = pen.at("add_and_norm")
        x = pen.give("X", self.X, rows=self.tokens)
        if self.Y is not None:
            x = work_residual(here, x, pen.give("Y", self.Y, rows=self.tokens), "A" if pen.layout == "columns" else "R")
        self.work_norm(here, x, self.tokens)
