"""Dropout, and norms: layer norm, RMS norm, and a norm over all numbers of a sentence except padding."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.model.mask import counted_tokens
from clearhead.steps import NO_TRACE, Tracer
from clearhead.steps.vocabulary import MEAN, NORMALISE, RMS_NORMALISE, VARIANCE

_BYTES = 256


def dropout(x: Tensor, share: float, is_training: bool) -> Tensor:
    """Set about `share` of the numbers to 0 and scale up the others in training; otherwise return x.

    On a CPU, this takes a random byte for each number, which is several times faster there than PyTorch's dropout. The
    dropped share is then a multiple of 1/256 (26/256 for 0.1), and the remaining numbers are scaled accordingly.
    """
    if not is_training or share == 0.0:
        return x
    dropped = round(share * _BYTES)
    if x.device.type != "cpu" or not 0 < dropped < _BYTES:
        return F.dropout(x, share, is_training)
    words = torch.randint(-(2**63), 2**63 - 1, ((x.numel() + 7) // 8,))  # eight random bytes each
    survivors = words.view(torch.uint8)[: x.numel()].view(x.shape) >= dropped
    return x * survivors * (_BYTES / (_BYTES - dropped))


class LayerNorm(nn.Module):
    """γ (x - μ) / √(σ² + ε) + β over the numbers of each token, with the biased variance."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.gain = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor, keys: Tensor | None = None, *, trace: Tracer = NO_TRACE) -> Tensor:
        """Normalise every token independently."""
        y = F.layer_norm(x, self.gain.shape, self.gain, self.shift, self.epsilon)
        if trace.is_on:
            trace.give("gain", self.gain, symbol="γ")
            trace.give("shift", self.shift, symbol="β")
            trace.record(NORMALISE, y, x=x, epsilon=self.epsilon, gain=self.gain, shift=self.shift)
        return y


class RMSNorm(nn.Module):
    """γ x / √(mean of x² + ε) over the numbers of each token."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor, keys: Tensor | None = None, *, trace: Tracer = NO_TRACE) -> Tensor:
        """Normalise every token independently."""
        y = F.rms_norm(x, self.gain.shape, self.gain, self.epsilon)
        if trace.is_on:
            trace.give("gain", self.gain, symbol="γ")
            trace.record(RMS_NORMALISE, y, x=x, epsilon=self.epsilon, gain=self.gain)
        return y


class SentenceNorm(LayerNorm):
    """γ (x - μ) / √(σ² + ε) + β with one mean and one variance for all d × n numbers of a sentence except padding."""

    def forward(self, x: Tensor, keys: Tensor | None = None, *, trace: Tracer = NO_TRACE) -> Tensor:
        """Normalise every sentence independently; `keys` (B, T) is True for the tokens to include."""
        counted = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device) if keys is None else counted_tokens(keys)
        weight = counted[..., None].to(x.dtype)  # (B, T, 1)
        number = weight.sum(dim=(1, 2), keepdim=True).clamp(min=1.0) * x.shape[-1]
        mean = (x * weight).sum(dim=(1, 2), keepdim=True) / number  # (B, 1, 1)
        variance = ((x - mean) ** 2 * weight).sum(dim=(1, 2), keepdim=True) / number
        y = (x - mean) / torch.sqrt(variance + self.epsilon) * self.gain + self.shift
        if trace.is_on:
            trace.give("gain", self.gain, symbol="γ")
            trace.give("shift", self.shift, symbol="β")
            trace.give("counted", counted)
            trace.record(MEAN, mean, x=x, over="all", counted=counted)
            trace.record(VARIANCE, variance, x=x, mean=mean, over="all", counted=counted)
            trace.record(
                NORMALISE, y, x=x, mean=mean, variance=variance, gain=self.gain, shift=self.shift, epsilon=self.epsilon
            )
        return y


NORMS = {"layer": LayerNorm, "rms": RMSNorm, "all": SentenceNorm}
