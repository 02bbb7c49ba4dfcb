"""Dropout: PyTorch's on a GPU; on a CPU one with a random byte for each number, which is several times faster there.

The dropped share is then a multiple of 1/256 (26/256 for 0.1), and the remaining numbers are scaled accordingly.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

_BYTES = 256


def dropout(x: Tensor, share: float, is_training: bool) -> Tensor:
    """Set about `share` of the numbers to 0 and scale up the others in training; otherwise return x."""
    if not is_training or share == 0.0:
        return x
    dropped = round(share * _BYTES)
    if x.device.type != "cpu" or not 0 < dropped < _BYTES:
        return F.dropout(x, share, is_training)
    words = torch.randint(-(2**63), 2**63 - 1, ((x.numel() + 7) // 8,))  # eight random bytes each
    survivors = words.view(torch.uint8)[: x.numel()].view(x.shape) >= dropped
    return x * survivors * (_BYTES / (_BYTES - dropped))
