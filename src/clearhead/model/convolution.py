"""Gated convolutions in two versions: PyTorch's kernel, and the sum over the filter step by step with every number.

Y = A ⊙ σ(G), where A and G are convolutions of the same tokens: a gated linear unit. The traced version computes its
output from the values that it records. A test compares the two versions.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.model.convolution_cache import LayerPast
from clearhead.model.recorded_steps import activate_traced, multiply_traced
from clearhead.steps import NO_TRACE, Tracer
from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import APPEND, CONVOLVE


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
