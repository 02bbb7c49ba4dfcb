"""The training objective: the cross-entropy of a batch, plus with R-Drop the divergence between two passes."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.model import Batch, Loss, SequenceModel
from clearhead.training.config import TrainingConfig

LossFunction = Callable[[SequenceModel, Tensor, Batch, TrainingConfig], Loss]


def loss_from_states(model: SequenceModel, states: Tensor, batch: Batch, config: TrainingConfig) -> Loss:
    """Return the summed loss of a batch, computed from its states, and the number of tokens (or sentences)."""
    if config.r_drop:
        return _r_drop(model, states, batch, config)
    return model.loss_from_states(states, batch, config.label_smoothing)


def objective(
    model: SequenceModel,
    batch: Batch,
    config: TrainingConfig,
    loss_function: LossFunction = loss_from_states,
) -> Loss:
    """Return the summed loss of a batch, and the number of tokens (or sentences).

    With R-Drop the batch is doubled, so that one pass computes it twice with different dropout.
    """
    if config.r_drop:
        batch = batch.changed(lambda part: torch.cat((part, part)))
    return loss_function(model, model.states(batch), batch, config)


def _r_drop(model: SequenceModel, states: Tensor, twice: Batch, config: TrainingConfig) -> Loss:
    """(H₁ + H₂) / 2 + α (KL(P₁‖P₂) + KL(P₂‖P₁)) / 4: half the loss of the paper, equal to the plain loss for α = 0."""
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
