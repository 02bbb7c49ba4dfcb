"""The Transformer in PyTorch: ids and masks in, logits out, and every number of it can be traced."""

from clearhead.model.batch import Batch, check_batch
from clearhead.model.config import PRESETS, ModelConfig, preset
from clearhead.model.mask import Mask
from clearhead.model.transformer import Loss, Memory, Transformer

__all__ = ["PRESETS", "Batch", "Loss", "Mask", "Memory", "ModelConfig", "Transformer", "check_batch", "preset"]
