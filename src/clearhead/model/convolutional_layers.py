"""The layers of a convolutional encoder and decoder, and the attention of the decoder to the source."""

import math
from dataclasses import dataclass

from torch import Tensor, nn

from clearhead.model.attention import trace_head, trace_scores
from clearhead.model.config import ModelConfig
from clearhead.model.convolution import GatedConvolution
from clearhead.model.convolution_cache import LayerPast
from clearhead.model.norm import dropout
from clearhead.model.recorded_steps import add_traced, as_number, multiply_traced, product_traced
from clearhead.steps import NO_TRACE, Tracer
from clearhead.steps.vocabulary import MULTIPLY

_ROOT = math.sqrt(0.5)  # the sum of two independent numbers of variance 1 has variance 2, and 1 again after this


def multiply(x: Tensor, factor: Tensor | None, name: str, symbol: str, trace: Tracer) -> Tensor:
    """Return x ⊙ factor and record it; with None, x is unchanged."""
    if factor is None:
        return x
    trace.give(name, factor)
    return multiply_traced(x, factor, symbol, trace)


def add_scaled(a: Tensor, b: Tensor, symbol: str, trace: Tracer) -> Tensor:
    """Return (a + b) √½ and record both steps."""
    total = add_traced(a, b, symbol, trace)
    scaled = total * _ROOT
    if trace.is_on:
        root = as_number(_ROOT, total)
        trace.give("half", root, symbol="√½")
        trace.record(MULTIPLY, scaled, symbol=f"{symbol}′", a=total, b=root)
    return scaled


class ConvolutionalEncoderBlock(nn.Module):
    """(x + convolution(x)) √½, with padding set to 0 first, so that no window of a real token contains any."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dropout = config.dropout
        self.convolution = GatedConvolution(config.d_model, config.kernel, is_causal=False)

    def forward(self, x: Tensor, real: Tensor | None, *, trace: Tracer = NO_TRACE) -> Tensor:
        """(B, S, D) → (B, S, D); `real` (B, S, 1) is 0 for padding and 1 for other tokens."""
        x = multiply(x, real, "real", "X̂", trace)
        y = self.convolution(dropout(x, self.dropout, self.training), trace=trace.at("convolution"))
        return add_scaled(x, y, "R", trace.at("residual"))


@dataclass(frozen=True, eq=False)
class Source:
    """What a decoder layer attends to: the encoder's output and what is mixed of it, each (B, S, D)."""

    keys: Tensor
    values: Tensor
    allowed: Tensor  # (B or 1, T, S): True for the tokens that can be attended to


class SourceAttention(nn.Module):
    """Attention with one head of full width: queries are projected, keys are the encoder's output as it is.

    Q = (x W_Q + b_Q + g) √½, where g is the embedding of the token; Z = softmax(Q Kᵀ / √d) V, where V is the encoder's
    output with the embeddings of the source tokens added; the output is Z W_O + b_O.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor, embedded: Tensor, source: Source, *, trace: Tracer = NO_TRACE) -> Tensor:
        """Attend from the states x (B, T, D) of tokens with these embeddings (B, T, D)."""
        projected = product_traced(self.query, x, "Q", trace.at("query"))
        q = add_scaled(projected, embedded, "Q⁺", trace.at("query"))
        trace.give("M", source.allowed)
        here = trace.at("head", 0)
        scores = trace_scores(here, q, source.keys, "₁")
        mixed = trace_head(here, scores, source.values, source.allowed, "₁")
        return product_traced(self.output, mixed, "O", trace.at("output"))


class ConvolutionalDecoderBlock(nn.Module):
    """A convolution over the tokens so far, attention to the source if there is one, and residuals around both."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dropout = config.dropout
        self.convolution = GatedConvolution(config.d_model, config.kernel, is_causal=True)
        has_source = config.shape == "encoder-decoder"
        self.cross_attention = SourceAttention(config.d_model) if has_source else None

    def forward(
        self,
        x: Tensor,
        embedded: Tensor,
        source: Source | None,
        *,
        real: Tensor | None = None,
        past: LayerPast | None = None,
        trace: Tracer = NO_TRACE,
    ) -> Tensor:
        """(B, T, D) → (B, T, D); `embedded` (B, T, D) are the embeddings of the tokens, the input of layer 1."""
        x = multiply(x, real, "real", "X̂", trace)
        y: Tensor = self.convolution(dropout(x, self.dropout, self.training), past, trace=trace.at("convolution"))
        if self.cross_attention is not None:
            assert source is not None
            context = self.cross_attention(y, embedded, source, trace=trace.at("cross_attention"))
            y = add_scaled(y, context, "C", trace.at("cross_attention"))
        return add_scaled(x, y, "R", trace.at("residual"))
