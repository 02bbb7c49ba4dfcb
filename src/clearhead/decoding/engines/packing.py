"""Weights in the order in which a CPU reads them: the same model, whose products are faster when rows are few.

A product of a hundred rows spends much of its time on putting the weights in order; here that is done once.
"""

import copy
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.model import SequenceModel

Model = TypeVar("Model", bound=SequenceModel)
Module = TypeVar("Module", bound=nn.Module)


_MOST_ROWS = 512  # of more, putting the weights in order is a small part of the work


class PackedLinear(nn.Module):
    """x W + b by oneDNN, with W in its own order. The weights themselves are those of the model it came from."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        self._ordered = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach())

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) → (…, out)"""
        rows = x.reshape(-1, x.shape[-1])
        is_plain = torch.is_grad_enabled() or x.dtype != torch.float32 or torch.is_autocast_enabled("cpu")
        if is_plain or len(rows) > _MOST_ROWS:
            return F.linear(x, self.weight, self.bias)
        size = rounded_up(len(rows))
        full = F.pad(rows, (0, 0, 0, size - len(rows))) if size > len(rows) else rows
        product: Tensor = torch.ops.mkldnn._linear_pointwise(full, self._ordered, self.bias, "none", [], "")
        return product[: len(rows)].view(*x.shape[:-1], product.shape[-1])


def rounded_up(number: int) -> int:
    """Return the next number with at most four significant bits: 15, 16, 18, 20 … 30, 32, 36 …

    oneDNN keeps a plan for every number of rows that it has seen, some hundred kilobytes each: without this, memory
    would grow with the variety of sentences.
    """
    step = 1 << max(0, number.bit_length() - 4)
    return -(-number // step) * step


def can_pack(model: SequenceModel) -> bool:
    """Return whether packing is of use: a model in float32 on a CPU, with a PyTorch that has oneDNN."""
    has_library = torch._C._has_mkldnn and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
    return has_library and model.device.type == "cpu" and model.dtype == torch.float32


def packed(model: Model) -> Model:
    """Return a copy for translating on a CPU, which shares all weights; the model itself where that is of no use.

    Pack once, after loading: it takes as long as a few sentences. Weights that change later are not packed again.
    """
    return _with_packed_products(model) if isinstance(model, nn.Module) and can_pack(model) else model


def _with_packed_products(module: Module) -> Module:
    fast = copy.copy(module)
    fast._modules = {
        name: PackedLinear(child)
        if type(child) is nn.Linear
        else child
        if child is None
        else _with_packed_products(child)
        for name, child in module._modules.items()
    }
    return fast
