"""Write the files of an export into a new folder: the model in the format of another program, and its tokeniser."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clearhead import __version__
from clearhead.export.targets import ExportFormat, ExportPrecision
from clearhead.files.json_file import json_bytes, json_writer
from clearhead.files.manifest import MANIFEST
from clearhead.files.writing import FileWriter, copy_writer, sync_file, write_manifest
from clearhead.formats.arrays import ModelArrays, check_float16
from clearhead.formats.built_in import DESCRIPTION
from clearhead.formats.config_file import config_data
from clearhead.formats.ctranslate2 import TokenNames, convert
from clearhead.formats.export_file import (
    CTRANSLATE2_MODEL,
    EXPORT,
    EXPORT_FORMAT,
    ONNX_ENCODER,
    ONNX_STEP,
    ExportDescription,
    Runtime,
)
from clearhead.formats.files import CONFIG, WEIGHTS, array_writer
from clearhead.formats.int8 import to_int8
from clearhead.formats.marian_config import TOKENIZER_FILES
from clearhead.formats.model_folder import ModelFolder, load_arrays, load_model, load_vocabularies
from clearhead.text.tokeniser import FOLDER, Tokeniser, Vocabularies

WEIGHT_FILES: Mapping[ExportFormat, tuple[str, ...]] = {
    "ctranslate2": (CTRANSLATE2_MODEL,),
    "onnx": (ONNX_ENCODER, ONNX_STEP),
    "marian": (WEIGHTS,),
    "hub-folder": (WEIGHTS,),
}


@dataclass(frozen=True)
class ExportPlan:
    """A model, the format and precision to write it in, and the new folder."""

    model: ModelFolder
    target: ExportFormat
    precision: ExportPrecision
    folder: Path


def write_files(plan: ExportPlan) -> None:
    """Write the model and its tokeniser into the folder, which exists and is empty."""
    write = {
        "ctranslate2": _write_ctranslate2,
        "onnx": _write_onnx,
        "marian": _write_marian,
        "hub-folder": _write_checkpoint,
    }
    write[plan.target](plan)
    if plan.target != "marian":
        copy_tokeniser(plan.model, plan.folder)


def copy_tokeniser(model: ModelFolder, folder: Path) -> None:
    """Copy the tokeniser of a model and the description of a built-in one."""
    if (model.vocabularies / FOLDER).is_dir():
        shutil.copytree(model.vocabularies / FOLDER, folder / FOLDER)
    for name in (*TOKENIZER_FILES, DESCRIPTION):
        if (model.folder / name).is_file():
            shutil.copyfile(model.folder / name, folder / name)


def finish(folder: Path) -> None:
    """Flush all files of a finished folder to disk and write their hashes."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            path.chmod(0o666 & ~_umask(folder))
            sync_file(path)
    write_manifest(folder, sorted(path.name for path in folder.iterdir() if path.is_file() and path.name != MANIFEST))


def _umask(folder: Path) -> int:
    """Return the bits that this user's new files lack, seen in a folder that was just created."""
    return 0o777 & ~folder.stat().st_mode


def _description(plan: ExportPlan, runtime: Runtime, arrays: ModelArrays) -> bytes:
    description = ExportDescription(
        clearhead_export=EXPORT_FORMAT,
        clearhead_version=__version__,
        runtime=runtime,
        precision=plan.precision,
        origin=plan.model.fingerprint,
        model=arrays.config.model_dump(mode="json"),
    )
    return json_bytes(description.model_dump())


def _write_ctranslate2(plan: ExportPlan) -> None:
    arrays = load_arrays(plan.model)
    convert(arrays, plan.folder, plan.precision, token_names(load_vocabularies(plan.model), arrays))
    (plan.folder / EXPORT).write_bytes(_description(plan, "ctranslate2", arrays))


def token_names(vocabularies: Vocabularies, model: ModelArrays) -> TokenNames:
    """Return the pieces of both vocabularies, so that a program can translate with SentencePiece alone."""
    config = model.config
    return TokenNames(
        _unique_pieces(vocabularies.source, config.source_vocabulary),
        _unique_pieces(vocabularies.target, config.target_size),
    )


def _unique_pieces(tokeniser: Tokeniser, size: int) -> tuple[str, ...]:
    """Return the piece of every id; an id without a piece of its own is named by its number."""
    pieces = tokeniser.pieces(range(min(size, tokeniser.size)))
    names: dict[str, None] = {}
    for number in range(size):
        piece = pieces[number] if number < len(pieces) else ""
        names[piece if piece and piece not in names else f"<{number}>"] = None
    return tuple(names)


def _write_onnx(plan: ExportPlan) -> None:
    from clearhead.formats.onnx_transformer import onnx_models

    arrays = load_arrays(plan.model)
    assert plan.precision != "float16", "check_target allows float32 and int8"
    models = onnx_models(arrays, plan.precision)
    (plan.folder / ONNX_ENCODER).write_bytes(models.encoder.SerializeToString())
    (plan.folder / ONNX_STEP).write_bytes(models.step.SerializeToString())
    (plan.folder / EXPORT).write_bytes(_description(plan, "onnx", arrays))


def _write_checkpoint(plan: ExportPlan) -> None:
    """Write the weights and config.json of clearhead; an OPUS-MT model becomes a clearhead one."""
    arrays = load_arrays(plan.model)
    stored = dict(arrays.arrays)
    if plan.precision == "float16":
        check_float16(arrays)
    writers: dict[str, FileWriter] = {
        WEIGHTS: array_writer(
            to_int8(stored)
            if plan.precision == "int8"
            else {name: array.astype(plan.precision) for name, array in stored.items()}
        ),
        CONFIG: json_writer(config_data(arrays.config)),
    }
    own = plan.model.folder / "alignment.json"  # the head whose attention aligns words, if it was chosen
    if own.is_file():
        writers[own.name] = copy_writer(own)
    for name, write in writers.items():
        write(plan.folder / name)


def _write_marian(plan: ExportPlan) -> None:
    import torch

    from clearhead.export.marian_tokeniser import tokenizer_writers
    from clearhead.formats.files import tensor_writer
    from clearhead.formats.marian import to_marian_tensors

    model = load_model(plan.model, dtype=torch.float16 if plan.precision == "float16" else torch.float32)
    marian = to_marian_tensors(model)
    writers: dict[str, FileWriter] = {
        WEIGHTS: tensor_writer(marian.tensors),
        "generation_config.json": json_writer(marian.generation),
        **tokenizer_writers(plan.model),
        CONFIG: json_writer(marian.config),
    }
    if (plan.model.folder / DESCRIPTION).is_file():
        writers[DESCRIPTION] = copy_writer(plan.model.folder / DESCRIPTION)
    for name, write in writers.items():
        write(plan.folder / name)
