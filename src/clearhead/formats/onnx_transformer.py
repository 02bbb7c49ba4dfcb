"""A Transformer as two ONNX graphs: the encoder, and one step of the decoder with its cache.

The graphs compute what `model/numpy_transformer.py` computes, with the same names and shapes; a test compares the two.
The encoder also returns the keys and values of the source for every decoder layer, so that a step does not repeat them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper

from clearhead.formats.arrays import ModelArrays, with_zeros
from clearhead.formats.onnx_graph import OnnxGraphBuilder, OnnxPrecision
from clearhead.formats.shapes import num_parameters
from clearhead.model.config import ModelConfig
from clearhead.model.numpy_transformer import Array, complete_weights, numpy_lacks

_MAX_BYTES = 2**31 - 2**20  # of an ONNX file, which is a single message of protobuf


@dataclass(frozen=True, eq=False)
class OnnxModels:
    """The two graphs of a model."""

    encoder: onnx.ModelProto
    step: onnx.ModelProto


def onnx_lacks(config: ModelConfig) -> str | None:
    """Return why a model cannot be written as ONNX graphs, as a clause, or None if it can."""
    reason = numpy_lacks(config)
    if reason is not None:
        return reason
    if not config.decoder_blocks:
        return "it needs at least one decoder layer"
    return "a graph can have at most 2 GiB" if 4 * num_parameters(config) > _MAX_BYTES else None


def onnx_models(model: ModelArrays, precision: OnnxPrecision = "float32") -> OnnxModels:
    """Return the graphs of a model whose weights are the given ones; removed heads are zeros."""
    model = with_zeros(model)
    config, weights = model.config, complete_weights(model.config, model.arrays)
    return OnnxModels(
        _EncoderGraph(config, weights, precision).build(),
        _StepGraph(config, weights, precision).build(),
    )


def key_value_names(config: ModelConfig, prefix: str) -> list[str]:
    """Return the names of keys and values, layer by layer: of the source, with the prefix `memory`, or of the target.

    Those of the target have the prefix `past` as inputs and `next` as outputs.
    """
    return [f"{prefix}_{part}_{number}" for number in range(config.decoder_blocks) for part in ("key", "value")]


def _tied(config: ModelConfig, name: str) -> str:
    """Return the name under which a checkpoint has a table."""
    if config.tied == "none" or name == "encoder.embedding.weight":
        return name
    return "encoder.embedding.weight" if config.tied == "three" else "decoder.embedding.weight"


def _float(name: str, shape: Sequence[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


class _LayerGraph(OnnxGraphBuilder):
    """What both graphs have: residuals, feed-forward networks and embeddings."""

    side: str  # encoder or decoder

    def __init__(self, config: ModelConfig, weights: Mapping[str, Array], precision: OnnxPrecision) -> None:
        super().__init__(weights, precision)
        self.config = config
        self.width = config.d_model if self.side == "encoder" else config.decoder_width
        self.head_width = config.head_width(self.side)

    def embed_tokens(self, ids: str) -> str:
        x = self.embed(_tied(self.config, f"{self.side}.embedding.weight"), ids)
        if self.config.scale_embedding:
            x = self.node("Mul", x, self.constant(math.sqrt(self.width)))
        return x

    def before(self, x: str, residual: str) -> str:
        """Return the input of a sublayer: norm(x) in a pre-norm model, x in a post-norm one."""
        return self._norm(x, residual) if self.config.norm_place == "pre" else x

    def after(self, x: str, y: str, residual: str) -> str:
        """Return x + y, normalised in a post-norm model."""
        total = self.node("Add", x, y)
        return total if self.config.norm_place == "pre" else self._norm(total, residual)

    def _norm(self, x: str, residual: str) -> str:
        return self.norm(x, f"{residual}.norm", self.config.epsilon)

    def feed_forward(self, x: str, place: str, residual: str) -> str:
        y, name = self.before(x, residual), f"{place}.feed_forward"
        hidden = self.activate(self.linear(y, f"{name}.first"), self.config.activation)
        if self.config.is_gated:
            hidden = self.node("Mul", hidden, self.linear(y, f"{name}.gate"))
        return self.after(x, self.linear(hidden, f"{name}.second"), residual)

    def finish(self, x: str) -> str:
        name = f"{self.side}.last_norm"
        return self.norm(x, name, self.config.epsilon) if self.config.ends_with_norm else x

    def heads(self, x: str, order: Sequence[int], width: int | None = None) -> str:
        """(B, T, D) → (B, T, H, E), with the axes in another order"""
        width = self.head_width if width is None else width
        return self.swap(self.reshape(x, (0, 0, self.config.num_heads, width)), order)


class _EncoderGraph(_LayerGraph):
    """source (B, S) → is_hidden (B, 1, 1, S), and for every decoder layer Kᵀ (B, H, E, S) and V (B, H, S, E)"""

    side = "encoder"

    def build(self) -> onnx.ModelProto:
        config = self.config
        padding = self.node("Equal", "source", self.constant(config.pad, np.int64))
        is_hidden = self.unsqueeze(padding, (1, 2))  # (B, 1, 1, S)
        x = self._with_positions(self.embed_tokens("source"))
        for number in range(config.encoder_blocks):
            place = f"encoder_blocks.{number}"
            x = self._attend_own(x, place, is_hidden)
            x = self.feed_forward(x, place, f"{place}.residuals.1")
        x = self.finish(x)
        outputs = {is_hidden: helper.make_tensor_value_info("is_hidden", TensorProto.BOOL, ["B", 1, 1, "S"])}
        for number in range(config.decoder_blocks):
            outputs |= self._memory(x, number)
        inputs = [helper.make_tensor_value_info("source", TensorProto.INT64, ["B", "S"])]
        return self.model("encoder", inputs, outputs)

    def _with_positions(self, x: str) -> str:
        if not self.config.has_position_table:
            return x
        length = self.node("Gather", self.node("Shape", "source"), self.constant([1], np.int64))
        first, axis = self.constant([0], np.int64), self.constant([0], np.int64)
        return self.node("Add", x, self.node("Slice", self.weight("encoder.position"), first, length, axis))

    def _attend_own(self, x: str, place: str, is_hidden: str) -> str:
        name, residual = f"{place}.self_attention", f"{place}.residuals.0"
        packed = self.linear(self.before(x, residual), f"{name}.packed")
        q, k, v = self.split(packed, 3, self.width)
        mixed = self.attend(
            self.heads(q, (0, 2, 1, 3)), self.heads(k, (0, 2, 3, 1)), self.heads(v, (0, 2, 1, 3)),
            self.head_width, is_hidden,
        )  # fmt: skip
        joined = self.reshape(self.swap(mixed, (0, 2, 1, 3)), (0, 0, self.width))
        return self.after(x, self.linear(joined, f"{name}.output"), residual)

    def _memory(self, x: str, number: int) -> dict[str, onnx.ValueInfoProto]:
        config = self.config
        packed = self.linear(x, f"decoder_blocks.{number}.cross_attention.packed")
        k, v = self.split(packed, 2, config.decoder_width)
        width = config.head_width("decoder")
        heads = config.num_heads
        return {
            self.heads(k, (0, 2, 3, 1), width): _float(f"memory_key_{number}", ("B", heads, width, "S")),
            self.heads(v, (0, 2, 1, 3), width): _float(f"memory_value_{number}", ("B", heads, "S", width)),
        }


class _StepGraph(_LayerGraph):
    """tokens (B, K), length (), is_hidden, memory, past (B, K, H, T, E) → logits (B, K, V), past (B, K, H, T+1, E)"""

    side = "decoder"

    def build(self) -> onnx.ModelProto:
        config = self.config
        x = self.embed_tokens("tokens")
        if config.has_position_table:
            x = self.node("Add", x, self.node("Gather", self.weight("decoder.position"), "length"))
        past: list[str] = []
        for number in range(config.decoder_blocks):
            place = f"decoder_blocks.{number}"
            x = self._attend_own(x, number, past)
            x = self._attend_memory(x, number)
            x = self.feed_forward(x, place, f"{place}.residuals.2")
        logits = self.linear(self.finish(x), "output", _tied(config, "output.weight"))
        outputs = {logits: _float("logits", ("B", "K", config.target_size))}
        shape = ("B", "K", config.num_heads, "T_next", self.head_width)
        outputs |= dict(zip(past, (_float(name, shape) for name in key_value_names(config, "next")), strict=True))
        return self.model("step", self._inputs(), outputs)

    def _inputs(self) -> list[onnx.ValueInfoProto]:
        config, width = self.config, self.head_width
        inputs = [
            helper.make_tensor_value_info("tokens", TensorProto.INT64, ["B", "K"]),
            helper.make_tensor_value_info("is_hidden", TensorProto.BOOL, ["B", 1, 1, "S"]),
        ]
        if config.has_position_table:
            inputs.append(helper.make_tensor_value_info("length", TensorProto.INT64, []))
        for name in key_value_names(config, "memory"):
            sizes = (width, "S") if "key" in name else ("S", width)
            inputs.append(_float(name, ("B", config.num_heads, *sizes)))
        past_shape = ("B", "K", config.num_heads, "T", width)
        return inputs + [_float(name, past_shape) for name in key_value_names(config, "past")]

    def _attend_own(self, x: str, number: int, past: list[str]) -> str:
        place = f"decoder_blocks.{number}"
        name, residual = f"{place}.self_attention", f"{place}.residuals.0"
        packed = self.linear(self.before(x, residual), f"{name}.packed")
        shape = (0, 0, self.config.num_heads, 1, self.head_width)
        q, k, v = (self.reshape(part, shape) for part in self.split(packed, 3, self.width))
        k = self.node("Concat", f"past_key_{number}", k, attributes={"axis": 3})  # (B, K, H, T+1, E)
        v = self.node("Concat", f"past_value_{number}", v, attributes={"axis": 3})
        past += [k, v]
        mixed = self.attend(q, self.swap(k, (0, 1, 2, 4, 3)), v, self.head_width)  # (B, K, H, 1, E)
        joined = self.reshape(mixed, (0, 0, self.width))
        return self.after(x, self.linear(joined, f"{name}.output"), residual)

    def _attend_memory(self, x: str, number: int) -> str:
        place = f"decoder_blocks.{number}"
        name, residual = f"{place}.cross_attention", f"{place}.residuals.1"
        q = self.heads(self.linear(self.before(x, residual), f"{name}.query"), (0, 2, 1, 3))  # (B, H, K, E)
        mixed = self.attend(q, f"memory_key_{number}", f"memory_value_{number}", self.head_width, "is_hidden")
        joined = self.reshape(self.swap(mixed, (0, 2, 1, 3)), (0, 0, self.width))
        return self.after(x, self.linear(joined, f"{name}.output"), residual)
