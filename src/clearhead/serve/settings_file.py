"""The settings of a server from a YAML file and from options: defaults < file < changes and options."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from textwrap import wrap
from typing import Any

from clearhead.errors import ConfigError, printable
from clearhead.serve.settings import ServeSettings
from clearhead.settings import fields_of, read_settings, shown
from clearhead.training.config_file import change, read_yaml

_WIDTH = 112


def load_settings(
    path: Path | None, changes: Sequence[str] = (), options: Mapping[str, Any] | None = None
) -> ServeSettings:
    """Return validated settings, or raise ConfigError with all mistakes.

    `changes` are texts such as `queue.max_batch=32`, `options` are values by their paths; both win over the file.
    """
    data: dict[str, Any] = {} if path is None else deepcopy(dict(read_yaml(path)))
    for text in changes:
        try:
            change(data, text, example="queue.max_batch=32")
        except ConfigError as wrong:
            raise wrong.located(f"set {printable(text)}") from None
    for place, value in (options or {}).items():
        group, _, name = place.rpartition(".")
        if not group:
            data[name] = value
            continue
        inner = data.get(group)
        data[group] = {**(inner if isinstance(inner, Mapping) else {}), name: value}
    try:
        return read_settings(ServeSettings, data)
    except ConfigError as wrong:
        raise wrong if path is None else wrong.located(printable(str(path))) from None


def settings_page() -> str:
    """Return all settings with their defaults as YAML, each with its description as a comment."""
    lines = ["# All settings of clearhead serve, with their defaults. Set only those that differ."]
    group = ""
    for setting in fields_of(ServeSettings):
        top, _, name = setting.path.rpartition(".")
        if top != group and top:
            lines += ["", f"{top}:"]
        group = top
        indent = "  " if top else ""
        comment = f"{setting.description} ({setting.kind})"
        lines += [f"{indent}# {line}" for line in wrap(comment, _WIDTH, break_on_hyphens=False)]
        default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
        value = default if isinstance(default, str) else shown(default)
        lines.append(f"{indent}{name}: {value}")
    return "\n".join(lines) + "\n"
