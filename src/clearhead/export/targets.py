"""The formats that a model can be exported to, the precisions of each, and what a model must be for each of them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from clearhead.errors import ConfigError, did_you_mean, printable
from clearhead.formats.ctranslate2 import model_lacks
from clearhead.model.config import ModelConfig

ExportFormat = Literal["ctranslate2", "onnx", "marian", "hub-folder"]
ExportPrecision = Literal["float32", "float16", "int8"]
PRECISIONS: Mapping[ExportFormat, tuple[ExportPrecision, ...]] = MappingProxyType(
    {
        "ctranslate2": ("float32", "float16", "int8"),
        "onnx": ("float32", "int8"),
        "marian": ("float32", "float16"),
        "hub-folder": ("float32", "float16", "int8"),
    }
)
TITLES: Mapping[ExportFormat, str] = MappingProxyType(
    {"ctranslate2": "CTranslate2", "onnx": "ONNX", "marian": "MarianMT", "hub-folder": "a folder for a model hub"}
)
_POST_NORM = "Train a post-norm model for it: configs/multi30k-marian.yaml shows the settings."


def check_target(name: str, precision: str | None) -> tuple[ExportFormat, ExportPrecision]:
    """Return a format and its precision (by default float32), or raise ConfigError with the choices."""
    target = next((own for own in PRECISIONS if own == name), None)
    if target is None:
        raise ConfigError(
            f"'{printable(name)}' is not a format for export.{did_you_mean(name, PRECISIONS)} "
            f"Formats: {', '.join(PRECISIONS)}.",
            options=("to",),
        )
    chosen = next((own for own in PRECISIONS[target] if own == (precision or "float32")), None)
    if chosen is None:
        raise ConfigError(
            f"precision = '{printable(str(precision))}' is not available for {target}."
            f"{did_you_mean(str(precision), PRECISIONS[target])} Precisions: {', '.join(PRECISIONS[target])}.",
            options=("precision",),
        )
    return target, chosen


def check_model(config: ModelConfig, target: ExportFormat) -> None:
    """Raise ConfigError if a format cannot represent a model, with the reason and what to do."""
    if config.shape != "encoder-decoder":
        raise ConfigError(
            f"only translation models can be exported, because the certificate compares translations; this model has "
            f"the shape {config.shape}. Give a model of the shape encoder-decoder."
        )
    if target == "hub-folder":
        return
    if config.architecture != "transformer":
        raise ConfigError(
            f"{TITLES[target]} only supports Transformers, and this model is {config.architecture}. Export it as a "
            "hub-folder, which clearhead reads.",
            options=("to",),
        )
    if target == "marian" and config.norm_place == "pre":
        raise ConfigError(
            f"MarianMT is post-norm, and this model is pre-norm, so MarianMT cannot compute it. {_POST_NORM}",
            options=("to",),
        )
    reason = _lacks(config, target)
    if reason is not None:
        raise ConfigError(f"{TITLES[target]} does not support this model: {reason}.", options=("to",))


def _lacks(config: ModelConfig, target: ExportFormat) -> str | None:
    if target == "ctranslate2":
        return model_lacks(config)
    if target == "onnx":
        from clearhead.formats.onnx_transformer import onnx_lacks

        return onnx_lacks(config)
    return None  # MarianMT reports everything that it lacks together, when it is written
