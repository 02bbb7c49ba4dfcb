"""The training loss as one GPU kernel: it reads each row of logits once and overwrites it with its gradient.

`objective.loss_from_states` computes the same with PyTorch operations, which make a dozen passes over the logits, the
largest tensor of an update. The loss is cross-entropy with label smoothing, plus the divergence of R-Drop.
"""

from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from clearhead.model import Batch, Loss, SequenceModel
from clearhead.training.config import TrainingConfig

_BLOCK = 4096  # numbers of a row that a program processes at a time
_ROWS_TRIED = 32


def is_fusible(model: SequenceModel, config: TrainingConfig, precision: torch.dtype) -> bool:
    """Whether the kernel works for a model: it is tried once, since not every machine can compile it."""
    device = model.device
    if device.type != "cuda" or find_spec("triton") is None:
        return False
    # enough rows that the compiler specialises the kernel in the same way as for a full batch
    logits = torch.zeros(_ROWS_TRIED, model.config.num_outputs, dtype=precision, device=device)
    labels = torch.ones(_ROWS_TRIED, dtype=torch.int64, device=device)
    try:
        fused_loss(logits, labels, model.ignore_index, config.label_smoothing, config.r_drop)
        torch.cuda.synchronize(device)
    except Exception:  # for example no C compiler, or a GPU that is too old: PyTorch's operations are used instead
        return False
    return True


def fused_loss_from_states(model: SequenceModel, states: Tensor, batch: Batch, config: TrainingConfig) -> Loss:
    """Compute the same loss as `objective.loss_from_states` with the kernel."""
    logits = model.project(states).flatten(0, 1)
    labels = model.labels(batch).flatten()
    total: Tensor = _FusedLoss.apply(  # type: ignore[no-untyped-call]
        logits, labels, model.ignore_index, config.label_smoothing, config.r_drop
    )
    num_tokens = (labels != model.ignore_index).sum()
    return Loss(total, num_tokens // 2 if config.r_drop else num_tokens)


class _FusedLoss(torch.autograd.Function):
    """The summed loss of logits (N, V). The logits are overwritten with their gradient."""

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
    """Return the loss of each row (with R-Drop: of each pair of rows), and overwrite the logits with their gradient."""
    from clearhead.training.loss_kernel import loss_kernel

    rows, vocabulary = logits.shape
    programs = rows // 2 if r_drop else rows
    losses = torch.empty(programs, dtype=torch.float32, device=logits.device)
    loss_kernel[(programs,)](
        logits, labels, losses, programs, vocabulary, ignored, smoothing, r_drop,
        IS_PAIR=bool(r_drop), BLOCK=_BLOCK, num_warps=8,
    )  # fmt: skip
    return losses
