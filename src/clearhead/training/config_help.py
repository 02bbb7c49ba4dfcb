"""Every setting of a training config, written out from the models themselves, so that nothing is documented twice."""

from collections.abc import Iterator
from dataclasses import replace
from textwrap import wrap
from typing import Any

from clearhead.model.config import PRESETS, ModelConfig
from clearhead.settings import FieldHelp, fields_of, shown
from clearhead.training.config import RunConfig
from clearhead.training.config_checks import DECIDED

_WIDTH = 112


def config_fields() -> Iterator[FieldHelp]:
    """Yield every setting that a config may hold; those of the model come where `model` stands."""
    for setting in fields_of(RunConfig):
        if setting.path == "preset":  # its choices are data, not types
            setting = replace(setting, kind=f"one of {', '.join(PRESETS)}", choices=tuple(PRESETS))
        yield setting
        if setting.path == "model":
            yield from (inner for inner in fields_of(ModelConfig, "model") if inner.path[6:] not in DECIDED)


def help_config() -> str:
    """Return a page of every setting: its path, its default, what it takes and what it is for."""
    lines = ["Every setting of a training config, with its default. Give only what differs."]
    lines += ["Paths of files start from the folder that the command is run in.", ""]
    group = ""
    for setting in config_fields():
        top = setting.path.partition(".")[0]
        if group and top != group and ("." in setting.path or group in ("model", "data", "text", "training")):
            lines.append("")
        group = top
        state = "(needed)" if setting.is_needed else f"= {_default(setting.default)}"
        lines.append(f"{setting.path} {state}   [{setting.kind}]")
        lines += _indented(setting.description)
        if setting.path == "model":
            lines += _presets()
    return "\n".join(lines) + "\n"


def config_help_data() -> list[dict[str, Any]]:
    """Return the same as plain data."""
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
    for name, changes in PRESETS.items():
        yield from _indented(f"preset {name}: {', '.join(f'{key} {value}' for key, value in changes.items())}")
    yield from _indented(f"{', '.join(DECIDED)} follow from the task, the tokeniser and the data")


def _default(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(list(value)) if isinstance(value, tuple) else shown(value)


def _indented(text: str) -> list[str]:
    return wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
