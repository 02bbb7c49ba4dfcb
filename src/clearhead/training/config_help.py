"""The reference of all settings of a training config, generated from the classes that validate them."""

from collections.abc import Iterator
from dataclasses import replace
from textwrap import wrap
from typing import Any

from clearhead.model.architecture import ALL_PRESETS, PRESETS
from clearhead.model.config import ModelConfig
from clearhead.settings import FieldHelp, fields_of, shown
from clearhead.training.config import RunConfig
from clearhead.training.config_checks import DECIDED

_WIDTH = 112


def config_fields() -> Iterator[FieldHelp]:
    """Yield every setting of a config. The settings of the model follow `model`."""
    for setting in fields_of(RunConfig):
        if setting.path == "preset":  # its choices are in PRESETS, not in its type
            setting = replace(setting, kind=f"one of {', '.join(PRESETS)}", choices=tuple(PRESETS))
        yield setting
        if setting.path == "model":
            yield from _model_fields()


def _model_fields() -> Iterator[FieldHelp]:
    for setting in fields_of(ModelConfig, "model"):
        if setting.path == "model.decoder_norm":  # the validator of the model rejects `all`
            setting = replace(setting, kind="one of layer, rms", choices=("layer", "rms"))
        if setting.path.removeprefix("model.") not in DECIDED:
            yield setting


def help_config() -> str:
    """Return a text with every setting: its path, default, type and description."""
    lines = ["All settings of a training config, with their defaults. Set only those that differ."]
    lines += ["File paths are relative to the current folder.", ""]
    group = ""
    for setting in config_fields():
        top = setting.path.partition(".")[0]
        if group and top != group and ("." in setting.path or group in ("model", "data", "text", "training")):
            lines.append("")
        group = top
        state = "(required)" if setting.is_needed else f"= {_default(setting.default)}"
        lines.append(f"{setting.path} {state}   [{setting.kind}]")
        lines += _indented(setting.description)
        if setting.path == "model":
            lines += _presets()
    return "\n".join(lines) + "\n"


def config_help_data() -> list[dict[str, Any]]:
    """Return all settings as plain data, for JSON."""
    return [
        {
            "path": setting.path,
            "type": setting.kind,
            "choices": list(setting.choices),
            "default": setting.default,
            "is_needed": setting.is_needed,
            "description": setting.description,
        }
        for setting in config_fields()
    ]


def _presets() -> Iterator[str]:
    for architecture, presets in ALL_PRESETS.items():
        where = "" if architecture == "transformer" else f" with architecture {architecture}"
        for name, changes in presets.items():
            yield from _indented(
                f"preset {name}{where}: {', '.join(f'{key} {value}' for key, value in changes.items())}"
            )
    yield from _indented(f"{', '.join(DECIDED)} are determined by the task, the tokeniser and the data")


def _default(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(list(value)) if isinstance(value, tuple) else shown(value)


def _indented(text: str) -> list[str]:
    return wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
