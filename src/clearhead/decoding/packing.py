"""Weights in the order in which a CPU reads them: the same model, whose products are faster when rows are few.

A product of a hundred rows spends much of its time on putting the weights in order; here that is done once.
"""

import copy
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.model import Transformer

Module = TypeVar("Module", bound=nn.Module)


class PackedLinear(nn.Module):
    """x W + b by oneDNN, with W in its own order. The weights themselves are those of the model it came from."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        self._ordered = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach())

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) → (…, out)"""
        if torch.is_grad_enabled() or x.dtype != torch.float32 or torch.is_autocast_enabled("cpu"):
            return F.linear(x, self.weight, self.bias)
        made: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._ordered, self.bias, "none", [], "")
        return made


def can_pack(model: Transformer) -> bool:
    """Return whether packing is of use: a model in float32 on a CPU, with a PyTorch that has oneDNN."""
    weight = model.output.weight
    has_library = torch._C._has_mkldnn and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
    return has_library and weight.device.type == "cpu" and weight.dtype == torch.float32


def packed(model: Transformer) -> Transformer:
    """Return a copy for translating on a CPU, which shares all weights; the model itself where that is of no use.

    Pack once, after loading: it takes as long as a few sentences. Weights that change later are not packed again.
    """
    return _with_packed_products(model) if can_pack(model) else model


def _with_packed_products(module: Module) -> Module:
    made = copy.copy(module)
    made._modules = {
        name: PackedLinear(child)
        if type(child) is nn.Linear
        else child
        if child is None
        else _with_packed_products(child)
        for name, child in module._modules.items()
    }
    return made
