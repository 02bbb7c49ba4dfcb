"""Feed-forward networks, and the layers of encoder and decoder: sublayers with residuals and norms."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from clearhead.model.attention import Attention
from clearhead.model.config import ModelConfig
from clearhead.model.key_values import KeyValues
from clearhead.model.mask import PreparedMask
from clearhead.model.norm import NORMS, dropout
from clearhead.model.probe import NO_PROBE, Probe
from clearhead.model.recorded_steps import activate_traced, add_traced, multiply_traced, product_traced
from clearhead.steps import NO_TRACE, Tracer


class FeedForward(nn.Module):
    """f(x W₁ + b₁) W₂ + b₂, or with a gate (f(x W₁) ⊙ (x W₃)) W₂."""

    def __init__(self, width: int, config: ModelConfig) -> None:
        super().__init__()
        self.activation, self.dropout = config.activation, config.activation_dropout
        self.first = nn.Linear(width, config.d_ff, bias=config.has_bias)
        self.gate = nn.Linear(width, config.d_ff, bias=config.has_bias) if config.is_gated else None
        self.second = nn.Linear(config.d_ff, width, bias=config.has_bias)

    def forward(self, x: Tensor, *, trace: Tracer = NO_TRACE) -> Tensor:
        """Transform every token independently."""
        here = trace.at("first")
        first = product_traced(self.first, x, "1", here)  # (B, T, F)
        hidden = activate_traced(first, self.activation, "F₁′", here)
        if self.gate is not None:
            here = trace.at("gate")
            gate = product_traced(self.gate, x, "3", here)
            hidden = multiply_traced(hidden, gate, "F′", here)
        hidden = dropout(hidden, self.dropout, self.training)
        return product_traced(self.second, hidden, "2", trace.at("second"))  # (B, T, D)


class Residual(nn.Module):
    """pre: x + f(norm(x)); post: norm(x + f(x)). Dropout is applied to the output of the sublayer f."""

    def __init__(self, width: int, norm: str, config: ModelConfig) -> None:
        super().__init__()
        self.is_pre, self.dropout = config.norm_place == "pre", config.dropout
        self.norm = NORMS[norm](width, config.epsilon)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], keys: Tensor | None, trace: Tracer) -> Tensor:
        """Return the output of a sublayer with its norm and residual; `keys` are the real tokens of an encoder."""
        y = sublayer(self.norm(x, keys, trace=trace.at("norm")) if self.is_pre else x)
        return self.after(x, y, keys, trace)

    def after(self, x: Tensor, y: Tensor, keys: Tensor | None, trace: Tracer) -> Tensor:
        """Add the output y of the sublayer to x."""
        total = add_traced(x, dropout(y, self.dropout, self.training), "R", trace)
        return total if self.is_pre else self.norm(total, keys, trace=trace.at("norm"))


class OutputBias(nn.Module):
    """The bias b_O of an output projection without inputs; it has the name that it has in other attention layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(width))


class HeadlessAttention(nn.Module):
    """Attention without heads: every token gets b_O, or 0 in a model without biases."""

    num_heads = 0

    def __init__(self, width: int, d_k: int, *, has_bias: bool = True) -> None:
        super().__init__()
        self.d_k = d_k
        self.output = OutputBias(width) if has_bias else None

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None,
        mask: PreparedMask,
        *,
        cache: KeyValues | None = None,
        places: object = None,
        probe: Probe = NO_PROBE,
    ) -> Tensor:
        """Return the bias for every token of x (B, Q, D). There are no keys and values to cache."""
        y = torch.zeros_like(x) if self.output is None else self.output.bias.expand_as(x)
        probe.trace.at("output").give("b_O", y)
        return y

    def key_values(self, memory: Tensor) -> KeyValues:
        """Return the keys and values of no heads."""
        nothing = memory.new_empty(memory.shape[0], 0, memory.shape[1], self.d_k)
        return KeyValues(nothing, nothing)


def make_attention(config: ModelConfig, where: str, memory_width: int | None = None) -> Attention | HeadlessAttention:
    """Return a new attention layer for a place, with the heads that it has there."""
    width = config.d_model if where.startswith("encoder") else config.decoder_width
    num_heads, d_k = config.num_heads_at(where), config.head_width(where)
    if num_heads == 0:
        return HeadlessAttention(width, d_k, has_bias=config.has_bias)
    dropped = config.attention_dropout
    layer = Attention(width, memory_width, num_heads, d_k=d_k, has_bias=config.has_bias, dropout=dropped)
    if not config.scale_scores:
        layer.score_root = 1
    return layer


class TransformerBlock(nn.Module):
    """Self-attention, cross-attention if there is a memory, then a feed-forward network; `where` is `encoder.0`."""

    def __init__(self, config: ModelConfig, where: str, memory_width: int | None = None) -> None:
        super().__init__()
        is_encoder = where.startswith("encoder")
        width = config.d_model if is_encoder else config.decoder_width
        norm = config.encoder_norm if is_encoder else config.decoder_norm
        self.self_attention = make_attention(config, f"{where}.self_attention")
        self.cross_attention: Attention | HeadlessAttention | None = None
        if memory_width is not None:
            self.cross_attention = make_attention(config, f"{where}.cross_attention", memory_width)
        self.feed_forward = FeedForward(width, config)
        count = 2 if memory_width is None else 3
        self.residuals = nn.ModuleList(Residual(width, norm, config) for _ in range(count))

    def forward(
        self,
        x: Tensor,
        mask: PreparedMask,
        memory: tuple[Tensor, PreparedMask] | None = None,
        *,
        places: Tensor | None = None,
        cache: "BlockCache | None" = None,
        probe: Probe = NO_PROBE,
    ) -> Tensor:
        """(B, T, D) → (B, T, D)"""
        trace, own = probe.trace, None if cache is None else cache.own

        def attend_own(y: Tensor) -> Tensor:
            own_probe = probe.at("self_attention")
            attended: Tensor = self.self_attention(y, None, mask, cache=own, places=places, probe=own_probe)
            return attended

        def attend_memory(y: Tensor) -> Tensor:
            assert self.cross_attention is not None
            assert memory is not None
            memory_cache = None if cache is None or trace.is_on else cache.memory
            attended: Tensor = self.cross_attention(y, *memory, cache=memory_cache, probe=probe.at("cross_attention"))
            return attended

        sublayers = [attend_own, lambda y: self.feed_forward(y, trace=trace.at("feed_forward"))]
        if self.cross_attention is not None:
            sublayers.insert(1, attend_memory)
        for number, sublayer in enumerate(sublayers):
            x = self.residuals[number](x, sublayer, mask.mask.keys, trace.at("add_and_norm", number))
        return x


@dataclass
class BlockCache:
    """The keys and values that a decoder layer caches between steps: of the target and of the memory."""

    own: KeyValues
    memory: KeyValues | None

    def reorder(self, index: Tensor) -> None:
        """Reorder the entries of the batch."""
        self.own.reorder(index)
        if self.memory is not None:
            self.memory.reorder(index)


def empty_key_values(
    layer: Attention | HeadlessAttention, size: int, device: torch.device, dtype: torch.dtype
) -> KeyValues:
    """Return keys and values for zero tokens."""
    nothing = torch.empty(size, layer.num_heads, 0, layer.d_k, device=device, dtype=dtype)
    return KeyValues(nothing, nothing)
