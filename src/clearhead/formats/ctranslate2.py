"""Convert a model to CTranslate2 with CTranslate2's own specification classes.

Nothing here needs torch, except reading the weights of a MarianMT model.
"""

import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Literal

from clearhead.errors import CheckpointError, printable
from clearhead.files.cache import user_cache
from clearhead.files.manifest import MANIFEST, read_manifest, verify_if_listed
from clearhead.files.reading import read_file
from clearhead.files.writing import move_folder, sync_file, temporary_beside, write_manifest
from clearhead.formats.model_folder import ModelFolder
from clearhead.model.config import ModelConfig
from clearhead.model.numpy_transformer import numpy_lacks

if TYPE_CHECKING:
    from clearhead.formats.arrays import ModelArrays

Storage = Literal["float32", "int8", "float16"]
HIDDEN_LOGIT = -1e4  # of padding, bos and the unknown token, which are never generated; it fits in float16
# conversions of format 1 could generate bos, format 2 was kept in the model's folder, and 3 could generate `<unk>`
_FORMAT = 4
_CACHE = "ctranslate2"
_NO_SPACE = "No partial files remain. Free some space on the disk, or use the engine torch, which needs no conversion."
_DAY, _MONTH = 86400.0, 30 * 86400.0


def model_lacks(config: ModelConfig) -> str | None:
    """Return why CTranslate2 does not support a model, as a clause, or None if it does."""
    reasons = {
        f"positions = {config.positions} is not supported": not config.has_position_table,
        f"it supports only one width, and d_decoder = {config.decoder_width} is not d_model": (
            config.decoder_width != config.d_model
        ),
        "it needs at least one layer on each side": not (config.encoder_blocks and config.decoder_blocks),
    }
    return numpy_lacks(config) or next((reason for reason, is_so in reasons.items() if is_so), None)


# Where a conversion is stored


@dataclass(frozen=True)
class Converted:
    """A folder that CTranslate2 can open; a temporary one if there is no cache to keep it in."""

    folder: Path
    is_temporary: bool = False


def converted(model: ModelFolder, storage: Storage, load: Callable[[], "ModelArrays"]) -> Converted:
    """Return the conversion of a model; it is made on first use and kept in the user's cache.

    It is found by the hashes of the model's two files, never by its name or time, and nothing in the model's own folder
    is used in its place. `load` returns the weights.
    """
    name = _folder_name(model, storage)
    try:
        cache = user_cache(_CACHE)
    except OSError:  # a user without a writable home can still translate
        return _temporary(load, storage)
    target = cache / name
    if _is_intact(target):
        return Converted(target)
    if target.is_dir() and not os.access(target, os.R_OK | os.W_OK | os.X_OK):  # another user made it
        return _temporary(load, storage)
    part = temporary_beside(target)
    try:
        part.mkdir(mode=0o700)
    except OSError:
        return _temporary(load, storage)
    try:
        convert(load(), part, storage)
        names = sorted(path.name for path in part.iterdir())
        for name in names:
            sync_file(part / name)
        write_manifest(part, names)
        if _is_intact(target):  # another process was faster
            return Converted(target)
        _remove(target)
        move_folder(part, target)
    except OSError as wrong:
        if not _is_intact(target):
            raise CheckpointError(f"{printable(str(target))} could not be written: {wrong}. {_NO_SPACE}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    _tidy(cache)
    return Converted(target)


def _temporary(load: Callable[[], "ModelArrays"], storage: Storage) -> Converted:
    model = load()
    place = Path(mkdtemp(prefix="clearhead-ctranslate2-"))
    try:
        convert(model, place, storage)
    except BaseException as wrong:
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(wrong, OSError):
            raise CheckpointError(f"{printable(str(place))} could not be written: {wrong}. {_NO_SPACE}") from None
        raise
    return Converted(place, is_temporary=True)


def _folder_name(model: ModelFolder, storage: Storage) -> str:
    return f"{storage}-{sha256(f'{_FORMAT} {model.fingerprint}'.encode()).hexdigest()[:32]}"


def _is_intact(place: Path) -> bool:
    """Return whether a conversion is complete and unchanged; then its time of use is set, for `_tidy`.

    CTranslate2 can crash on a damaged file, so all bytes are compared with their hashes first.
    """
    try:
        names = read_manifest(place)
        if names is None or "model.bin" not in names or not verify_if_listed(place, names):
            return False
    except (CheckpointError, OSError):  # OSError: a cache that another user made
        return False
    with suppress(OSError):
        os.utime(place / MANIFEST)
    return True


def _remove(place: Path) -> None:
    """Remove a damaged conversion, or whatever else has its name."""
    if place.is_symlink() or place.is_file():
        place.unlink()
    else:
        shutil.rmtree(place, ignore_errors=True)


def _tidy(cache: Path) -> None:
    """Delete conversions that were not used for a month, and incomplete ones of killed processes."""
    now = time.time()
    for place in cache.iterdir():
        with suppress(OSError):
            manifest = place / MANIFEST
            used = (manifest if manifest.exists() else place).stat().st_mtime
            if now - used > (_MONTH if manifest.exists() else _DAY):
                shutil.rmtree(place, ignore_errors=True)


# The conversion itself


@dataclass(frozen=True)
class TokenNames:
    """The names of the tokens of both sides, by their ids; CTranslate2 reads and writes names."""

    source: tuple[str, ...]
    target: tuple[str, ...]

    @staticmethod
    def numbers(config: ModelConfig) -> "TokenNames":
        """Return names that are the ids themselves, for a conversion that only clearhead uses."""
        sizes = (config.source_vocabulary, config.target_size)
        return TokenNames(*(tuple(str(number) for number in range(size)) for size in sizes))


def read_token_names(folder: Path, config: ModelConfig) -> TokenNames:
    """Return the names of the tokens of a converted model, or raise CheckpointError if they do not fit its config."""
    shared = folder / "shared_vocabulary.json"
    source, target = (
        _read_names(shared if shared.is_file() else folder / f"{side}_vocabulary.json") for side in ("source", "target")
    )
    if (len(source), len(target)) != (config.source_vocabulary, config.target_size):
        raise CheckpointError(
            f"{printable(str(folder))}: it has {len(source):,} and {len(target):,} names of tokens, but the model "
            f"has {config.source_vocabulary:,} and {config.target_size:,}. Convert the model again."
        )
    return TokenNames(source, target)


def _read_names(path: Path) -> tuple[str, ...]:
    try:
        names = json.loads(read_file(path))
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CheckpointError(f"{printable(str(path))} is not a list of tokens. Convert the model again.")
    return tuple(names)


def convert(model: "ModelArrays", folder: Path, storage: Storage, names: TokenNames | None = None) -> None:
    """Write a model into an empty folder; without names, the token with id i is named by the number i."""
    from clearhead.formats.arrays import check_float16
    from clearhead.formats.ctranslate2_spec import specification

    reason = model_lacks(model.config)
    if reason is not None:
        raise CheckpointError(f"CTranslate2 does not support this model: {reason}. Use the engine torch.")
    if storage == "float16":
        check_float16(model)
    spec = specification(model, names)
    spec.validate()
    spec.optimize(quantization=storage)
    spec.save(str(folder))
