"""Where a model computes, by which kernels, and in which memory."""

import ctypes
import os

import torch

from clearhead.errors import ConfigError

_TRIM, _MMAP = -1, -4  # what malloc.h calls M_TRIM_THRESHOLD and M_MMAP_MAX


def choose_device(name: str) -> torch.device:
    """Return the device that is asked for; auto is a GPU if there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            "the device cuda is asked for, but PyTorch sees no GPU here. Say cpu or auto.", options=("device",)
        )
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def choose_kernels(is_deterministic: bool) -> None:
    """Have the library use kernels whose sums come in one order, or any."""
    if is_deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what the library asks for; read at its first use
    torch.use_deterministic_algorithms(is_deterministic)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # a help to find faults


def keep_freed_memory() -> bool:
    """Have this process keep the memory that it frees, for what it asks for next; say whether that can be had here.

    The C library gives every large tensor back to the system, which hands it out again page by page, each cleared: a
    quarter of the time of an update on a CPU. It holds for the whole process, so that only a program may ask for it.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not the GNU C library
        return False
    return bool(set_option(_MMAP, 0) and set_option(_TRIM, 2**31 - 1))
