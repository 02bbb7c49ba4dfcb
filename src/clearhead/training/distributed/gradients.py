"""The gradients of all parameters in one flat tensor: one all-reduce adds them over all ranks, without copies."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class FlatGradients:
    """A flat tensor whose parts are the gradients of parameters: `backward` adds to the parts in place."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = list(parameters)
        first = self._parameters[0]
        number = sum(parameter.numel() for parameter in self._parameters)
        self.flat: Tensor = torch.zeros(number, dtype=first.dtype, device=first.device)
        sizes = [parameter.numel() for parameter in self._parameters]
        parts = torch.split(self.flat, sizes)
        self._views = [part.view_as(parameter) for part, parameter in zip(parts, self._parameters, strict=True)]
        self.attach()

    def attach(self) -> None:
        """Set all gradients to 0, and make them the parts of the flat tensor again."""
        self.flat.zero_()
        for parameter, view in zip(self._parameters, self._views, strict=True):
            parameter.grad = view
