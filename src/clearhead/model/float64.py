"""A trace in float64: for worksheets, whose every digit must be right.

A float32 model is right to about seven digits at each step, and a sum that is shown would often miss its last one.
"""

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor

from clearhead.model.batch import Batch
from clearhead.model.protocol import SequenceModel
from clearhead.steps import Trace


def trace_in_float64(model: SequenceModel, batch: Batch, only: Sequence[str] = ()) -> tuple[Tensor, Trace]:
    """Return logits and trace of a float64 copy of the model, which itself stays as it is; `only` as in `trace`.

    Dropout is off in the copy, whatever mode the model is in.
    """
    copy = deepcopy(model).to(dtype=torch.float64).eval()
    with torch.no_grad():
        return copy.trace(batch, only)
