"""Three kinds of problem: a feed-forward network, one encoder block and one decoder block."""

from typing import ClassVar, Literal

from pydantic import Field

from clearhead.worksheet.attention.validation import SequenceShape
from clearhead.worksheet.attention.work import TokenSequence
from clearhead.worksheet.cells import Matrix, Tokens
from clearhead.worksheet.feed_forward import FeedForwardLayer
from clearhead.worksheet.input_tokens import PositionedTokens
from clearhead.worksheet.layers import DecoderLayer, EncoderLayer
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import Shapes


class FeedForwardProblem(PositionedTokens, FeedForwardLayer, Problem):
    """Two linear layers with an activation function between them, the same for every token."""

    summary: ClassVar[str] = (
        "two linear layers with an activation function between them, or the same as two 1-D convolutions"
    )

    kind: Literal["feed-forward"] = "feed-forward"

    def mistakes(self, shapes: Shapes) -> None:
        """Report shapes that do not fit."""
        self.token_mistakes(shapes)
        if not self.is_given:
            shapes.add(("X", "embedding", "tokens"), "feed-forward needs X, or an embedding with tokens.")
            return
        self.layer_mistakes(shapes, "X", *self.size(shapes))

    def work(self, pen: Pen) -> None:
        """Write the network."""
        self.work_layer(pen.at("feed_forward"), self.work_tokens(pen.at("input")))


class EncoderBlockProblem(PositionedTokens, EncoderLayer, Problem):
    """Self-attention and a residual, with an optional norm and feed-forward network."""

    summary: ClassVar[str] = "an encoder block: words and positions, self-attention, residual, norm, feed-forward"

    kind: Literal["encoder-block"] = "encoder-block"

    def mistakes(self, shapes: Shapes) -> None:
        """Report shapes that do not fit."""
        self.token_mistakes(shapes)
        if not self.is_given:
            shapes.add(("X", "embedding", "tokens"), "encoder-block needs X, or an embedding with tokens.")
            return
        self.layer_mistakes(shapes, *self.size(shapes))

    def work(self, pen: Pen) -> None:
        """Write the block."""
        self.work_layer(pen.at("encoder", 0), self.work_tokens(pen.at("input")), self.names)


class DecoderBlockProblem(PositionedTokens, DecoderLayer, Problem):
    """Masked self-attention and cross-attention to the encoder's output, each followed by a residual."""

    summary: ClassVar[str] = (
        "a decoder block: words and positions, masked self-attention, cross-attention to memory, feed-forward, norms; "
        "also one step of generation from cached keys and values"
    )

    kind: Literal["decoder-block"] = "decoder-block"
    memory: Matrix | None = Field(
        None, description="the encoder's output; not needed if cross_attention gives the keys K and the values V"
    )
    memory_tokens: Tokens = Field((), description="names of the tokens of memory")
    cached_tokens: Tokens = Field((), description="names of the earlier tokens, whose keys and values are cached")

    def mistakes(self, shapes: Shapes) -> None:
        """Report shapes that do not fit."""
        self.token_mistakes(shapes)
        if not self.is_given:
            shapes.add(("X", "embedding", "tokens"), "decoder-block needs X, or an embedding with tokens.")
            return
        memory = None
        if self.memory is not None:
            memory = SequenceShape("memory", shapes.tokens(self.memory), shapes.width(self.memory))
            shapes.names("memory_tokens", self.memory_tokens, "memory", memory.count)
        elif not self.cross_attention.has_given_keys:
            shapes.add(
                ("memory", "cross_attention"),
                "memory is missing: give memory, the encoder's output, or give its keys K and its values V in "
                "cross_attention, instead of W_K and W_V.",
            )
            return
        self.layer_mistakes(shapes, *self.size(shapes), memory)
        if not shapes.mistakes:
            self._name_mistakes(shapes)

    def _name_mistakes(self, shapes: Shapes) -> None:
        """Report names of keys that are more or fewer than the given or cached keys."""
        num_cached = self.self_attention.num_cached(self.layout)
        if self.self_attention.has_given_keys:
            num_cached = self.self_attention.num_given(self.layout) - self.size(shapes)[0]
        shapes.names("cached_tokens", self.cached_tokens, "the cache", num_cached)
        if self.memory is None:
            num_keys = self.cross_attention.num_given(self.layout)
            shapes.names("memory_tokens", self.memory_tokens, "K of cross_attention", num_keys)

    def work(self, pen: Pen) -> None:
        """Write the block."""
        x = self.work_tokens(pen.at("input"))
        vectors = None if self.memory is None else pen.give("memory", self.memory, rows=self.memory_tokens)
        memory = TokenSequence(vectors, self.memory_tokens)
        self.work_layer(pen.at("decoder", 0), x, self.names, memory, self.cached_tokens)
