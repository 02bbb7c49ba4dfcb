"""COMET, a learned metric. It needs a package and a model that are not part of clearhead.

Nothing is downloaded: the model must be a checkpoint on disk, and so must the encoder that it names. The package opens
the checkpoint as a pickle, which can run any code.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from clearhead.errors import ConfigError, DataError, not_installed, printable
from clearhead.evaluation.scores import Score, check_line_counts


def check_comet(model: str | None, sources: Sequence[str] | None) -> Path:
    """Return the checkpoint, or raise an error with what is missing for COMET, before any work is done."""
    if model is None:
        raise ConfigError(
            "COMET needs a model on disk. clearhead does not download one; use the package's comet-download-model. "
            "Give its checkpoint, model.ckpt.",
            options=("comet_model",),
        )
    checkpoint = Path(model)
    if checkpoint.is_dir():
        checkpoints = sorted(checkpoint.rglob("*.ckpt"))
        if len(checkpoints) != 1:
            raise ConfigError(
                f"{printable(model)} contains {len(checkpoints)} checkpoints (*.ckpt), but COMET needs exactly one."
            )
        checkpoint = checkpoints[0]
    if not checkpoint.is_file():
        raise ConfigError(f"the COMET model {printable(model)} does not exist. Give a checkpoint on disk.")
    if sources is None:
        raise DataError("COMET also needs the source text.", options=("source",))
    _import_comet()
    return checkpoint


def comet(model: Path, outputs: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> Score:
    """Return the COMET score of the checkpoint `model`, times 100."""
    check_line_counts(outputs, (references, sources))
    package = _import_comet()
    try:
        scorer = package.load_from_checkpoint(str(model), local_files_only=True)
    except Exception as wrong:  # the package can raise any exception for a foreign file
        first = (str(wrong).splitlines() or [""])[0]
        raise ConfigError(
            f"the package of COMET cannot open {printable(str(model))}: {printable(first)}. "
            "The checkpoint and the encoder that its hparams.yaml names must be on disk."
        ) from None
    rows = [
        {"src": source, "mt": output, "ref": reference}
        for source, output, reference in zip(sources, outputs, references, strict=True)
    ]
    prediction = scorer.predict(rows, batch_size=16, gpus=0, progress_bar=False)
    version = getattr(package, "__version__", "unknown")
    signature = f"nrefs:1|model:{_model_name(model)}|scale:100|version:{version}"
    return Score("COMET", 100.0 * float(prediction.system_score), signature)


def _model_name(model: Path) -> str:
    """Return the name of the model: a checkpoint is in NAME/checkpoints/model.ckpt."""
    folder = model.parent
    return (folder.parent.name if folder.name == "checkpoints" else folder.name) or model.stem


def _import_comet() -> Any:
    try:
        return import_module("comet")
    except ImportError:
        raise ConfigError(not_installed("COMET", "the package unbabel-comet", "comet")) from None
