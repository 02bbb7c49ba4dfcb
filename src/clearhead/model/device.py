"""The device, kernels and memory settings that a model uses."""

import ctypes
import os

import torch

from clearhead.errors import ConfigError

_TRIM, _MMAP = -1, -4  # M_TRIM_THRESHOLD and M_MMAP_MAX in malloc.h


def choose_device(name: str) -> torch.device:
    """Return the requested device; auto is a GPU if there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            "the device cuda was requested, but PyTorch finds no GPU. Use cpu or auto.", options=("device",)
        )
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def choose_kernels(is_deterministic: bool) -> None:
    """Use only deterministic kernels, or any."""
    if is_deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # required by cuBLAS; read when it is first used
    torch.use_deterministic_algorithms(is_deterministic)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # only for debugging


def keep_freed_memory() -> bool:
    """Let this process keep freed memory for its next allocations, and return whether that is possible here.

    By default the C library returns every large tensor to the system and gets it back page by page, each one cleared:
    a quarter of the time of an update on a CPU. The setting affects the entire process, so only a program may use it.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not the GNU C library
        return False
    return bool(set_option(_MMAP, 0) and set_option(_TRIM, 2**31 - 1))
