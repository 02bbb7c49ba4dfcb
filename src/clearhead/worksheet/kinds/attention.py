"""Self-attention, masked self-attention, cross-attention and multi-head attention."""

from typing import Annotated, ClassVar, Literal

from pydantic import AliasChoices, Field

from clearhead.worksheet.attention.given_scores import ScoredAttentionLayer, names_of_scores
from clearhead.worksheet.attention.rule import Mask, MaskRule
from clearhead.worksheet.attention.validation import SequenceShape, attention_mistakes
from clearhead.worksheet.attention.work import TokenSequence, work_attention
from clearhead.worksheet.cells import Matrix, Tokens
from clearhead.worksheet.input_tokens import PositionedTokens
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import Shapes


class SelfAttentionProblem(PositionedTokens, ScoredAttentionLayer, Problem):
    """Every token attends to every token of its sentence."""

    summary: ClassVar[str] = (
        "self-attention from X and W_Q, W_K, W_V, from Q, K, V, or from given scores; also for new tokens with cached "
        "keys and values; without V, the weights are the answer"
    )

    kind: Literal["self-attention"] = "self-attention"
    cached_tokens: Tokens = Field((), description="names of the cached tokens")

    def mistakes(self, shapes: Shapes) -> None:
        """Report errors in the tokens and in the layer."""
        self.token_mistakes(shapes)
        x_shape = SequenceShape("X", *self.size(shapes)) if self.is_given else None
        if self.scores is not None:
            self.score_mistakes(shapes, x_shape)
            names_of_scores(shapes, self.scores, self.tokens)
            return
        self.width_mistakes(shapes)
        attention_mistakes(shapes, self, x_shape, x_shape, needs_values=False)
        shapes.names("cached_tokens", self.cached_tokens, "cached_K", self.num_cached(self.layout))
        if not self.is_given and self.Q is not None:
            shapes.names("tokens", self.tokens, "Q", shapes.tokens(self.Q))

    def work(self, pen: Pen) -> None:
        """Write the layer."""
        x = self.work_tokens(pen.at("input")) if self.is_given else None
        key_names = self.names
        if x is None and self.K is not None and len(key_names) != self.K.shape[self.layout == "columns"]:
            key_names = ()
        if self.scores is not None:
            self.work_scores(pen.at("self_attention"), x, (self.names, self.names))
            return
        query_tokens, key_tokens = TokenSequence(x, self.names), TokenSequence(x, key_names, self.cached_tokens)
        work_attention(pen.at("self_attention"), self, query_tokens, key_tokens)


class MaskedSelfAttentionProblem(SelfAttentionProblem):
    """Every token attends to itself and to the tokens before it."""

    summary: ClassVar[str] = "self-attention with a causal mask"

    kind: Literal["masked-self-attention"] = "masked-self-attention"  # type: ignore[assignment]
    mask: Mask = Field(
        default_factory=lambda: MaskRule(causal=True),
        description="none, causal, a matrix of 0 and 1, or {causal, padding, explicit} (default causal)",
    )


