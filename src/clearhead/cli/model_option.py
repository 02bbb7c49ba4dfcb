"""The `--model` option and the device choices, shared by the verbs that use a trained model."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from clearhead.errors import ConfigError, printable

ModelOption = Annotated[
    Path | None,
    typer.Option("--model", "-m", help="A run folder, one of its checkpoints, or an OPUS-MT folder."),
]


class Device(StrEnum):
    """Where the model runs."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


def chosen_model(model: Path | None, texts: Sequence[str]) -> Path:
    """Return the given model, or raise ConfigError that says how to name one."""
    if model is not None:
        return model
    from clearhead.formats.model_folder import is_model_folder

    if texts and is_model_folder(texts[0]):
        shown = printable(texts[0])
        raise ConfigError(
            f"'{shown}' is the folder of a model, but a text or a file is expected here. Use --model {shown}."
        )
    raise ConfigError("no model was given. Name a run folder, a checkpoint or an OPUS-MT folder with --model.")
