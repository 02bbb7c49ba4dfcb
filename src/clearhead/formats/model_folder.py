"""Find a model's files, vocabularies and hash from a path: a run, a checkpoint, an OPUS-MT folder or an export.

Nothing here imports torch, so a model can be found and recognised without loading it.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead.errors import CheckpointError, printable
from clearhead.files.json_file import read_json
from clearhead.files.manifest import VerifiedFiles, unverified_note, verify_files
from clearhead.files.reading import missing_file_hint
from clearhead.formats.built_in import (
    DESCRIPTION,
    BuiltInChoice,
    find_built_in,
    read_description,
    unknown_model_hint,
)
from clearhead.formats.config_file import read_model_config
from clearhead.formats.export_file import EXPORT, RUNTIMES, Runtime, export_files, foreign_runtime, read_export
from clearhead.formats.files import CONFIG, MARIAN_ADVICE, PICKLE_ADVICE, WEIGHTS, find_files, read_arrays
from clearhead.formats.marian_config import config_from_marian, read_settings
from clearhead.formats.shapes import misfits, shapes_of
from clearhead.model.config import ModelConfig
from clearhead.text.marian import MARIAN_FILES, load_marian_vocabularies
from clearhead.text.statistics import TextStatistics
from clearhead.text.tokeniser import FOLDER, Vocabularies

_TOKENISER_SETTINGS = "tokenizer_config.json"  # of OPUS-MT

if TYPE_CHECKING:
    import torch

    from clearhead.formats.arrays import ModelArrays
    from clearhead.model import SequenceModel


@dataclass(frozen=True)
class _HashedModel:
    """The hashes of a model's files, and which versions of the files were hashed."""

    files: VerifiedFiles
    versions: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True)
