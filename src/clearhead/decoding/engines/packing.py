"""Pack the weights of a model in the memory order that oneDNN uses on a CPU, which speeds up small products.

A product of a hundred rows spends much of its time reordering the weights; packing does this once.
"""

import copy
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.model import SequenceModel

Model = TypeVar("Model", bound=SequenceModel)
Module = TypeVar("Module", bound=nn.Module)


_MOST_ROWS = 512  # with more rows, reordering the weights is a small part of the work


class PackedLinear(nn.Module):
    """x W + b by oneDNN with packed weights; `weight` and `bias` are those of the original model."""

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

    oneDNN caches a plan of about a hundred kilobytes for every number of rows it sees. Rounding keeps the number of
    plans small, so that memory does not grow with the variety of sentence lengths.
    """
    step = 1 << max(0, number.bit_length() - 4)
    return -(-number // step) * step


def can_pack(model: SequenceModel) -> bool:
    """Return whether packing is possible: the model is in float32 on a CPU, and this PyTorch has oneDNN."""
    has_library = torch._C._has_mkldnn and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
    return has_library and model.device.type == "cpu" and model.dtype == torch.float32


def packed(model: Model) -> Model:
    """Return a packed copy that shares all weights, for translating on a CPU; the model itself if it cannot be packed.

    Pack once after loading; it takes as long as translating a few sentences. Weights that change later are not packed
    again.
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
