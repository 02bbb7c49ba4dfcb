"""Export models to other programs and import them, each export with a certificate of what it changes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearhead.export.certificate import Certificate, read_certificate
    from clearhead.export.exporting import ExportRequest, export_model
    from clearhead.export.importing import import_model

_HOMES = {
    **dict.fromkeys(("Certificate", "read_certificate"), "certificate"),
    **dict.fromkeys(("ExportRequest", "export_model"), "exporting"),
    "import_model": "importing",
}

__all__ = ["Certificate", "ExportRequest", "export_model", "import_model", "read_certificate"]


def __getattr__(name: str) -> Any:
    """Import on first use, because some of these need torch."""
    if name in _HOMES:
        return getattr(import_module(f"clearhead.export.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'clearhead.export' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
