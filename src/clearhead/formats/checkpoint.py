"""Save a model as model.safetensors and config.json, completely or not at all, and check both when loading."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from clearhead import __version__
from clearhead.errors import CheckpointError, printable
from clearhead.files.json_file import json_writer, read_json
from clearhead.files.manifest import MANIFEST, verify_if_listed
from clearhead.files.writing import FileWriter, write_together
from clearhead.formats.config_file import MARK, VERSION, config_data, read_model_config
from clearhead.formats.files import CONFIG, PICKLE_ADVICE, WEIGHTS, find_files, read_tensors, tensor_writer
from clearhead.formats.shapes import misfits, shapes_of
from clearhead.formats.weights import build, checked_tensors
from clearhead.model import SequenceModel


def save_checkpoint(
    model: SequenceModel, folder: str | Path, others: Mapping[str, FileWriter] = MappingProxyType({})
) -> None:
    """Write the weights (tied ones once), the config, other files and their hashes, all of them or none."""
    folder = Path(folder)
    config = config_data(model.config)
    tensors = checked_tensors(model)
    _make_room(folder, config)
    writers = {WEIGHTS: tensor_writer(tensors), **others, CONFIG: json_writer(config)}
    write_together(folder, writers, has_manifest=True)


def _make_room(folder: Path, config: dict[str, Any]) -> None:
    """Raise an error if a model of another program would be overwritten."""
    old = folder / CONFIG
    if not old.is_file():
        return
    try:
        is_ours = MARK in read_json(old)
    except CheckpointError:
        if not (folder / MANIFEST).is_file():
            raise
        is_ours = True  # damaged, and about to be replaced
    if not is_ours:
        raise CheckpointError(
            f"{printable(str(old))} belongs to another program and would be overwritten. Choose an empty folder."
        )


def load_checkpoint(
    folder: str | Path, device: str | torch.device = "cpu", dtype: torch.dtype | None = None
) -> SequenceModel:
    """Return the model in a folder, in eval mode; by default in the dtype of its file. Its hashes are verified."""
    find_files(Path(folder), PICKLE_ADVICE)
    verify_if_listed(Path(folder), (CONFIG, WEIGHTS))
    return read_checkpoint(folder, device, dtype)


def read_checkpoint(
    folder: str | Path, device: str | torch.device = "cpu", dtype: torch.dtype | None = None
) -> SequenceModel:
    """Return the model in a folder whose hashes are verified already."""
    folder = Path(folder)
    config_path, weights_path = find_files(folder, PICKLE_ADVICE)
    data = read_json(config_path)
    writer = str(data.get(VERSION, "an unknown version"))
    config = read_model_config(config_path, data)
    tensors, _ = read_tensors(weights_path)
    wrong = misfits(tensors, shapes_of(config))
    if wrong:
        raise CheckpointError(
            f"{printable(str(folder))}: {WEIGHTS} does not match {CONFIG}: {wrong}. "
            f"They were written by clearhead {printable(writer)}; this is {__version__}. "
            f"Take both files from one checkpoint, and undo changes to {CONFIG}."
        )
    return build(config, tensors, device, dtype)
