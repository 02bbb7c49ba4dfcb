"""Load and save models: clearhead checkpoints, MarianMT (OPUS-MT) and CTranslate2."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearhead.formats.checkpoint import load_checkpoint, save_checkpoint
    from clearhead.formats.marian import export_marian, from_marian, from_marian_tensors, import_marian, to_marian

_HOMES = {
    **dict.fromkeys(("load_checkpoint", "save_checkpoint"), "checkpoint"),
    **dict.fromkeys(
        ("export_marian", "from_marian", "from_marian_tensors", "import_marian", "to_marian"),
        "marian",
    ),
}

__all__ = [
    "export_marian",
    "from_marian",
    "from_marian_tensors",
    "import_marian",
    "load_checkpoint",
    "save_checkpoint",
    "to_marian",
]


def __getattr__(name: str) -> Any:
    """Import on first use, because an engine without torch only needs the config files."""
    if name in _HOMES:
        return getattr(import_module(f"clearhead.formats.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'clearhead.formats' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
