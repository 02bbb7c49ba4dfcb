"""The loss of training as one kernel on a GPU: a row of logits is read once and its gradient is put in its place.

`objective.loss_from_states` does the same in PyTorch's operations, with a dozen passes over the logits, the largest
tensor of a step: cross-entropy with label smoothing, and with R-Drop the disagreement of the two halves of a batch.
"""

from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from clearhead.model import Batch, Loss, TrainableModel
from clearhead.training.config import TrainingConfig

_BLOCK = 4096  # numbers of a row that a program holds at a time
_ROWS_TRIED = 32


def is_fusible(model: TrainableModel, config: TrainingConfig, precision: torch.dtype) -> bool:
    """Whether the kernel can be had for a model: it is tried, for not every machine can compile it."""
    device = model.device
    if device.type != "cuda" or find_spec("triton") is None:
        return False
    # as many rows as make the compiler take the same shortcuts as for a whole batch
    logits = torch.zeros(_ROWS_TRIED, model.config.num_outputs, dtype=precision, device=device)
    labels = torch.ones(_ROWS_TRIED, dtype=torch.int64, device=device)
    try:
        fused_loss(logits, labels, model.ignore_index, config.label_smoothing, config.r_drop)
        torch.cuda.synchronize(device)
    except Exception:  # no C compiler, a card too old for it: whatever it is, PyTorch's operations do the same
        return False
    return True


def fused_loss_from_states(model: TrainableModel, states: Tensor, batch: Batch, config: TrainingConfig) -> Loss:
    """Return what `objective.loss_from_states` returns."""
    logits = model.project(states).flatten(0, 1)
    labels = model.labels(batch).flatten()
    total: Tensor = _FusedLoss.apply(  # type: ignore[no-untyped-call]
        logits, labels, model.ignore_index, config.label_smoothing, config.r_drop
    )
    num_tokens = (labels != model.ignore_index).sum()
    return Loss(total, num_tokens // 2 if config.r_drop else num_tokens)


class _FusedLoss(torch.autograd.Function):
    """The summed loss of logits (N, V). They are gone afterwards: their gradient is in their place."""

    @staticmethod
    def forward(context: Any, logits: Tensor, labels: Tensor, ignored: int, smoothing: float, r_drop: float) -> Tensor:
        gradient = logits.detach().contiguous()
        context.save_for_backward(gradient)
        return fused_loss(gradient, labels, ignored, smoothing, r_drop).sum()

    @staticmethod
    def backward(context: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = context.saved_tensors
        return gradient.mul_(outer[0]), None, None, None, None


def fused_loss(logits: Tensor, labels: Tensor, ignored: int, smoothing: float, r_drop: float) -> Tensor:
    """Return the loss of each row, or of each pair of rows with R-Drop, and put the gradient in place of the logits."""
    from clearhead.training.loss_kernel import loss_kernel

    rows, vocabulary = logits.shape
    programs = rows // 2 if r_drop else rows
    losses = torch.empty(programs, dtype=torch.float32, device=logits.device)
    loss_kernel[(programs,)](
        logits, labels, losses, programs, vocabulary, ignored, smoothing, r_drop,
        IS_PAIR=bool(r_drop), BLOCK=_BLOCK, num_warps=8,
    )  # fmt: skip
    return losses
