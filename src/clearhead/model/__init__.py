"""Models in PyTorch: they take ids and masks, return logits, and can trace every number on the way."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearhead.model.architecture import PRESETS
    from clearhead.model.base import Loss, Memory, SequenceModel
    from clearhead.model.batch import Batch, check_batch
    from clearhead.model.build import build_model
    from clearhead.model.config import ModelConfig, preset
    from clearhead.model.mask import Mask
    from clearhead.model.probe import Probe
    from clearhead.model.transformer import Transformer

_HOMES = {
    "PRESETS": "architecture",
    **dict.fromkeys(("Loss", "Memory", "SequenceModel"), "base"),
    **dict.fromkeys(("Batch", "check_batch"), "batch"),
    **dict.fromkeys(("ModelConfig", "preset"), "config"),
    "build_model": "build",
    "Mask": "mask",
    "Probe": "probe",
    "Transformer": "transformer",
}

__all__ = [
    "PRESETS",
    "Batch",
    "Loss",
    "Mask",
    "Memory",
    "ModelConfig",
    "Probe",
    "SequenceModel",
    "Transformer",
    "build_model",
    "check_batch",
    "preset",
]


def __getattr__(name: str) -> Any:
    """Import on first use, so that a model's config can be read without torch."""
    if name in _HOMES:
        return getattr(import_module(f"clearhead.model.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'clearhead.model' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
