"""Context without parameters: the vector of each word becomes a weighted mean of the vectors in its sentence."""

from typing import ClassVar, Literal

from pydantic import Field

from clearhead.steps.vocabulary import DIVIDE, KERNEL, MASK, MIX, SCORE
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.attention.rule import AttentionRule, Scale, work_division, work_mask, work_scale, work_weights
from clearhead.worksheet.cells import Matrix, Real, Tokens, Vector
from clearhead.worksheet.input_tokens import PositionedTokens
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import Shapes


class ContextProblem(PositionedTokens, AttentionRule, Problem):
    """A weighted mean of word vectors, without learned parameters."""

    summary: ClassVar[str] = (
        "weighted means of word vectors; the weights are given, or computed from dot products or from distances in time"
    )

    kind: Literal["context"] = "context"
    weights: Matrix | None = Field(None, description="the weights, one row for each new vector")
    times: Vector | None = Field(None, description="a time for each word: the weights are a normal density of tᵢ - tⱼ")
    variance: Real = Field(1.0, gt=0, description="with times: the variance of the normal density")
    scale: Scale = Field("none", description="without weights or times: the divisor of the dot products")
    normaliser: Literal["softmax", "division", "none"] = Field(  # type: ignore[assignment]
        "softmax", description="without weights or times: softmax, division by the sum, or none (raw dot products)"
    )
    new_tokens: Tokens = Field((), description="names of the new vectors, if they differ from tokens")

    def mistakes(self, shapes: Shapes) -> None:
        """Report missing values and shapes that do not fit."""
        self.token_mistakes(shapes)
        if self.weights is not None and self.times is not None:
            shapes.add(("weights", "times"), "both weights and times are given. Remove one of them.")
        if not self.is_given and self.weights is None and self.times is None:
            shapes.add(
                ("weights", "times", "X", "embedding"),
                "context needs weights, times, or vectors for dot products (X or an embedding).",
            )
            return
        count = self.size(shapes)[0] if self.is_given else None
        queries = keys = count or 0
        if self.weights is not None:
            queries, keys = shapes.tokens(self.weights), shapes.width(self.weights)
            if count is not None and keys != count:
                shapes.add(
                    ("weights",),
                    f"weights has weights for {keys} words, but there are {count} words. "
                    f"Give each row of weights {count} numbers.",
                )
            if count is None:
                shapes.names("tokens", self.tokens, "weights", keys)
                if self.mask.is_off:
                    shapes.add(
                        ("weights", "X", "embedding", "mask"),
                        "there is nothing to do: weights are given without vectors to average and without a mask. "
                        "Give X, an embedding, or a mask.",
                    )
            shapes.names("new_tokens", self.new_tokens, "weights", queries)
        elif self.times is not None:
            if count is not None:
                shapes.vector("times", self.times, count, f"there are {count} words")
            queries = keys = len(self.times)
            if count is None:
                shapes.names("tokens", self.tokens, "times", keys)
        if self.weights is None and self.new_tokens:
            shapes.add(
                ("new_tokens", "weights", "tokens"),
                "new_tokens needs weights, which are not given. Use tokens for the names.",
            )
        self.mask.mistakes(shapes, queries, keys)

    def work(self, pen: Pen) -> None:
        """Write the weights and, if vectors are given, their weighted mean."""
        x = self.work_tokens(pen.at("input")) if self.is_given else None
        weights = self._work_weights(pen.at("context"), x)
        if x is not None:
            pen.at("context").work(MIX, weights=weights, v=x)

    def _work_weights(self, pen: Pen, x: Array | None) -> Array:
        names = self.names
        if self.weights is not None:
            rows = self.new_tokens or (names if len(names) == self.weights.shape[pen.layout == "columns"] else ())
            symbol = DIVIDE.symbol_in(pen.layout)
            weights = pen.give(symbol, self.weights, rows=rows, columns=names)
            return self._renormalised(pen, weights, (rows, names))
        if self.times is not None:
            times = pen.give_as_rows("t", self.times, rows=names)
            near = pen.work(KERNEL, query_times=times, key_times=times, variance=self.variance)
            shares = work_division(pen, near, None)
            return self._renormalised(pen.at("masked"), shares, (names, names))
        assert x is not None
        raw = "XᵀX" if pen.layout == "columns" and self.scale != "none" else SCORE.symbol_in(pen.layout)
        scores = pen.work(SCORE, symbol=raw, q=x, k=x)
        scores = work_scale(pen, self, scores, x.shape[1], x.shape[1])
        if self.normaliser == "none":
            allowed = work_mask(pen, self.mask, len(x), len(x), (names, names))
            return scores if allowed is None else pen.work(MASK, scores=scores, allowed=allowed, fill=0.0)
        allowed = work_mask(pen, self.mask, len(x), len(x), (names, names))
        return work_weights(pen, self, scores, allowed)

    def _renormalised(self, pen: Pen, weights: Array, names: tuple[tuple[str, ...], tuple[str, ...]]) -> Array:
        """Mask given weights, and divide each row by its new sum."""
        allowed = work_mask(pen, self.mask, len(weights), weights.shape[1], names)
        if allowed is None:
            return weights
        masked = pen.work(MASK, symbol="A₀", scores=weights, allowed=allowed, fill=0.0)
        return work_division(pen, masked, allowed, "′")
