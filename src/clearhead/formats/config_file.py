"""Read the config.json of a clearhead checkpoint, without torch, for engines that do not need it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clearhead import __version__
from clearhead.errors import CheckpointError, ConfigError, printable
from clearhead.model.config import ModelConfig, read_config
from clearhead.settings import shown as shown_value

FORMAT = 1
_MAX_VERSION = 40  # characters of the version that a file states
MARK, VERSION = "clearhead_model", "clearhead_version"


def config_data(config: ModelConfig) -> dict[str, Any]:
    """Return the content of the config.json of a model."""
    return {MARK: FORMAT, VERSION: __version__, **config.model_dump(mode="json")}


def refuse_later_format(path: Path, data: Mapping[str, Any], mark: str, latest_format: int) -> None:
    """Raise CheckpointError if a file is in a format later than `latest_format`; `mark` is the key of its format."""
    number = data.get(mark)
    if isinstance(number, int) and number > latest_format:
        writer = printable(str(data.get(VERSION, "a later version"))[:_MAX_VERSION])
        raise CheckpointError(
            f"{printable(str(path))} is in format {number}, written by clearhead {writer}; this is {__version__}, "
            f"which reads format {latest_format}. Install clearhead {writer} or later."
        )


def read_model_config(path: Path, data: Mapping[str, Any]) -> ModelConfig:
    """Return the config in a checkpoint's config.json, which also records the version that wrote it."""
    shown, number = printable(str(path)), data.get(MARK)
    writer = str(data.get(VERSION, "an unknown version"))[:_MAX_VERSION]
    if number is None:
        kind = data.get("model_type")
        hint = "Read it with clearhead.formats.from_marian." if kind == "marian" else f"Its {MARK} is missing."
        raise CheckpointError(f"{shown} is not the config of a clearhead model. {hint}")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise CheckpointError(
            f"{shown}: {MARK} = {shown_value(number)} is not a format. This clearhead reads {FORMAT}."
        )
    refuse_later_format(path, data, MARK, FORMAT)
    try:
        return read_config({name: value for name, value in data.items() if name not in (MARK, VERSION)})
    except ConfigError as wrong:
        raise CheckpointError(
            f"{shown}: {' '.join(wrong.mistakes)} "
            f"It was written by clearhead {printable(writer)}; this is {__version__}."
        ) from None
