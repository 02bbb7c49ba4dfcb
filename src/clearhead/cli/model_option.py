"""The `--model` option and the device choices, shared by the verbs that use a trained model."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.errors import ConfigError, printable

if TYPE_CHECKING:
    from clearhead.formats.built_in import Direction
    from clearhead.formats.model_folder import ModelFolder

ModelOption = Annotated[
    Path | None,
    typer.Option(
        "--model",
        "-m",
        help="A run folder, one of its checkpoints, an OPUS-MT folder, or a name from `clearhead models`.",
    ),
]


class Device(StrEnum):
    """Where the model runs."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


class ModelPrecision(StrEnum):
    """The number format of the model."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


DeviceOption = Annotated[Device, typer.Option(help="Device to run on.")]
PrecisionOption = Annotated[ModelPrecision, typer.Option(help="Number type to compute in.")]
SourceLanguage = Annotated[
    str | None, typer.Option("--from", help="Source language, to choose a built-in model. \\[default: en]")
]
TargetLanguage = Annotated[
    str | None,
    typer.Option("--to", help="Target language: of a built-in model, or for a model with several. \\[default: es]"),
]


def chosen_model(model: Path | None, texts: Sequence[str]) -> Path:
    """Return the given model, or raise ConfigError that says how to name one."""
    if model is not None:
        return model
    _refuse_folder(texts)
    raise ConfigError("no model was given. Name a run folder, a checkpoint or an OPUS-MT folder with --model.")


def _refuse_folder(texts: Sequence[str]) -> None:
    """Raise ConfigError if the first text is the folder of a model."""
    from clearhead.formats.model_folder import is_model_folder

    if texts and is_model_folder(texts[0]):
        shown = printable(texts[0])
        raise ConfigError(
            f"'{shown}' is the folder of a model, but a text or a file is expected here. Use --model {shown}."
        )


@dataclass(frozen=True)
class ModelChoice:
    """The model to translate with, and the target language to set; a built-in model has its own."""

    path: "Path | ModelFolder"
    language: str | None = None


def translation_model(model: Path | None, texts: Sequence[str], source: str | None, target: str | None) -> ModelChoice:
    """Return the given model, or the built-in one that translates between these languages."""
    from clearhead.formats.built_in import built_in_for, find_built_in
    from clearhead.formats.model_folder import built_in_folder

    if model is None:
        _refuse_folder(texts)
        return ModelChoice(built_in_folder(built_in_for(source, target)))
    named = None if model.is_dir() else find_built_in(str(model))
    if named is not None:
        direction = named.direction
        if str(model) == direction.name != named.model.name:
            _refuse_other_direction(direction, source, target)
            source, target = direction.source, direction.target
        elif source is None and target is None:
            source, target = direction.source, direction.target
        return ModelChoice(built_in_folder(built_in_for(source, target, named.model.name)))
    if source is not None:
        raise ConfigError(
            f"--from chooses a built-in model, but {printable(str(model))} is a model of yours, which has its own "
            "source language. Remove --from."
        )
    return ModelChoice(model, target)


def _refuse_other_direction(direction: "Direction", source: str | None, target: str | None) -> None:
    """Raise ConfigError if --from or --to contradicts the direction that --model names."""
    from clearhead.formats.built_in import language_code

    for flag, word, code in (("--from", source, direction.source), ("--to", target, direction.target)):
        if word is not None and language_code(word, [code]) != code:
            raise ConfigError(
                f"--model {direction.name} translates from '{direction.source}' into '{direction.target}', but {flag} "
                f"is '{printable(word)}'. Remove one of the two options."
            )
