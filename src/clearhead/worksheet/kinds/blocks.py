"""An encoder block and a decoder block: attention, each followed by a residual and, if asked for, a norm."""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from clearhead.worksheet.arrays import Array
from clearhead.worksheet.attention.fit import Side, attention_mistakes
from clearhead.worksheet.attention.layer import AttentionLayer
from clearhead.worksheet.attention.rule import Mask, MaskRule
from clearhead.worksheet.attention.work import Tokens as Sequence
from clearhead.worksheet.attention.work import subscript, work_attention
from clearhead.worksheet.cells import Matrix, Tokens
from clearhead.worksheet.norm import NormRule, work_residual
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.sentence import Sentence
from clearhead.worksheet.shapes import Shapes

Norm = Annotated[NormRule, BeforeValidator(lambda raw: {"norm": raw} if isinstance(raw, str) else raw)]


class MaskedLayer(AttentionLayer):
    """An attention layer that is causal unless said otherwise."""

    mask: Mask = Field(
        default_factory=lambda: MaskRule(causal=True),
        description="causal unless said: none, causal, a matrix of 0 and 1, or {causal, padding, explicit}",
    )


def _output_width(shapes: Shapes, layer: AttentionLayer) -> int | None:
    """Return how wide the vectors are that the layer makes, if it can be read off."""
    if layer.W_O is not None:
        return shapes.width(layer.W_O)
    owners = list(layer.kv_heads) or list(layer.heads) or [layer]
    made = [owner.V if owner.V is not None else owner.W_V for owner in owners]
    groups = layer.head_count // layer.kv_count if layer.kv_count else 1
    return sum(shapes.width(matrix) for matrix in made if matrix is not None) * groups


def _check_layer(shapes: Shapes, name: str, layer: AttentionLayer, asking: Side, asked: Side) -> None:
    inner = Shapes(shapes.layout)
    attention_mistakes(inner, layer, asking, asked)
    if not inner.mistakes and _output_width(inner, layer) != asking.width:
        inner.mistakes.append(
            f"the layer makes vectors {_output_width(inner, layer)} wide, but the residual adds them to vectors "
            f"{asking.width} wide. Change W_V or W_O."
        )
    shapes.mistakes += [f"{name}: {mistake}" for mistake in inner.mistakes]


class EncoderBlock(Sentence, Problem):
    """Self-attention and a residual, with or without a norm."""

    summary: ClassVar[str] = "words and positions, self-attention, residual, norm"

    kind: Literal["encoder-block"] = "encoder-block"
    self_attention: AttentionLayer = Field(description="the attention layer: {W_Q, W_K, W_V, scale, num_heads …}")
    norm: Norm = Field(
        default_factory=NormRule, description="layer, batch, all, none, or {norm, epsilon, gain, shift …}"
    )

    def mistakes(self, shapes: Shapes) -> None:
        """Tell what does not fit."""
        self.sentence_mistakes(shapes)
        if not self.is_given:
            shapes.mistakes.append("encoder-block needs X, or an embedding with tokens.")
            return
        count, width = self.size(shapes)
        side = Side("X", count, width)
        _check_layer(shapes, "self_attention", self.self_attention, side, side)
        self.norm.norm_mistakes(shapes, count, width)

    def work(self, pen: Pen) -> None:
        """Write the block."""
        x = self.work_sentence(pen.at("input"))
        block = pen.at("encoder", 0)
        tokens = Sequence(x, self.names)
        z = work_attention(block.at("self_attention"), self.self_attention, tokens, tokens)
        _add_and_norm(block, 0, self.norm, x, z, self.names)


class DecoderBlock(Sentence, Problem):
    """Masked self-attention, cross-attention to the encoder's output, a residual after each."""

    summary: ClassVar[str] = "words and positions, masked self-attention, cross-attention to memory, residuals, norms"

    kind: Literal["decoder-block"] = "decoder-block"
    self_attention: MaskedLayer = Field(description="the masked self-attention layer: {W_Q, W_K, W_V, scale …}")
    cross_attention: AttentionLayer = Field(description="the layer that looks at memory: {W_Q, W_K, W_V, scale …}")
    memory: Matrix = Field(description="the encoder's output")
    memory_tokens: Tokens = Field((), description="names of the tokens of memory")
    norm: Norm = Field(
        default_factory=NormRule, description="layer, batch, all, none, or {norm, epsilon, gain, shift …}"
    )

    def mistakes(self, shapes: Shapes) -> None:
        """Tell what does not fit."""
        self.sentence_mistakes(shapes)
        if not self.is_given:
            shapes.mistakes.append("decoder-block needs X, or an embedding with tokens.")
            return
        count, width = self.size(shapes)
        side = Side("X", count, width)
        memory = Side("memory", shapes.tokens(self.memory), shapes.width(self.memory))
        _check_layer(shapes, "self_attention", self.self_attention, side, side)
        _check_layer(shapes, "cross_attention", self.cross_attention, side, memory)
        shapes.names("memory_tokens", self.memory_tokens, "memory", memory.count)
        self.norm.norm_mistakes(shapes, count, width)

    def work(self, pen: Pen) -> None:
        """Write the block."""
        x = self.work_sentence(pen.at("input"))
        block = pen.at("decoder", 0)
        tokens = Sequence(x, self.names)
        z = work_attention(block.at("self_attention"), self.self_attention, tokens, tokens)
        x = _add_and_norm(block, 0, self.norm, x, z, self.names)
        memory = Sequence(pen.give("memory", self.memory, rows=self.memory_tokens), self.memory_tokens)
        z = work_attention(block.at("cross_attention"), self.cross_attention, Sequence(x, self.names), memory)
        _add_and_norm(block, 1, self.norm, x, z, self.names)


def _add_and_norm(pen: Pen, number: int, rule: NormRule, x: Array, z: Array, names: tuple[str, ...]) -> Array:
    here, sub = pen.at("add_and_norm", number), subscript(number + 1)
    return rule.work_norm(here, work_residual(here, x, z, f"R{sub}"), names, sub)
