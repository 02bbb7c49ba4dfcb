"""A bare softmax: scores in, weights out."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import AliasChoices, Field, PlainValidator

from clearhead.steps.vocabulary import SCORE
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.attention.rule import (
    AttentionRule,
    check_scores,
    read_scale,
    work_mask,
    work_scale,
    work_weights,
)
from clearhead.worksheet.cells import Tokens, read_matrix, read_vector
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import Shapes


def _vector_or_matrix(raw: object) -> Array:
    is_matrix = isinstance(raw, list | tuple | np.ndarray) and any(
        isinstance(row, list | tuple | np.ndarray) for row in raw
    )
    return read_matrix(raw) if is_matrix else read_vector(raw)


def _temperature(raw: object) -> str | float:
    scale = read_scale(raw)
    if isinstance(scale, str) and scale != "none":
        raise ValueError(f"{scale} needs vectors, but a softmax has only scores. Give none or a number to divide by")
    return scale


class SoftmaxProblem(AttentionRule, Problem):
    """A softmax of a vector, or of each row of a matrix."""

    summary: ClassVar[str] = "a bare softmax: the weights of a vector, or of each row of a matrix of numbers"

    kind: Literal["softmax"] = "softmax"
    scores: Annotated[Array, PlainValidator(_vector_or_matrix)] = Field(
        validation_alias=AliasChoices("scores", "S", "logits"),
        description="the numbers: a list, or a list of rows (of columns in layout columns); also called S or logits",
    )
    tokens: Tokens = Field((), description="names of the numbers in a row")
    query_tokens: Tokens = Field((), description="names of the rows")
    scale: Annotated[Literal["none"] | float, PlainValidator(_temperature)] = Field(
        "none",
        validation_alias=AliasChoices("scale", "temperature"),
        description="the temperature, a number to divide the scores by (alias temperature), or none",
    )

    def mistakes(self, shapes: Shapes) -> None:
        """Report names and a mask that do not fit."""
        rows, width = self._shape
        shapes.names("tokens", self.tokens, "scores", width)
        shapes.names("query_tokens", self.query_tokens, "scores", rows)
        self.mask.mistakes(shapes, rows, width)

    @property
    def _shape(self) -> tuple[int, int]:
        """The number of softmaxes and the numbers in each."""
        if self.scores.ndim == 1:
            return 1, len(self.scores)
        height, width = self.scores.shape
        return (height, width) if self.layout == "rows" else (width, height)

    def work(self, pen: Pen) -> None:
        """Write the weights."""
        names = (self.query_tokens, self.tokens)
        raw = "E" if pen.layout == "columns" and self.scale != "none" else SCORE.symbol_in(pen.layout)
        if self.scores.ndim == 1:
            scores = pen.give_as_rows("scores", self.scores[None, :], symbol=raw, rows=names[0], columns=names[1])
        else:
            scores = pen.give("scores", self.scores, symbol=raw, rows=names[0], columns=names[1])
        check_scores(1, *scores.shape)
        allowed = work_mask(pen, self.mask, scores.shape[0], scores.shape[1], names)
        work_weights(pen, self, work_scale(pen, self, scores, 1, 1), allowed)
