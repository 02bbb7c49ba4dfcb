"""Checks that need neither torch nor the weights of a model, so that mistakes are reported without waiting for them."""

from collections.abc import Sequence
from pathlib import Path

from clearhead.errors import ConfigError, printable
from clearhead.files.input import STANDARD_INPUT, input_lines
from clearhead.formats.model_folder import ModelFolder, find_model, load_config
from clearhead.model.config import ModelConfig

_EXPORTED = "model.bin"  # the weights of CTranslate2


def checked_config(path: str | Path | ModelFolder) -> ModelConfig:
    """Return the config of a model that can be opened, or raise an error."""
    refuse_exported(path)
    return load_config(find_model(path))


def refuse_exported(path: str | Path | ModelFolder) -> None:
    """Raise ConfigError for a model that was exported to CTranslate2: it has neither a trace nor gates."""
    if isinstance(path, str | Path) and (Path(path) / _EXPORTED).is_file():
        raise ConfigError(
            f"{printable(str(path))} is a model exported to CTranslate2, whose steps are fused away. "
            "Open the run or the checkpoint that it was exported from.",
            options=("model",),
        )


def check_test_set(files: Sequence[str], *, has_source: bool) -> None:
    """Raise an error unless these are the files of a test set: two for a model that translates, otherwise one.

    Standard input and pipes are not read, because they can be read only once.
    """
    if files.count(STANDARD_INPUT) > 1:
        raise ConfigError("standard input can only be read once. Give a file for one of them.")
    if not has_source and len(files) != 1:
        raise ConfigError(f"this is a language model, which reads no source: give one file, not {len(files)}.")
    if has_source and len(files) != 2:
        raise ConfigError(
            f"this model translates: give two files, the sentences and their translations, not {len(files)}."
        )
    for name in files:
        if name != STANDARD_INPUT and not Path(name).is_fifo():
            next(input_lines(name), None)
