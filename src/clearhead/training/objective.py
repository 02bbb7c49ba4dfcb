"""What training makes small: the cross-entropy of a batch, and with R-Drop the disagreement of two passes."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.model import Batch, Loss, TrainableModel
from clearhead.training.config import TrainingConfig

LossFunction = Callable[[TrainableModel, Tensor, Batch, TrainingConfig], Loss]


def loss_from_states(model: TrainableModel, states: Tensor, batch: Batch, config: TrainingConfig) -> Loss:
    """Return the summed loss of a batch from its states, and over how many tokens (or sentences) it is."""
    if config.r_drop:
        return _r_drop(model, states, batch, config)
    return model.loss_from_states(states, batch, config.label_smoothing)


def objective(
    model: TrainableModel, batch: Batch, config: TrainingConfig, loss_function: LossFunction = loss_from_states
) -> Loss:
    """Return the summed loss of a batch, and over how many tokens (or sentences) it is.

    With R-Drop one pass goes over the batch twice, with other dropout in each half.
    """
    if config.r_drop:
        batch = batch.changed(lambda part: torch.cat((part, part)))
    return loss_function(model, model.states(batch), batch, config)


def _r_drop(model: TrainableModel, states: Tensor, twice: Batch, config: TrainingConfig) -> Loss:
    """(H₁ + H₂) / 2 + α (KL(P₁‖P₂) + KL(P₂‖P₁)) / 4: half the loss of the paper, so that α = 0 changes nothing."""
    logits = model.project(states).flatten(0, 1)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    labels = model.labels(twice).flatten()
    total = F.cross_entropy(
        logits, labels, ignore_index=model.ignore_index, label_smoothing=config.label_smoothing, reduction="sum"
    )
    first, second = logits.log_softmax(dim=-1).chunk(2)
    counted = (labels != model.ignore_index).chunk(2)[0]
    # KL(P₁‖P₂) + KL(P₂‖P₁) = Σ (P₁ - P₂)(log P₁ - log P₂)
    apart = ((first.exp() - second.exp()) * (first - second)).sum(dim=-1)
    disagreement = torch.where(counted, apart, 0.0).sum()
    return Loss(total / 2 + config.r_drop * disagreement / 4, counted.sum())
