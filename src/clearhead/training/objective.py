"""What training makes small: the cross-entropy of a batch, and with R-Drop the disagreement of two passes."""

import torch
import torch.nn.functional as F

from clearhead.model import Batch, Loss, Transformer
from clearhead.training.config import TrainingConfig


def objective(model: Transformer, batch: Batch, config: TrainingConfig) -> Loss:
    """Return the summed loss of a batch, and over how many tokens (or sentences) it is."""
    if not config.r_drop:
        return model.loss(batch, config.label_smoothing)
    return _r_drop(model, batch, config)


def _r_drop(model: Transformer, batch: Batch, config: TrainingConfig) -> Loss:
    """(H₁ + H₂) / 2 + α (KL(P₁‖P₂) + KL(P₂‖P₁)) / 4: half the loss of the paper, so that α = 0 changes nothing.

    One pass over the batch twice has other dropout in each half.
    """
    twice = batch.changed(lambda part: torch.cat((part, part)))
    logits = model(twice).float()
    right = twice.labels if model.config.shape == "encoder" else twice.target
    assert right is not None
    pad = -100 if model.config.shape == "encoder" else model.config.pad
    total = F.cross_entropy(
        logits.flatten(0, -2),
        right.flatten(),
        ignore_index=pad,
        label_smoothing=config.label_smoothing,
        reduction="sum",
    )
    first, second = logits.flatten(0, -2).log_softmax(dim=-1).chunk(2)
    counted = (right.flatten() != pad).chunk(2)[0]
    # KL(P₁‖P₂) + KL(P₂‖P₁) = Σ (P₁ - P₂)(log P₁ - log P₂)
    apart = ((first.exp() - second.exp()) * (first - second)).sum(dim=-1)
    disagreement = torch.where(counted, apart, 0.0).sum()
    return Loss(total / 2 + config.r_drop * disagreement / 4, counted.sum())
