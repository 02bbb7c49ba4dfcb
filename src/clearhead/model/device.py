"""Where a model computes, and by which kernels."""

import os

import torch

from clearhead.errors import ConfigError


def choose_device(name: str) -> torch.device:
    """Return the device that is asked for; auto is a GPU if there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("the device cuda is asked for, but PyTorch sees no GPU here. Say cpu or auto.")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def choose_kernels(is_deterministic: bool) -> None:
    """Have the library use kernels whose sums come in one order, or any."""
    if is_deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what the library asks for; read at its first use
    torch.use_deterministic_algorithms(is_deterministic)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # a help to find faults
