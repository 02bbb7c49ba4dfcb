"""The encoder and decoder layers of a Transformer: attention and feed-forward, each with a residual and a norm.

post-norm: norm(x + f(x))          pre-norm: x + f(norm(x))
"""

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from clearhead.steps.symbols import subscript
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.attention.layer import AttentionLayer
from clearhead.worksheet.attention.rule import Mask, MaskRule, Names
from clearhead.worksheet.attention.validation import SequenceShape, attention_mistakes
from clearhead.worksheet.attention.work import TokenSequence, work_attention
from clearhead.worksheet.feed_forward import FeedForwardLayer
from clearhead.worksheet.norm import NormRule, work_residual
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import ProblemFields
from clearhead.worksheet.shapes import Shapes

Norm = Annotated[NormRule, BeforeValidator(lambda raw: {"norm": raw} if isinstance(raw, str) else raw)]


class MaskedAttentionLayer(AttentionLayer):
    """An attention layer that is causal by default."""

    mask: Mask = Field(
        default_factory=lambda: MaskRule(causal=True),
        description="none, causal, a matrix of 0 and 1, or {causal, padding, explicit} (default causal)",
    )


class NormedBlock(ProblemFields):
    """The norms of an encoder or decoder layer, and their place."""

    norm: Norm = Field(
        default_factory=NormRule,
        description="the norm after every residual: layer, batch, all, rms, none, or {norm, epsilon, gain, shift …}",
    )
    norms: tuple[Norm, ...] = Field((), description="instead of norm: a list with one norm for each residual")
    norm_place: Literal["post", "pre"] = Field(
        "post", description="post: norm(x + f(x)), as in Vaswani et al. (2017); pre: x + f(norm(x))"
    )

    def norm_of(self, number: int) -> NormRule:
        """Return the norm of a residual, counted from 0."""
        return self.norms[number] if self.norms else self.norm

    def block_norm_mistakes(self, shapes: Shapes, residuals: int, count: int, width: int) -> None:
        """Report norms that do not fit."""
        if self.norms and "norm" in self.model_fields_set:
            shapes.add(("norm", "norms"), "both norm and norms are given. Remove one of them.")
        if self.norms and len(self.norms) != residuals:
            shapes.add(("norms",), f"norms has {len(self.norms)} entries, but the block has {residuals} residuals.")
            return
        for rule in self.norms or (self.norm,):
            rule.norm_mistakes(shapes, count, width)

    def work_residual(self, pen: Pen, number: int, x: Array, names: Names, sublayer: Callable[[Array], Array]) -> Array:
        """Write a sublayer with its residual and its norm."""
        here, sub, rule = pen.at("add_and_norm", number), subscript(number + 1), self.norm_of(number)
        if self.norm_place == "pre":
            return work_residual(here, x, sublayer(rule.work_norm(here, x, names, sub)), f"R{sub}")
        return rule.work_norm(here, work_residual(here, x, sublayer(x), f"R{sub}"), names, sub)


class EncoderLayer(NormedBlock):
    """Self-attention and an optional feed-forward network."""

    self_attention: AttentionLayer = Field(description="the attention layer: {W_Q, W_K, W_V, scale, num_heads …}")
    feed_forward: FeedForwardLayer | None = Field(None, description="{W_1, b_1, W_2, b_2, activation}")

    def layer_mistakes(self, shapes: Shapes, count: int, width: int) -> None:
        """Report errors in the layer."""
        x_shape = SequenceShape("X", count, width)
        check_attention(shapes, "self_attention", self.self_attention, x_shape, x_shape)
        check_feed_forward(shapes, self.feed_forward, count, width)
        self.block_norm_mistakes(shapes, 1 + (self.feed_forward is not None), count, width)

    def work_layer(self, pen: Pen, x: Array, names: Names) -> Array:
        """Write the block."""

        def attend(x: Array) -> Array:
            tokens = TokenSequence(x, names)
            return work_attention(pen.at("self_attention"), self.self_attention, tokens, tokens)

        x = self.work_residual(pen, 0, x, names, attend)
        if self.feed_forward is None:
            return x
        feed_forward = self.feed_forward
        return self.work_residual(pen, 1, x, names, lambda x: feed_forward.work_layer(pen.at("feed_forward"), x))


