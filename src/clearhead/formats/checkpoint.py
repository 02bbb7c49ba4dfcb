"""A model in a folder: model.safetensors and config.json, written whole or not at all, and checked when read."""

from pathlib import Path
from typing import Any

import torch

from clearhead import __version__
from clearhead.errors import CheckpointError, ConfigError, printable
from clearhead.formats.files import (
    CONFIG,
    WEIGHTS,
    find_files,
    json_writer,
    read_json,
    read_tensors,
    tensor_writer,
    write_together,
)
from clearhead.formats.weights import build, checked_tensors, misfits, shapes_of
from clearhead.model import ModelConfig, Transformer
from clearhead.model.config import read_config

FORMAT = 1
_MARK, _VERSION = "clearhead_model", "clearhead_version"
_ADVICE = (
    "Convert it once where you trust it: read it with torch.load(…, weights_only=True) "
    "and write it with safetensors.torch.save_file."
)


def save_checkpoint(model: Transformer, folder: str | Path) -> None:
    """Write the model's numbers (tied ones once) and its config; an older checkpoint stays until both are whole."""
    folder = Path(folder)
    config = {_MARK: FORMAT, _VERSION: __version__, **model.config.model_dump(mode="json")}
    tensors = checked_tensors(model)
    _make_room(folder, config)
    weights = tensor_writer(tensors, {_VERSION: __version__})
    write_together(folder, {WEIGHTS: weights, CONFIG: json_writer(config)})


def _make_room(folder: Path, config: dict[str, Any]) -> None:
    """Refuse to write over a model of another program."""
    old = folder / CONFIG
    if old.is_file() and _MARK not in read_json(old):
        raise CheckpointError(
            f"{printable(str(old))} is of another program, and would be written over. Choose an empty folder."
        )


def load_checkpoint(
    folder: str | Path, device: str | torch.device = "cpu", dtype: torch.dtype | None = None
) -> Transformer:
    """Return the model in a folder, in eval mode; with the dtype that it was saved in if none is said."""
    folder = Path(folder)
    config_path, weights_path = find_files(folder, _ADVICE)
    data = read_json(config_path)
    writer = str(data.get(_VERSION, "an unknown version"))
    config = _read(config_path, data, writer)
    tensors, _ = read_tensors(weights_path)
    wrong = misfits(tensors, shapes_of(config))
    if wrong:
        raise CheckpointError(
            f"{printable(str(folder))}: {WEIGHTS} does not fit {CONFIG}: {wrong}. "
            f"They were written by clearhead {printable(writer)}; this is {__version__}. "
            f"Take both files from one checkpoint, and undo changes to {CONFIG}."
        )
    return build(config, tensors, device, dtype)


def _read(path: Path, data: dict[str, Any], writer: str) -> ModelConfig:
    """Return the config in a checkpoint's config.json, which also says who wrote it."""
    shown, number = printable(str(path)), data.get(_MARK)
    if number is None:
        kind = data.get("model_type")
        hint = "Read it with clearhead.formats.from_marian." if kind == "marian" else f"Its {_MARK} is missing."
        raise CheckpointError(f"{shown} is not the config of a clearhead model. {hint}")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise CheckpointError(f"{shown}: {_MARK} = {number!r} is not a format. This clearhead reads {FORMAT}.")
    if number > FORMAT:
        raise CheckpointError(
            f"{shown} is in format {number}, written by clearhead {printable(writer)}; this is {__version__}, "
            f"which reads format {FORMAT}. Install clearhead {printable(writer)} or later."
        )
    try:
        return read_config({name: value for name, value in data.items() if name not in (_MARK, _VERSION)})
    except ConfigError as wrong:
        raise CheckpointError(
            f"{shown}: {' '.join(wrong.mistakes)} "
            f"It was written by clearhead {printable(writer)}; this is {__version__}."
        ) from None
