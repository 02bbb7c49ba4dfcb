"""Position vectors, sinusoidal, learned, one-hot, counted or rotary: as a table, or added to words."""

from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np
from pydantic import BeforeValidator, Field

from clearhead.steps.vocabulary import ADD, ANGLE, EMBED, ROTATE
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.attention.layer import RotaryRule
from clearhead.worksheet.cells import Count, Matrix
from clearhead.worksheet.input_tokens import EmbeddedTokens, PositionRule, work_positions
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import Shapes

Formula = Literal["sinusoidal", "sinusoidal-odd-exponent", "learned", "one-hot", "count", "rotary"]


def _whole_numbers(raw: Any) -> Any:
    """Read a number of positions, or a list of them."""
    is_count = isinstance(raw, int) and not isinstance(raw, bool) and 0 < raw <= 2**20
    is_list = isinstance(raw, list | tuple) and 0 < len(raw) <= 2**20
    if is_count:
        return tuple(range(raw))
    if is_list and all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= 10**9 for n in raw):
        return tuple(raw)
    raise ValueError(f"expected a number (such as 4) or a list counted from 0 (such as [0, 3]), but found {raw!r:.60}")


Numbers = Annotated[tuple[int, ...], BeforeValidator(_whole_numbers)]


class PositionsProblem(EmbeddedTokens, RotaryRule, Problem):
    """Position vectors, as a table or added to the vectors of words."""

    summary: ClassVar[str] = "position vectors: single values, tables, or added to (rotary: applied to) X"

    kind: Literal["positions"] = "positions"
    formula: Formula = Field(
        "sinusoidal",
        description="sinusoidal; sinusoidal-odd-exponent (2i+1 in the exponent of the cosine); learned: look up in P; "
        "one-hot; count: the position as a number; rotary: rotate X",
    )
    d_model: Count | None = Field(None, ge=1, le=2**16, description="the width of a vector (default: the width of X)")
    positions: Numbers | None = Field(
        None, description="the number of positions, or a list of them (default: one for each token of X)"
    )
    dimensions: Numbers | None = Field(
        None, description="the number of dimensions, or a list of them (default: all of d_model)"
    )
    P: Matrix | None = Field(None, description="learned positions: one vector for each position")

    def mistakes(self, shapes: Shapes) -> None:
        """Report missing values and shapes that do not fit."""
        self.embedding_mistakes(shapes)
        count, width = self.size(shapes) if self.is_given else (None, None)
        if self.positions is None and count is None:
            shapes.add(
                ("positions", "X"), "positions is missing: give positions (a number or a list), or X to add them to."
            )
        if self.positions is not None and count is None:
            shapes.names("tokens", self.tokens, "positions", len(self.positions))
        if self.positions is not None and count is not None and len(self.positions) != count:
            shapes.add(
                ("positions", "X", "tokens"),
                f"there are {len(self.positions)} positions for {count} tokens. Give one position for each token of X.",
            )
        if self.d_model is not None and width is not None and self.d_model != width:
            shapes.add(("d_model", "X"), f"d_model = {self.d_model}, but X is {width} wide. Remove d_model.")
        if self.dimensions is not None and self.is_given:
            shapes.add(
                ("dimensions", "X"), "dimensions cannot be used with X, only for a table of positions. Remove it."
            )
        if self.formula == "learned":
            self._learned_mistakes(shapes, count, width)
        elif self.P is not None:
            shapes.add(("P", "formula"), f"P needs formula learned, not {self.formula}. Remove one of them.")
        if self.formula == "rotary":
            if not self.is_given:
                shapes.add(("formula", "X"), "formula rotary needs X: the vectors to rotate.")
            elif width is not None and width % 2:
                shapes.add(
                    ("formula", "X"),
                    f"formula rotary rotates pairs of dimensions, but X is {width} wide. Give X an even width.",
                )
        elif self.formula != "learned" and width is None and self.d_model is None:
            shapes.add(("d_model",), "d_model is missing: give the width of a position vector.")
        limit = self.d_model or width
        last = max(self.positions) if self.positions else (count or 1) - 1
        if self.formula == "one-hot" and limit is not None and last >= limit:
            shapes.add(
                ("positions",),
                f"position {last} does not fit into a one-hot vector of width {limit}, which has positions 0 to "
                f"{limit - 1}. Make it at least {last + 1} wide.",
            )
        if self.dimensions is not None and limit is not None and max(self.dimensions) >= limit:
            shapes.add(
                ("dimensions", "d_model"),
                f"dimension {max(self.dimensions)} does not exist: with d_model = {limit} they are 0 to {limit - 1}.",
            )

    def _learned_mistakes(self, shapes: Shapes, count: int | None, width: int | None) -> None:
        if self.P is None:
            shapes.add(("formula", "P"), "formula learned needs P: one vector for each position.")
            return
        last = max(self.positions) if self.positions else (count or 1) - 1
        if last >= shapes.tokens(self.P):
            shapes.add(
                ("P", "positions"),
                f"P has {shapes.tokens(self.P)} positions, but position {last} is needed. Positions count from 0: "
                f"give P {last + 1} positions.",
            )
        if width is not None and shapes.width(self.P) != width:
            shapes.add(("P", "X"), f"P is {shapes.width(self.P)} wide, but X is {width} wide. Give both one width.")

    def work(self, pen: Pen) -> None:
        """Write the table, and add it to the word vectors or rotate them by it."""
        x = self.work_embedding(pen.at("input")) if self.is_given else None
        if x is None:
            assert self.positions is not None
            numbers, names = self.positions, self.tokens or tuple(f"pos {p}" for p in self.positions)
        else:
            numbers, names = self.positions or tuple(range(x.shape[0])), self.names
        here = pen.at("position")
        if self.formula == "learned":
            assert self.P is not None
            count = self.P.shape[pen.layout == "columns"]
            table = here.give("P", self.P, rows=tuple(f"pos {p}" for p in range(count)))
            ids = here.give_as_rows("positions", np.array(numbers), rows=names)
            vectors = here.work(EMBED, symbol="P p" if x is None else "P′", ids=ids, table=table)
        else:
            positions = here.give_as_rows("positions", np.array(numbers, dtype=np.float64), symbol="pos", rows=names)
            if self.formula == "rotary":
                assert x is not None
                angles = here.work(ANGLE, positions=positions, width=x.shape[1], base=self.base)
                here.work(ROTATE, symbol="X′", x=x, angles=angles, pairing=self.pairing)
                return
            vectors = self._table(here, positions, x)
        if x is not None:
            pen.work(ADD, symbol="X′", a=x, b=vectors)

    def _table(self, pen: Pen, positions: Array, x: Array | None) -> Array:
        width = self.d_model or (x.shape[1] if x is not None else 1)
        formula = cast(Literal["sinusoidal", "sinusoidal-odd-exponent", "one-hot", "count"], self.formula)
        rule = PositionRule(formula=formula, base=self.base)
        return work_positions(pen, positions, self.dimensions or range(width), width, rule)
