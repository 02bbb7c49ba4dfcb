"""The log-probability that a model gives to a translation there is already, token by token."""

import torch
from torch import Tensor

from clearhead.model import Transformer


def token_log_probs(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """Return log P of every token of `target` (B, T), eos included, in one pass; 0 for padding."""
    logits = model.decode(model.shifted(target), model.encode(source))  # (B, T, V)
    wide = torch.promote_types(logits.dtype, torch.float32)
    own = torch.log_softmax(logits, dim=-1, dtype=wide).gather(-1, target[..., None])[..., 0]  # (B, T)
    return own.masked_fill(target == model.config.pad, 0.0)