class DecoderLayer(NormedBlock):
    """Masked self-attention, cross-attention to the encoder's output and an optional feed-forward network."""

    self_attention: MaskedAttentionLayer = Field(
        description="the masked self-attention layer: {W_Q, W_K, W_V, scale …}"
    )
    cross_attention: AttentionLayer = Field(
        description="the cross-attention layer, with keys and values from the encoder: {W_Q, W_K, W_V, scale …}"
    )
    feed_forward: FeedForwardLayer | None = Field(None, description="{W_1, b_1, W_2, b_2, activation}")

    def layer_mistakes(self, shapes: Shapes, count: int, width: int, memory: SequenceShape | None) -> None:
        """Report errors in the layer; `memory` is None if the keys and values of the cross-attention are given."""
        x_shape = SequenceShape("X", count, width)
        # Given keys and values are those of all tokens so far, so X, the new tokens, can be fewer.
        own_keys = None if self.self_attention.has_given_keys else x_shape
        check_attention(shapes, "self_attention", self.self_attention, x_shape, own_keys)
        check_attention(shapes, "cross_attention", self.cross_attention, x_shape, memory)
        check_feed_forward(shapes, self.feed_forward, count, width)
        self.block_norm_mistakes(shapes, 2 + (self.feed_forward is not None), count, width)

    def work_layer(self, pen: Pen, x: Array, names: Names, memory: TokenSequence, cached_names: Names = ()) -> Array:
        """Write the block; `cached_names` are the names of the earlier tokens."""

        def attend(x: Array) -> Array:
            keys = TokenSequence(x, names, cached_names)
            if self.self_attention.has_given_keys:
                keys = TokenSequence(x, cached_names + names)
            return work_attention(pen.at("self_attention"), self.self_attention, TokenSequence(x, names), keys)

        def attend_to_memory(x: Array) -> Array:
            return work_attention(pen.at("cross_attention"), self.cross_attention, TokenSequence(x, names), memory)

        x = self.work_residual(pen, 0, x, names, attend)
        x = self.work_residual(pen, 1, x, names, attend_to_memory)
        if self.feed_forward is None:
            return x
        feed_forward = self.feed_forward
        return self.work_residual(pen, 2, x, names, lambda x: feed_forward.work_layer(pen.at("feed_forward"), x))


def check_attention(
    shapes: Shapes, name: str, layer: AttentionLayer, query_shape: SequenceShape, key_shape: SequenceShape | None
) -> None:
    """Report errors in an attention layer with a residual, so that its output must have the width of its input."""
    inner = Shapes(shapes.layout)
    attention_mistakes(inner, layer, query_shape, key_shape)
    if not inner.mistakes and _output_width(inner, layer) != query_shape.width:
        inner.add(
            ("W_V", "W_O"),
            f"the output vectors are {_output_width(inner, layer)} wide, but the residual adds them to vectors that "
            f"are {query_shape.width} wide. Change W_V or W_O.",
        )
    shapes.include(name, inner)


def _output_width(shapes: Shapes, layer: AttentionLayer) -> int:
    if layer.W_O is not None:
        return shapes.width(layer.W_O)
    owners = list(layer.kv_heads) or list(layer.heads) or [layer]
    value_matrices = [owner.V if owner.V is not None else owner.W_V for owner in owners]
    return sum(shapes.width(matrix) for matrix in value_matrices if matrix is not None) * (
        layer.head_count // layer.kv_count
    )


def check_feed_forward(shapes: Shapes, layer: FeedForwardLayer | None, count: int, width: int) -> None:
    """Report errors in a feed-forward network with a residual, so that its output must have the width of its input."""
    if layer is None:
        return
    inner = Shapes(shapes.layout)
    layer.layer_mistakes(inner, "X", count, width)
    if not inner.mistakes and inner.width(layer.W_2) != width:
        inner.add(
            ("W_2",),
            f"the output vectors are {inner.width(layer.W_2)} wide, but the residual adds them to vectors that are "
            f"{width} wide. Change W_2.",
        )
    shapes.include("feed_forward", inner)
