"""Matrices as int8 with one float32 scale for each row: a quarter of the size of float32.

A file holds `name` (int8) and `name.scale`; row i of the matrix is scale[i] times row i of the integers. Every reader
returns these products in float32, so that all engines compute with the same numbers.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from clearhead.errors import CheckpointError

if TYPE_CHECKING:
    from torch import Tensor

SCALE = ".scale"
_LARGEST = 127
T = TypeVar("T", "Tensor", npt.NDArray[Any])


def to_int8(arrays: Mapping[str, npt.NDArray[np.float32]]) -> dict[str, npt.NDArray[Any]]:
    """Return the tensors of a file in which matrices are int8; vectors, such as biases and norms, stay float32."""
    stored: dict[str, npt.NDArray[Any]] = {}
    for name, array in arrays.items():
        if array.ndim != 2:
            stored[name] = array.astype(np.float32)
            continue
        scale = np.abs(array).max(axis=1).astype(np.float32) / np.float32(_LARGEST)
        divisor = np.where(scale > 0, scale, np.float32(1))  # a row of zeros
        stored[name] = np.rint(array / divisor[:, None]).clip(-_LARGEST, _LARGEST).astype(np.int8)
        stored[f"{name}{SCALE}"] = scale
    return stored


def from_int8(tensors: Mapping[str, T]) -> dict[str, T]:
    """Return the tensors of a file with each int8 matrix multiplied by its scale; other tensors are unchanged."""
    matrices = {name for name, tensor in tensors.items() if _kind(tensor) == "int8" and f"{name}{SCALE}" in tensors}
    original = {}
    for name, tensor in tensors.items():
        if name in matrices:
            scale = tensors[f"{name}{SCALE}"]
            _check(name, tensor, scale)
            original[name] = tensor * scale[:, None]
        elif name.removesuffix(SCALE) not in matrices:
            original[name] = tensor
    return original


def _check(name: str, tensor: T, scale: T) -> None:
    shape = tuple(tensor.shape)
    if len(shape) != 2 or tuple(scale.shape) != shape[:1] or _kind(scale) != "float32":
        raise CheckpointError(
            f"{name} is int8 of shape {shape} and its scale {_kind(scale)} of shape {tuple(scale.shape)}, but a matrix "
            "in int8 has one float32 for each of its rows. Copy the file again."
        )


def _kind(tensor: T) -> str:
    return str(tensor.dtype).removeprefix("torch.")
