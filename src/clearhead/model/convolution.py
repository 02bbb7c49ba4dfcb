"""The layers of a convolutional encoder and decoder, with attention to the source.

Gated convolutions have two versions: PyTorch's kernel, and the sum over the filter step by step with every number.

Y = A ⊙ σ(G), where A and G are convolutions of the same tokens: a gated linear unit. The traced version computes its
output from the values that it records. A test compares the two versions.
"""

import math
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.model.attention import trace_head, trace_scores
from clearhead.model.config import ModelConfig
from clearhead.model.convolution_cache import LayerPast
from clearhead.model.norm import dropout
from clearhead.model.recorded_steps import activate_traced, add_traced, as_number, multiply_traced, product_traced
from clearhead.steps import NO_TRACE, Tracer
from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import APPEND, CONVOLVE, MULTIPLY

_ROOT = math.sqrt(0.5)  # the sum of two independent numbers of variance 1 has variance 2, and 1 again after this


class GatedConvolution(nn.Module):
    """A convolution over tokens that keeps their number and width, with a gate for every number.

    The filter is one matrix (2D, kernel · D): the rows are A, then G, and the columns are those of the first token of
    the window, then of the second one, and so on. Tokens beyond the ends of a text count as 0. The window of a token is
    centred on it, or with `is_causal` ends with it.
    """

    def __init__(self, width: int, kernel: int, *, is_causal: bool) -> None:
        super().__init__()
        self.width, self.kernel = width, kernel
        self.num_before = kernel - 1 if is_causal else kernel // 2  # tokens before its own in the window of a token
        self.filter = nn.Linear(kernel * width, 2 * width)

    def forward(self, x: Tensor, past: LayerPast | None = None, *, trace: Tracer = NO_TRACE) -> Tensor:
        """(B, T, D) → (B, T, D). With a past, x has only new tokens, and the inputs before them are those of `past`."""
        if trace.is_on:
            return convolve_traced(self, x, past, trace)
        return convolve_fused(self, x, past)


def convolve_fused(layer: GatedConvolution, x: Tensor, past: LayerPast | None = None) -> Tensor:
    """Compute the gated convolution with PyTorch's kernel, or with one product if there are only a few new tokens."""
    weight, bias = layer.filter.weight, layer.filter.bias
    if past is not None:
        windows = past.append(x).unfold(-2, layer.kernel, 1).transpose(-1, -2)  # (…, T, kernel, D)
        return past.by_token(F.glu(F.linear(windows.flatten(-2), weight, bias), dim=-1))
    filters = weight.view(-1, layer.kernel, layer.width).transpose(1, 2)  # (2D, D, kernel)
    y = F.conv1d(x.transpose(1, 2), filters, bias, padding=layer.num_before)  # (B, 2D, T), or more if it is causal
    return F.glu(y[..., : x.shape[1]].transpose(1, 2), dim=-1)


def convolve_traced(
    layer: GatedConvolution, x: Tensor, past: LayerPast | None = None, trace: Tracer = NO_TRACE
) -> Tensor:
    """Compute the gated convolution step by step and record every step."""
    first, count = -layer.num_before, x.shape[1]
    if past is not None:
        cached, new = past.inputs, past.by_window(x)
        x = past.append(x)
        trace.give("cached", cached)
        trace.record(APPEND, x, symbol="X′", cached=cached, new=new)
        first, count = 0, x.shape[-2] - layer.kernel + 1
    value = _trace_convolution(layer, x, (first, count), "A", trace.at("value"))
    signal = _trace_convolution(layer, x, (first, count), "G", trace.at("gate"))
    gate = activate_traced(signal, "sigmoid", "G′", trace.at("gate"))
    y = multiply_traced(value, gate, "Y", trace)
    return y if past is None else past.by_token(y)


def _trace_convolution(layer: GatedConvolution, x: Tensor, span: tuple[int, int], letter: str, trace: Tracer) -> Tensor:
    """Compute and record one half of the convolution, A or G; `span` is the first place and the number of windows."""
    (first, count), width = span, layer.width
    rows = slice(0, width) if letter == "A" else slice(width, None)
    taps = tuple(layer.filter.weight[rows, number * width :][:, :width].T for number in range(layer.kernel))
    bias = layer.filter.bias[rows]
    for number, tap in enumerate(taps, 1):
        trace.give(f"W_{letter}{number}", tap, symbol=f"W_{letter}{subscript(number)}")
    trace.give(f"b_{letter}", bias)
    padded = F.pad(x, (0, 0, -first, max(first + count + layer.kernel - 1 - x.shape[-2], 0)))
    y = bias
    for number, tap in enumerate(taps):
        y = y + padded[..., number : number + count, :] @ tap
    trace.record(CONVOLVE, y, symbol=letter, x=x, taps=taps, first=first, count=count, b=bias)
    return y


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
