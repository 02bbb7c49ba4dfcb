"""Add and normalise: the residual, then layer norm, batch norm, RMS norm or a norm over all d × n numbers."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, PlainValidator

from clearhead.errors import ProblemError
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.cells import Matrix, Tokens, read_matrix
from clearhead.worksheet.norm import NormRule, work_residual
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import Shapes


def _table(raw: object) -> Array | None:
    """Read a matrix; None for `unknown`."""
    return None if isinstance(raw, str) and raw == "unknown" else read_matrix(raw)


class AddAndNormProblem(NormRule, Problem):
    """The input of a layer plus its output, normalised."""

    summary: ClassVar[str] = (
        "residual, then layer norm, batch norm, RMS norm or a norm over all numbers, with or without padding"
    )

    kind: Literal["add-and-norm"] = "add-and-norm"
    X: Annotated[Array | None, PlainValidator(_table)] = Field(
        description="the input of the layer, or simply the table to normalise; unknown, if only what holds for every "
        "norm is to be checked in a working"
    )
    Y: Matrix | None = Field(None, description="the output of the layer, which is added to X")
    tokens: Tokens = Field((), description="the names of the tokens")

    def mistakes(self, shapes: Shapes) -> None:
        """Report shapes that do not fit."""
        if self.X is None:
            if self.Y is not None or self.norm == "none":
                shapes.add(("X", "Y", "norm"), "X is unknown, so Y cannot be added and a norm is needed. Give X.")
            return
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
        if self.X is None:
            raise ProblemError(
                "X is unknown, so no number can be computed. Give X; a working can be checked without it."
            )
        here = pen.at("add_and_norm")
        x = pen.give("X", self.X, rows=self.tokens)
        if self.Y is not None:
            x = work_residual(here, x, pen.give("Y", self.Y, rows=self.tokens), "A" if pen.layout == "columns" else "R")
        self.work_norm(here, x, self.tokens)
