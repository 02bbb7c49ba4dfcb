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
        "a decoder block: words and positions, masked self-attention, cross-attention to memory, feed-forward, norms"
    )

    kind: Literal["decoder-block"] = "decoder-block"
    memory: Matrix = Field(description="the encoder's output")
    memory_tokens: Tokens = Field((), description="names of the tokens of memory")

    def mistakes(self, shapes: Shapes) -> None:
        """Report shapes that do not fit."""
        self.token_mistakes(shapes)
        if not self.is_given:
            shapes.add(("X", "embedding", "tokens"), "decoder-block needs X, or an embedding with tokens.")
            return
        memory = SequenceShape("memory", shapes.tokens(self.memory), shapes.width(self.memory))
        self.layer_mistakes(shapes, *self.size(shapes), memory)
        shapes.names("memory_tokens", self.memory_tokens, "memory", memory.count)

    def work(self, pen: Pen) -> None:
        """Write the block."""
        x = self.work_tokens(pen.at("input"))
        memory = TokenSequence(pen.give("memory", self.memory, rows=self.memory_tokens), self.memory_tokens)
        self.work_layer(pen.at("decoder", 0), x, self.names, memory)
