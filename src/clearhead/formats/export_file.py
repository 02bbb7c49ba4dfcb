"""The file export.json of a folder that another runtime runs: CTranslate2 or ONNX. It has the config of the model.

Such a folder has no weights that clearhead itself computes with, and is opened only if SHA256SUMS lists its files.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field

from clearhead.errors import CheckpointError, ConfigError, printable
from clearhead.files.json_file import read_json
from clearhead.files.manifest import MANIFEST, read_manifest
from clearhead.formats.config_file import refuse_later_format
from clearhead.model.config import ModelConfig, read_config
from clearhead.settings import Settings, read_settings

EXPORT = "export.json"
EXPORT_FORMAT = 1
Runtime = Literal["ctranslate2", "onnx"]
RUNTIMES: Mapping[Runtime, str] = MappingProxyType({"ctranslate2": "CTranslate2", "onnx": "ONNX"})
CTRANSLATE2_MODEL = "model.bin"
ONNX_ENCODER, ONNX_STEP = "encoder.onnx", "step.onnx"
_CTRANSLATE2_VOCABULARIES = ("shared_vocabulary.json", "source_vocabulary.json", "target_vocabulary.json")
_MARK = "clearhead_export"


class ExportDescription(Settings):
    """The content of export.json."""

    clearhead_export: int = Field(ge=1, description="the format of the file")
    clearhead_version: str = Field(description="the version that wrote it")
    runtime: Runtime = Field(description="the program that runs the model")
    precision: Literal["float32", "float16", "int8"] = Field(description="the number type of the weights")
    origin: str = Field(description="a hash of the model that was exported")
    model: dict[str, Any] = Field(description="the config of the model")

    @property
    def config(self) -> ModelConfig:
        """The config of the model."""
        return read_config(self.model)


def read_export(folder: Path) -> ExportDescription:
    """Read export.json, or raise CheckpointError with the reason why it cannot be used."""
    path = folder / EXPORT
    data = read_json(path)
    refuse_later_format(path, data, _MARK, EXPORT_FORMAT)
    try:
        description = read_settings(ExportDescription, data)
        read_config(description.model)  # a wrong config is an error of this file
    except ConfigError as wrong:
        raise CheckpointError(
            f"{printable(str(path))} is damaged, or was not written by clearhead: {' '.join(wrong.mistakes)}"
        ) from None
    return description


def export_files(folder: Path, runtime: Runtime) -> tuple[str, ...]:
    """Return the names of the files that a runtime reads, and export.json; raise CheckpointError if one is missing."""
    shown, listed = printable(str(folder)), read_manifest(folder)
    if listed is None:
        raise CheckpointError(
            f"{shown} has no {MANIFEST}, so its files cannot be verified, and {RUNTIMES[runtime]} could crash on a "
            "damaged one. Copy the folder again, with this file."
        )
    if runtime == "onnx":
        required: tuple[str, ...] = (ONNX_ENCODER, ONNX_STEP)
    else:
        own = [name for name in _CTRANSLATE2_VOCABULARIES if name in listed]
        required = (CTRANSLATE2_MODEL, "config.json", *(own or _CTRANSLATE2_VOCABULARIES[:1]))
    for name in required:
        if not (folder / name).is_file():
            raise CheckpointError(f"{shown} has no {name}, which {RUNTIMES[runtime]} needs. Copy the folder again.")
    return (EXPORT, *required)


def foreign_runtime(folder: Path) -> str | None:
    """Return why a folder of CTranslate2 or ONNX files without export.json cannot be used, or None if it is no such."""
    advice = f"It has no {EXPORT}, which clearhead writes beside such files. Give the model that they were made from."
    if (folder / CTRANSLATE2_MODEL).is_file() and any((folder / name).is_file() for name in _CTRANSLATE2_VOCABULARIES):
        return f"{printable(str(folder))} is a CTranslate2 model that clearhead did not export. {advice}"
    with suppress(OSError):  # a folder that cannot be listed
        if not (folder / "config.json").is_file() and any(path.suffix == ".onnx" for path in folder.iterdir()):
            return f"{printable(str(folder))} has ONNX files that clearhead did not export. {advice}"
    return None
