"""Convert a model to CTranslate2 with CTranslate2's own specification classes.

Conversion needs torch; checking whether a model can be converted, and finding an existing conversion, do not.
"""

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Literal

from clearhead import __version__
from clearhead.errors import CheckpointError, printable
from clearhead.files.json_file import json_bytes, parse_object
from clearhead.files.writing import move_folder, replace_file, temporary_beside
from clearhead.formats.files import find_files
from clearhead.model.config import ModelConfig

if TYPE_CHECKING:
    from clearhead.model import Transformer

Storage = Literal["float32", "int8", "float16"]
HIDDEN_LOGIT = -1e4  # of padding and bos, which are never generated; it fits in float16
NOTES = "clearhead.json"
_MARK = "clearhead_ctranslate2"
_FORMAT = 2  # format 1 could generate bos
_PREFIX = "ctranslate2"
_PART = 2**20


def model_lacks(config: ModelConfig) -> str | None:
    """Return why CTranslate2 does not support a model, as a clause, or None if it does."""
    reasons = {
        f"it only supports encoder-decoders, and the model has the shape {config.shape}": config.shape
        != "encoder-decoder",
        f"positions = {config.positions} is not supported": not config.has_position_table,
        "a norm over all numbers of a sentence is not supported": config.encoder_norm == "all",
        f"it supports only one width, and d_decoder = {config.decoder_width} is not d_model": (
            config.decoder_width != config.d_model
        ),
        "it needs at least one layer on each side": not (config.encoder_blocks and config.decoder_blocks),
    }
    return next((reason for reason, is_so in reasons.items() if is_so), None)


# Where a conversion is stored


@dataclass(frozen=True)
class Converted:
    """A folder that CTranslate2 can open; a temporary one if the folder of the model is not writable."""

    folder: Path
    is_temporary: bool = False


def converted(folder: Path, storage: Storage, load: Callable[[], "Transformer"]) -> Converted:
    """Return the conversion of the model in a folder; it is made on first use and stored there.

    It is reused until the model's two files change; `load` returns the model, in float32 on the CPU.
    """
    conversion = find_conversion(folder, storage)
    if conversion is not None:
        return Converted(conversion)
    model = load()
    target = folder / _folder_name(folder, storage)
    part = temporary_beside(target)
    try:
        part.mkdir()
    except OSError:  # a model on a read-only disk can still translate
        place = Path(mkdtemp(prefix="clearhead-ctranslate2-"))
        convert(model, place, storage)
        return Converted(place, is_temporary=True)
    try:
        convert(model, part, storage)
        _write_notes(part, folder, storage)
        if not target.exists():  # another process can have been faster
            move_folder(part, target)
    except OSError as wrong:
        if not (target / NOTES).is_file():
            raise CheckpointError(
                f"{printable(str(target))} could not be written: {wrong}. No partial files remain. "
                "Free some space on the disk, or use the engine torch, which needs no conversion."
            ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    _tidy(folder, target, storage)
    return Converted(target)


def find_conversion(folder: Path, storage: Storage) -> Path | None:
    """Return the folder of the conversion of exactly these weights, or None."""
    size, changed = _stamp(folder)
    for place in _conversions(folder, storage):
        notes = _read_notes(place)
        # hashing all weights takes longer than loading them, so they are recognised by size and time
        if notes.get(_MARK) == _FORMAT and notes.get("size") == size and notes.get("changed") == changed:
            return place
    place = folder / _folder_name(folder, storage)
    if _read_notes(place).get(_MARK) != _FORMAT:
        return None
    with suppress(OSError):
        _write_notes(place, folder, storage)  # the same weights, with a new time
    return place


def _conversions(folder: Path, storage: Storage) -> list[Path]:
    return sorted(folder.glob(f"{_PREFIX}-{storage}-*"))


def _folder_name(folder: Path, storage: Storage) -> str:
    """Return the name of a conversion; it ends with a hash of the config and the weights."""
    digest = sha256(str(_FORMAT).encode())
    for path in _files(folder):
        with path.open("rb") as file:
            while part := file.read(_PART):
                digest.update(part)
    return f"{_PREFIX}-{storage}-{digest.hexdigest()[:16]}"


def _files(folder: Path) -> tuple[Path, Path]:
    return find_files(folder, "Convert it once to safetensors where you trust it.")


def _stamp(folder: Path) -> tuple[list[int], list[int]]:
    stats = [path.stat() for path in _files(folder)]
    return [stat.st_size for stat in stats], [stat.st_mtime_ns for stat in stats]


def _read_notes(place: Path) -> Mapping[str, Any]:
    try:
        notes = parse_object((place / NOTES).read_bytes())
    except (OSError, ValueError, TypeError):
        return {}
    return notes if _MARK in notes else {}


def _write_notes(place: Path, folder: Path, storage: Storage) -> None:
    size, changed = _stamp(folder)
    notes = {_MARK: _FORMAT, "clearhead": __version__, "storage": storage, "size": size, "changed": changed}
    replace_file(place / NOTES, json_bytes(notes))


def _tidy(folder: Path, current: Path, storage: Storage) -> None:
    """Delete conversions of weights that no longer exist, or in a format that is no longer read."""
    for place in _conversions(folder, storage):
        if place != current and _read_notes(place):
            shutil.rmtree(place, ignore_errors=True)


# The conversion itself


def convert(model: "Transformer", folder: Path, storage: Storage) -> None:
    """Write a model into an empty folder; the token with id i is named by the number i."""
    from clearhead.formats.ctranslate2_spec import specification

    reason = model_lacks(model.config)
    if reason is not None:
        raise CheckpointError(f"CTranslate2 does not support this model: {reason}. Use the engine torch.")
    spec = specification(model)
    spec.validate()
    spec.optimize(quantization=storage)
    spec.save(str(folder))
