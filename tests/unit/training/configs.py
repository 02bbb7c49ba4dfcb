"""Configs for tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from clearhead.errors import ConfigError
from clearhead.training.config import RunConfig, load_run_config

LEAST: dict[str, Any] = {"data": {"train": [{"built_in": "copy"}]}, "training": {"steps": 7}}


def least() -> RunConfig:
    """Return the shortest config that can be trained."""
    return RunConfig.model_validate(LEAST)


def written(folder: Path, content: str | bytes | dict[str, Any], name: str = "my.yaml") -> Path:
    """Write a config file and return its path."""
    path = folder / name
    if isinstance(content, dict):
        content = yaml.safe_dump(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def mistakes_of(path: Path, *changes: str) -> list[str]:
    """Return the messages about a config, with the name of the file but not its folder."""
    with pytest.raises(ConfigError) as error:
        load_run_config(path, changes)
    return [mistake.replace(f"{path.parent}/", "") for mistake in error.value.mistakes]


Mistakes = Callable[..., list[str]]