class ModelFolder:
    """Where a model is: the folder of its weights and config, and the folder of its vocabularies."""

    folder: Path
    vocabularies: Path
    is_marian: bool  # config.json is MarianMT's, not clearhead's
    language: str | None = None  # the target language of a built-in model, if the model was chosen by its languages
    runtime: Runtime | None = None  # the only program that can run the files, if this is an export for another one

    def verify(self) -> VerifiedFiles:
        """Return the hashes of its config and weights, compared with SHA256SUMS; they are computed once."""
        return self._verification.result().files

    def start_verification(self) -> None:
        """Start to hash the files in the background, while vocabularies are read and libraries imported."""
        assert self._verification

    @cached_property
    def _verification(self) -> Future[_HashedModel]:
        pool = ThreadPoolExecutor(max_workers=1)
        try:
            return pool.submit(self._hashed)
        finally:
            pool.shutdown(wait=False)

    def _hashed(self) -> _HashedModel:
        if self.runtime is None:
            find_files(self.folder, MARIAN_ADVICE if self.is_marian else PICKLE_ADVICE)
        versions = self._file_versions()
        return _HashedModel(verify_files(self.folder, self.file_names), versions)

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of the files that are the model: its config and its weights, or the files of a runtime."""
        return (CONFIG, WEIGHTS) if self.runtime is None else export_files(self.folder, self.runtime)

    def check_unchanged(self) -> None:
        """Raise CheckpointError if a file was replaced after it was hashed, as a running training does."""
        if self._file_versions() != self._verification.result().versions:
            raise CheckpointError(
                f"{printable(str(self.folder))} was replaced by another process while it was being read. Run it again."
            )

    @cached_property
    def own_vocabularies(self) -> Vocabularies:
        """The vocabularies of the model, which are not yet compared with its sizes; they are read once."""
        if (self.vocabularies / FOLDER).is_dir():
            return Vocabularies.load(self.vocabularies)
        if self.is_marian or any((self.folder / name).is_file() for name in MARIAN_FILES):
            return load_marian_vocabularies(self.folder)
        raise CheckpointError(
            f"{printable(str(self.folder))} has no tokeniser: there is no {FOLDER}/ in it or in its run, and no "
            f"{', '.join(MARIAN_FILES)}. Copy {FOLDER}/ of the run too, next to the model."
        )

    def _file_versions(self) -> tuple[tuple[int, int, int, int], ...]:
        states = [(self.folder / name).stat() for name in self.file_names if (self.folder / name).is_file()]
        return tuple((state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns) for state in states)

    @property
    def fingerprint(self) -> str:
        """A hash of its config and weights, to recognise it."""
        digests = self.verify().digests
        return sha256(" ".join(digests[name] for name in self.file_names).encode()).hexdigest()[:32]

    @property
    def notes(self) -> tuple[str, ...]:
        """A note if its files could not be verified."""
        return () if self.verify().is_listed else (unverified_note(self.folder),)


def find_model(path: str | Path | ModelFolder) -> ModelFolder:
    """Return where the parts of a model are, or raise CheckpointError with what is missing.

    A folder takes precedence over a built-in model of the same name.
    """
    if isinstance(path, ModelFolder):
        return path
    location = Path(path)
    if not location.is_dir():
        choice = find_built_in(str(path))
        if choice is not None:
            return built_in_folder(choice)
        problem = (
            "is a file, but a folder is required."
            if location.exists()
            else f"does not exist.{missing_file_hint(location)}"
        )
        raise CheckpointError(
            f"{printable(str(location))} {problem} Give a run folder, one of its checkpoints, or an OPUS-MT folder."
            f"{unknown_model_hint(str(path))}",
            options=("model",),
        )
    for folder in _candidates(location):
        # nothing in a folder is used in place of its safetensors, which a forged export could pretend to be
        if (folder / EXPORT).is_file() and not (folder / WEIGHTS).is_file():
            return ModelFolder(folder, run_of(folder), is_marian=False, runtime=read_export(folder).runtime)
        foreign = foreign_runtime(folder) if folder.is_dir() and not (folder / WEIGHTS).is_file() else None
        if foreign is not None:
            raise CheckpointError(foreign, options=("model",))
        if (folder / CONFIG).is_file():
            return ModelFolder(folder, run_of(folder), read_json(folder / CONFIG).get("model_type") == "marian")
        if (folder / WEIGHTS).is_file():  # a later candidate would be another model
            raise CheckpointError(
                f"{printable(str(folder))} has no {CONFIG}, which describes its weights. Copy it too."
            )
    steps = sorted(location.glob("checkpoints/step-*"))
    if steps:
        raise CheckpointError(
            f"{printable(str(location))} has no best or last model yet. Give one of its checkpoints, such as "
            f"{printable(str(steps[-1]))}.",
            options=("model",),
        )
    raise CheckpointError(
        f"{printable(str(location))} contains no model. "
        "Give a run folder, one of its checkpoints, or an OPUS-MT folder."
    )


def built_in_folder(choice: BuiltInChoice) -> ModelFolder:
    """Return where a built-in model is, with the target language of the chosen direction."""
    folder = choice.model.folder
    return ModelFolder(folder, folder, is_marian=False, language=choice.direction.target)


def is_model_folder(path: str | Path) -> bool:
    """Return whether a path is a folder with a model."""
    try:
        return Path(path).is_dir() and bool(find_model(path))
    except (CheckpointError, OSError, ValueError):  # a text that cannot be a path, for example
        return False


def load_vocabularies(model: ModelFolder) -> Vocabularies:
    """Read the vocabularies of a model, or raise CheckpointError if they have ids that the model does not have."""
    vocabularies = model.own_vocabularies
    config = load_config(model)
    sizes = {"source": config.source_vocabulary, "target": config.target_size}
    for side, tokeniser in {"source": vocabularies.source, "target": vocabularies.target}.items():
        if tokeniser.size > sizes[side]:
            raise CheckpointError(
                f"{printable(str(model.folder))}: the {side} vocabulary has ids up to {tokeniser.size - 1:,}, but the "
                f"model has {sizes[side]:,} tokens. Tokeniser and model do not belong together: copy both again."
            )
    return vocabularies


def load_statistics(model: ModelFolder) -> TextStatistics:
    """Read the statistics of the training text, with the source language if anything states it.

    Of an OPUS-MT model, only the source language is known.
    """
    statistics = TextStatistics.load(model.vocabularies)
    if statistics.source_language is not None:
        return statistics
    language = _stated_language(model.folder)
    is_code = isinstance(language, str) and len(language) == 2
    return statistics.model_copy(update={"source_language": language}) if is_code else statistics


def _stated_language(folder: Path) -> object:
    """Return the source language that an OPUS-MT tokeniser or the description of a built-in model states."""
    if (folder / _TOKENISER_SETTINGS).is_file():
        return read_json(folder / _TOKENISER_SETTINGS).get("source_lang")
    if (folder / DESCRIPTION).is_file():
        sources = {direction.source for direction in read_description(folder / DESCRIPTION).directions}
        return sources.pop() if len(sources) == 1 else None
    return None


def load_config(model: ModelFolder) -> ModelConfig:
    """Return the config of a model, read without torch."""
    if model.runtime is not None:
        return _with_unknown(model, read_export(model.folder).config)
    path = model.folder / CONFIG
    data = read_json(path)
    if not model.is_marian:
        return _with_unknown(model, read_model_config(path, data))
    try:
        return _with_unknown(model, config_from_marian(read_settings(data)))
    except CheckpointError as wrong:
        raise CheckpointError(f"{printable(str(model.folder))}: {wrong}") from None


def _with_unknown(model: ModelFolder, config: ModelConfig) -> ModelConfig:
    """Add the id of the unknown token from the vocabulary; MarianMT and earlier versions do not write it."""
    if config.unk is not None or config.shape == "encoder":
        return config
    try:
        unknown = model.own_vocabularies.target.unk
    except CheckpointError:  # weights alone are a model too; whoever needs the vocabularies reports this
        return config
    return config.model_copy(update={"unk": unknown}) if 0 <= unknown < config.target_size else config


def load_model(
    model: ModelFolder, device: "torch.device | str" = "cpu", dtype: "torch.dtype | None" = None
) -> "SequenceModel":
    """Verify and load the weights of a model on a device and in a dtype; None is the dtype of its files."""
    _refuse_export(model)
    from clearhead.formats.checkpoint import read_checkpoint
    from clearhead.formats.marian import read_marian

    model.verify()
    loaded = (read_marian if model.is_marian else read_checkpoint)(model.folder, device, dtype)
    loaded.config = _with_unknown(model, loaded.config)
    model.check_unchanged()  # otherwise a conversion of new weights would be kept under the hash of the old ones
    return loaded


def load_arrays(model: ModelFolder) -> "ModelArrays":
    """Verify and load the weights of a model as NumPy arrays; only a file of MarianMT or in bfloat16 needs torch."""
    _refuse_export(model)
    from clearhead.formats.arrays import ModelArrays, arrays_of

    model.verify()
    config = load_config(model)
    arrays = None if model.is_marian else read_arrays(model.folder / WEIGHTS)
    if arrays is None:
        return arrays_of(load_model(model))
    wrong = misfits(arrays, shapes_of(config))
    if wrong:
        raise CheckpointError(
            f"{printable(str(model.folder))}: {WEIGHTS} does not match {CONFIG}: {wrong}. "
            "Take both files from one checkpoint."
        )
    model.check_unchanged()
    return ModelArrays(config, {name: array.astype("float32", copy=False) for name, array in arrays.items()})


def _refuse_export(model: ModelFolder) -> None:
    """Raise CheckpointError if only another program can run the model."""
    if model.runtime is not None:
        raise CheckpointError(
            f"{printable(str(model.folder))} is an export to {RUNTIMES[model.runtime]}, which runs the model as a "
            "whole and does not show its parts. Use the model that it was exported from.",
            options=("model",),
        )


def run_of(folder: Path) -> Path:
    """Return the folder of the vocabularies: for a run's best, last or other checkpoint, the run folder."""
    for candidate in (folder, folder.absolute().parent, folder.absolute().parent.parent):
        if (candidate / FOLDER).is_dir():
            return candidate
    return folder


def _candidates(location: Path) -> Sequence[Path]:
    """Return where the model of a run can be, the most likely place first."""
    return (location, location / "best", location / "last")
