"""Models in files: clearhead's own checkpoints, MarianMT's (OPUS-MT), and the blocks of torch.nn.Transformer."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearhead.formats.checkpoint import load_checkpoint, save_checkpoint
    from clearhead.formats.marian import export_marian, from_marian, from_marian_tensors, import_marian, to_marian
    from clearhead.formats.torch_transformer import from_torch_transformer, to_torch_transformer

_HOMES = {
    **dict.fromkeys(("load_checkpoint", "save_checkpoint"), "checkpoint"),
    **dict.fromkeys(
        ("export_marian", "from_marian", "from_marian_tensors", "import_marian", "to_marian"),
        "marian",
    ),
    **dict.fromkeys(("from_torch_transformer", "to_torch_transformer"), "torch_transformer"),
}

__all__ = [
    "export_marian",
    "from_marian",
    "from_marian_tensors",
    "from_torch_transformer",
    "import_marian",
    "load_checkpoint",
    "save_checkpoint",
    "to_marian",
    "to_torch_transformer",
]


def __getattr__(name: str) -> Any:
    """Import on first use: an engine that does without torch looks only at config files here."""
    if name in _HOMES:
        return getattr(import_module(f"clearhead.formats.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'clearhead.formats' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