class CrossAttentionProblem(ScoredAttentionLayer, Problem):
    """The tokens of one sentence attend to those of another."""

    summary: ClassVar[str] = "queries from one sentence (Y), keys and values from another (X); their widths can differ"

    kind: Literal["cross-attention"] = "cross-attention"
    Y: Annotated[Matrix | None, Field(validation_alias=AliasChoices("Y", "X_D"))] = Field(
        None, description="the tokens that the queries are computed from (alias X_D)"
    )
    X: Annotated[Matrix | None, Field(validation_alias=AliasChoices("X", "X_E"))] = Field(
        None, description="the tokens that the keys and values are computed from (alias X_E)"
    )
    tokens: Tokens = Field((), description="names of the tokens of Y")
    source_tokens: Tokens = Field((), description="names of the tokens of X")

    def mistakes(self, shapes: Shapes) -> None:
        """Report errors in the two sentences and in the layer."""
        query_shape = None if self.Y is None else SequenceShape("Y", shapes.tokens(self.Y), shapes.width(self.Y))
        key_shape = None if self.X is None else SequenceShape("X", shapes.tokens(self.X), shapes.width(self.X))
        if self.scores is not None:
            self.score_mistakes(shapes, key_shape)
            names_of_scores(shapes, self.scores, self.tokens, self.source_tokens)
            return
        self.width_mistakes(shapes)
        attention_mistakes(shapes, self, query_shape, key_shape, needs_values=False)
        for names, tokens, name, matrix in (
            ("tokens", self.tokens, "Y", self.Y if self.Y is not None else self.Q),
            ("source_tokens", self.source_tokens, "X", self.X if self.X is not None else self.K),
        ):
            if matrix is not None:
                shapes.names(names, tokens, name, shapes.tokens(matrix))

    def work(self, pen: Pen) -> None:
        """Write the layer."""
        y_symbol, x_symbol = ("X_D", "X_E") if pen.layout == "columns" else ("Y", "X")
        y = None if self.Y is None else pen.give(y_symbol, self.Y, rows=self.tokens)
        x = None if self.X is None else pen.give(x_symbol, self.X, rows=self.source_tokens)
        if self.scores is not None:
            self.work_scores(pen.at("cross_attention"), x, (self.tokens, self.source_tokens))
            return
        query_tokens, key_tokens = TokenSequence(y, self.tokens), TokenSequence(x, self.source_tokens)
        work_attention(pen.at("cross_attention"), self, query_tokens, key_tokens)


class MultiHeadAttentionProblem(SelfAttentionProblem):
    """Several heads, concatenated and multiplied by W_O; with Y, cross-attention between two sentences."""

    summary: ClassVar[str] = (
        "several heads, split from one product or each with its own weights, then concatenated and multiplied by W_O"
    )

    kind: Literal["multi-head-attention"] = "multi-head-attention"  # type: ignore[assignment]
    Y: Matrix | None = Field(
        None, description="for cross-attention: the tokens of the queries; the keys and values then come from X"
    )
    source_tokens: Tokens = Field((), description="with Y: names of the tokens of X")

    def mistakes(self, shapes: Shapes) -> None:
        """Report missing heads, and shapes that do not fit."""
        if self.scores is not None:
            shapes.add(
                ("scores", "heads"), "multi-head-attention cannot start from scores. Use self-attention for one head."
            )
            return
        if not self.heads and self.num_heads is None:
            shapes.add(
                ("heads", "num_heads"),
                "multi-head-attention needs heads: give num_heads, or heads with the weights of each head.",
            )
        if self.Y is None:
            super().mistakes(shapes)
            if self.source_tokens:
                shapes.add(
                    ("source_tokens", "Y", "tokens", "X"),
                    "source_tokens needs Y, which is not given. Use tokens for the names of X.",
                )
            return
        if self.X is None:
            shapes.add(("Y", "X"), "Y is given without X. Give X: the keys and values are computed from it.")
            return
        if self.embedding is not None:
            shapes.add(
                ("embedding", "X", "Y"),
                "embedding cannot be used with Y. Remove it: X and Y already contain the vectors.",
            )
        shapes.names("tokens", self.tokens, "Y", shapes.tokens(self.Y))
        shapes.names("source_tokens", self.source_tokens, "X", shapes.tokens(self.X))
        query_shape = SequenceShape("Y", shapes.tokens(self.Y), shapes.width(self.Y))
        key_shape = SequenceShape("X", shapes.tokens(self.X), shapes.width(self.X))
        attention_mistakes(shapes, self, query_shape, key_shape, needs_values=False)
        if self.position is not None:
            shapes.add(("position", "X", "Y"), "position cannot be used with Y. Add the positions to X and Y yourself.")

    def work(self, pen: Pen) -> None:
        """Write the layer."""
        if self.Y is None or self.X is None:
            super().work(pen)
            return
        y, x = pen.give("Y", self.Y, rows=self.tokens), pen.give("X", self.X, rows=self.source_tokens)
        query_tokens = TokenSequence(y, self.tokens)
        key_tokens = TokenSequence(x, self.source_tokens, self.cached_tokens)
        work_attention(pen.at("cross_attention"), self, query_tokens, key_tokens)
