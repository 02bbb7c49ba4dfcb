"""Traces in float64 for worksheets, on which every digit must be correct.

A float32 model is correct to about seven digits per step, so a displayed sum would often be wrong in its last digit.
"""

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor

from clearhead.model.base import SequenceModel
from clearhead.model.batch import Batch
from clearhead.steps import Trace


def trace_in_float64(model: SequenceModel, batch: Batch, only: Sequence[str] = ()) -> tuple[Tensor, Trace]:
    """Return logits and trace of a float64 copy of the model. `only` is as in `trace`.

    The model itself does not change. Dropout is off in the copy, even if the model is in training mode.
    """
    copy = deepcopy(model).to(dtype=torch.float64).eval()
    with torch.no_grad():
        return copy.trace(batch, only)
