"""The weights of a model as NumPy arrays in float32, for engines that run without torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clearhead.formats.shapes import beyond_float16
from clearhead.model.config import ModelConfig

if TYPE_CHECKING:
    from clearhead.model import SequenceModel

Array = npt.NDArray[np.float32]
_LARGEST_FLOAT16 = 65504.0


@dataclass(frozen=True, eq=False)
class ModelArrays:
    """A config and its weights, tied ones once, under the names of a checkpoint."""

    config: ModelConfig
    arrays: Mapping[str, Array]


def check_float16(model: ModelArrays) -> None:
    """Raise CheckpointError if a weight is beyond the range of float16, and would become infinite."""
    for name, array in model.arrays.items():
        if array.size and float(np.abs(array).max()) > _LARGEST_FLOAT16:
            raise beyond_float16(name)


def with_zeros(model: ModelArrays) -> ModelArrays:
    """Return arrays with the same outputs in which removed heads are zeros, for programs with one number of heads."""
    if not model.config.heads_kept:
        return model
    from clearhead.formats.head_removal import tensors_with_all

    return ModelArrays(*tensors_with_all(model.config, model.arrays, lambda shape: np.zeros(shape, np.float32)))


def arrays_of(model: "SequenceModel") -> ModelArrays:
    """Return copies of the weights of a PyTorch model."""
    from clearhead.formats.weights import own_tensors

    tensors = own_tensors(model).items()
    return ModelArrays(
        model.config, {name: np.array(tensor.detach().cpu().float().numpy()) for name, tensor in tensors}
    )
