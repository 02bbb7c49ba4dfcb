"""The engine of CTranslate2: the same model, converted once, in C++ and without torch."""

from clearhead.decoding.engine import Asked, DeviceName, Engine, ModelPlace, Precision
from clearhead.errors import ConfigError


def lacks(place: ModelPlace, asked: Asked, device: DeviceName, precision: Precision) -> str | None:
    """Return why this engine cannot do what is asked, as a clause (`it has no coverage penalty`), or None."""
    return "it is not part of this version"


def open_ctranslate2(place: ModelPlace, device: DeviceName = "auto", precision: Precision = "auto") -> Engine:
    """Load a model, which is converted on first use and kept beside it."""
    raise ConfigError("the engine ctranslate2 is not part of this version. Use torch.")
