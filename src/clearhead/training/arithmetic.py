"""The arithmetic of a run on its device: the precision of matrix products, and whether the model is compiled."""

from dataclasses import dataclass

import torch

from clearhead.model.device import choose_kernels
from clearhead.training.config import TrainingConfig


@dataclass(frozen=True)
class Arithmetic:
    """The precision of matrix products, and whether the model is compiled."""

    precision: torch.dtype
    is_compiled: bool


def choose_arithmetic(config: TrainingConfig, device: torch.device) -> Arithmetic:
    """Return the arithmetic of a run, and prepare the kernels of its device."""
    is_cuda = device.type == "cuda"
    is_mixed = {"auto": is_cuda, "bfloat16": True}.get(config.precision, False)
    is_compiled = config.is_compiled
    if is_compiled is None:  # the hooks of FSDP cannot be part of a compiled layer
        is_compiled = is_cuda and config.parallel != "fsdp"
    if is_cuda:
        torch.set_float32_matmul_precision("high")
        choose_kernels(config.is_deterministic)
    return Arithmetic(torch.bfloat16 if is_mixed else torch.float32, is_compiled)
