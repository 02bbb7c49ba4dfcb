"""Export a model: write it in another format, compare it with the original, and certify the result.

The new folder appears when it is complete. An export beyond the limits of its precision is not written, unless drift is
allowed.
"""

import os
import platform
import shutil
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead import __version__
from clearhead.errors import CheckpointError, ClearheadError, not_installed, printable
from clearhead.export.card import licence_terms, write_card
from clearhead.export.certificate import (
    CERTIFICATE,
    CERTIFICATE_TEXT,
    Certificate,
    ExportComparison,
    Limits,
    certificate_markdown,
)
from clearhead.export.folders import WEIGHT_FILES, ExportPlan, finish, write_files
from clearhead.export.sentences import ComparisonText, TextChoice, read_comparison_text
from clearhead.export.targets import ExportFormat, check_model, check_target
from clearhead.files.json_file import json_bytes
from clearhead.files.writing import move_folder, temporary_beside
from clearhead.formats.export_file import RUNTIMES
from clearhead.formats.files import WEIGHTS
from clearhead.formats.model_folder import ModelFolder, find_model, load_config, load_vocabularies

if TYPE_CHECKING:
    from clearhead.export.probe import ComparedProgram

_PACKAGES: dict[ExportFormat, dict[str, str]] = {  # what a format needs, and the extra that installs it
    "ctranslate2": {"ctranslate2": "fast"},
    "onnx": {"onnx": "onnx", "onnxruntime": "onnx"},
    "marian": {},
    "hub-folder": {},
}


@dataclass(frozen=True)
class ExportRequest:
    """What to export, where to, and how it is certified."""

    model: str | Path | ModelFolder
    target: str  # ctranslate2, onnx, marian or hub-folder
    folder: Path
    precision: str | None = None  # None: float32
    text: TextChoice = field(default_factory=TextChoice)
    licence: str | None = None  # a name, or a file
    allows_drift: bool = False


class DriftError(ClearheadError):
    """An export whose results are too far from those of its model; nothing was written."""

    def __init__(self, certificate: Certificate) -> None:
        self.certificate = certificate
        super().__init__(
            f"the export is too far from its model: {'; '.join(certificate.faults)}. Nothing was written. Choose a "
            "wider precision, or allow the drift.",
            options=("precision", "allow_drift"),
        )


def export_model(request: ExportRequest) -> Certificate:
    """Write the export with its card and certificate to a new folder, and return the certificate."""
    target, precision = check_target(request.target, request.precision)
    check_new_folder(request.folder)
    model = find_model(request.model)
    _check_exportable(model, target)
    licence = licence_terms(model, target, request.licence)
    text = read_comparison_text(request.text, model)
    part = temporary_beside(request.folder)
    try:
        part.mkdir()
        plan = ExportPlan(model, target, precision, part)
        write_files(plan)
        finish(part)
        certificate = certify(plan, text)
        if certificate.faults and not request.allows_drift:
            raise DriftError(certificate)
        (part / CERTIFICATE).write_bytes(json_bytes(certificate.to_dict()))
        (part / CERTIFICATE_TEXT).write_text(certificate_markdown(certificate), encoding="utf-8")
        write_card(model, part, certificate, text.sources[0], licence)
        finish(part)
        move_folder(part, request.folder)
    except OSError as wrong:
        raise unwritable(request.folder, wrong) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return certificate


def unwritable(folder: Path, wrong: OSError) -> CheckpointError:
    """Return the error about a folder that could not be written, for example because the disk is full."""
    return CheckpointError(
        f"{printable(str(folder))} could not be written: {wrong.strerror or wrong}. No partial files remain. Choose a "
        "folder on a disk with enough space.",
        options=("output",),
    )


def check_new_folder(folder: Path) -> None:
    """Raise CheckpointError if a folder exists already, or its parent does not."""
    shown = printable(str(folder))
    if folder.exists() or folder.is_symlink():
        raise CheckpointError(f"{shown} exists already. Choose a new folder.", options=("output",))
    if not folder.absolute().parent.is_dir():
        raise CheckpointError(f"the folder of {shown} does not exist. Create it first.", options=("output",))


def _check_exportable(model: ModelFolder, target: ExportFormat) -> None:
    if model.runtime is not None:
        raise CheckpointError(
            f"{printable(str(model.folder))} is an export to {RUNTIMES[model.runtime]} itself. Export the model that "
            "it came from.",
            options=("model",),
        )
    for package, extra in {"torch": "train", "sacrebleu": "train", **_PACKAGES[target]}.items():
        if find_spec(package) is None:
            raise ClearheadError(not_installed(f"export to {target}", package, extra))
    check_model(load_config(model), target)
    load_vocabularies(model)


def certify(plan: ExportPlan, text: ComparisonText) -> Certificate:
    """Compare the files of an export with their model on some sentences."""
    from clearhead.export.comparison import compare_bleu, compare_numbers, find_divergence, translate_timed
    from clearhead.export.probe import torch_probe

    model = plan.model
    original = torch_probe(model)
    exported = _open_export(plan)
    first, second = (translate_timed(probe, model, text.sources) for probe in (original, exported))
    comparison = ExportComparison(
        sentences=len(text.sources),
        identical=sum(one == two for one, two in zip(first.texts, second.texts, strict=True)),
        numbers=compare_numbers(original, exported, load_config(model), first.lines),
        divergence=find_divergence(original, model, first.lines, second.lines),
        bleu=compare_bleu(text, first.texts, second.texts),
        same_tokens=_same_tokens(plan, text),
        original_speed=first.speed,
        exported_speed=second.speed,
        original_bytes=_num_bytes(model.folder, (WEIGHTS,)),
        exported_bytes=_num_bytes(plan.folder, WEIGHT_FILES[plan.target]),
    )
    return Certificate(
        clearhead_version=__version__,
        target=plan.target,
        precision=plan.precision,
        model=model.fingerprint,
        original=original.described,
        exported=exported.described,
        machine=_machine(),
        text=text.name,
        text_sha256=text.digest,
        comparison=comparison,
        limits=Limits.of(plan.precision),
    )


def _open_export(plan: ExportPlan) -> "ComparedProgram":
    """Open the written files with the program that they are for."""
    from clearhead.export import probe

    folder = find_model(plan.folder)
    if plan.target == "onnx":
        return probe.onnx_probe(folder)
    if plan.target == "ctranslate2":
        return probe.ctranslate2_probe(folder, plan.precision)
    if plan.target == "marian" and find_spec("transformers") is not None:
        from clearhead.export.transformers_probe import transformers_probe

        return transformers_probe(folder)
    return probe.torch_probe(folder)


def _same_tokens(plan: ExportPlan, text: ComparisonText) -> int | None:
    """Return how many sentences the exported tokeniser splits like the model's own, if it is another program."""
    if plan.target != "marian" or find_spec("transformers") is None:
        return None
    from clearhead.export.transformers_probe import marian_tokens

    own = load_vocabularies(plan.model).source.encode(text.sources)
    return sum(one == two for one, two in zip(own, marian_tokens(plan.folder, text.sources), strict=True))


def _num_bytes(folder: Path, names: tuple[str, ...]) -> int:
    return sum((folder / name).stat().st_size for name in names)


def _machine() -> str:
    """Return the processor and its number of cores, without any name of the computer."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), processor)
    except OSError:
        pass
    return f"{processor}, {cores} cores"
