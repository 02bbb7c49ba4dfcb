"""Models and batches small enough to be worked by hand, or nearly so."""

from typing import Any

import torch
from torch import Tensor

from clearhead.model import Batch, ModelConfig, Transformer
from clearhead.training.config import TrainingConfig

PAD, EOS = 0, 2
VOCABULARY = 13


def tiny_model(seed: int = 0, **changes: Any) -> Transformer:
    """Return a model without dropout, so that two passes are one."""
    torch.manual_seed(seed)
    sizes = {"source_vocabulary": VOCABULARY, "encoder_blocks": 1, "decoder_blocks": 1, "d_model": 12, "d_ff": 17}
    return Transformer(ModelConfig(**{**sizes, "num_heads": 2, "dropout": 0.0, "max_length": 19, **changes})).train()


def tiny_batch(rows: int, seed: int = 0, longest: int = 7) -> Batch:
    """Return sentences of different lengths, so that batches of as many rows have other numbers of tokens."""
    random = torch.Generator().manual_seed(seed)

    def side() -> Tensor:
        ids = torch.randint(3, VOCABULARY, (rows, longest), generator=random)
        lengths = torch.randint(2, longest + 1, (rows, 1), generator=random)
        places = torch.arange(longest)[None]
        return ids.where(places < lengths - 1, EOS).where(places < lengths, PAD)

    return Batch(side(), side())


def joined(*batches: Batch) -> Batch:
    """Return several batches as one."""
    sides = [torch.cat([getattr(batch, side) for batch in batches]) for side in ("source", "target")]
    return Batch(sides[0], sides[1])


def settings(**changes: Any) -> TrainingConfig:
    """Return plain settings: no smoothing, no clipping, no decay."""
    return TrainingConfig(**{"label_smoothing": 0.0, "clip": None, "weight_decay": 0.0, "warm_up": 0, **changes})


def weights(model: Transformer) -> dict[str, Tensor]:
    """Return a copy of the weights."""
    return {name: tensor.detach().clone() for name, tensor in model.named_parameters()}
