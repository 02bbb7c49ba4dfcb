"""An attention layer of a pruned model that has lost every head: only the bias of its output is left."""

import torch
from torch import Tensor, nn

from clearhead.model.key_values import KeyValues
from clearhead.model.mask import PreparedMask
from clearhead.model.probe import NO_PROBE, Probe


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
