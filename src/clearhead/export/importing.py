"""Import a model from another program: a MarianMT folder of transformers.

The result is a model folder that clearhead trains on, explains and exports. Pickles are never opened.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clearhead.errors import CheckpointError, printable
from clearhead.export.card import CARD, LICENCE
from clearhead.export.exporting import check_new_folder, unwritable
from clearhead.export.folders import copy_tokeniser, finish
from clearhead.files.json_file import json_writer
from clearhead.files.reading import missing_file_hint
from clearhead.files.writing import move_folder, temporary_beside
from clearhead.formats.arrays import ModelArrays
from clearhead.formats.config_file import config_data
from clearhead.formats.export_file import RUNTIMES
from clearhead.formats.files import CONFIG, MARIAN_ADVICE, WEIGHTS, array_writer, find_files
from clearhead.formats.model_folder import ModelFolder, find_model, load_arrays, load_vocabularies

ImportKind = Literal["MarianMT", "a clearhead model"]
_READABLE = "MarianMT folders with model.safetensors, and clearhead's own models"


@dataclass(frozen=True)
class ImportResult:
    """What was imported."""

    kind: ImportKind
    parameters: int
    folder: Path


def import_model(source: str | Path, folder: str | Path) -> ImportResult:
    """Write the model of another program as a model folder of clearhead; the folder appears when it is complete."""
    origin, target = Path(source), Path(folder)
    check_new_folder(target)
    model = _find(origin)
    kind = _kind(model)
    arrays = _read(model)
    part = temporary_beside(target)
    try:
        part.mkdir()
        array_writer(arrays.arrays)(part / WEIGHTS)
        json_writer(config_data(arrays.config))(part / CONFIG)
        copy_tokeniser(model, part)
        for name in (CARD, LICENCE):
            if (model.folder / name).is_file():
                shutil.copyfile(model.folder / name, part / name)
        finish(part)
        load_vocabularies(find_model(part))  # a model without a usable vocabulary is no model
        move_folder(part, target)
    except OSError as wrong:
        raise unwritable(target, wrong) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return ImportResult(kind, sum(array.size for array in arrays.arrays.values()), target)


def _find(origin: Path) -> ModelFolder:
    """Return the folder of a model, or raise CheckpointError that says what can be read."""
    if not origin.is_dir():
        fact = "is a file" if origin.exists() else f"does not exist.{missing_file_hint(origin)}"
        raise CheckpointError(
            f"{printable(str(origin))} {fact.rstrip('.')}. Give the folder of a model: {_READABLE}.",
            options=("folder",),
        )
    if (origin / CONFIG).is_file() and not any((origin / name).is_file() for name in (WEIGHTS, "model.bin")):
        find_files(origin, MARIAN_ADVICE)  # explains that a pickle is not opened, or what is missing
    try:
        return find_model(origin)
    except CheckpointError as wrong:
        raise CheckpointError(f"{wrong} clearhead imports {_READABLE}.") from None


def _kind(model: ModelFolder) -> ImportKind:
    return "MarianMT" if model.is_marian else "a clearhead model"


def _read(model: ModelFolder) -> ModelArrays:
    if model.runtime is not None:
        raise CheckpointError(
            f"{printable(str(model.folder))} is an export to {RUNTIMES[model.runtime]}, whose weights are in the "
            f"layout of that program and are not read back. clearhead imports {_READABLE}. Import the model that it "
            "was exported from.",
            options=("folder",),
        )
    return load_arrays(model)
