"""The files of a model and of the run that trained it, so that no output overwrites one of them."""

from pathlib import Path

from clearhead.formats.export_file import CTRANSLATE2_MODEL, EXPORT, ONNX_ENCODER, ONNX_STEP
from clearhead.formats.model_folder import ModelFolder
from clearhead.text.marian import MARIAN_FILES
from clearhead.text.tokeniser import FOLDER

_NAMES = (
    *("config.json", "model.safetensors", "alignment.json", "SHA256SUMS", *MARIAN_FILES),
    *(EXPORT, CTRANSLATE2_MODEL, ONNX_ENCODER, ONNX_STEP),
)
_RUN = (
    *("config.yaml", "environment.json", "data.json", "metrics.jsonl", "outcome.json"),
    *("SHA256SUMS", "README.md", "plan.yaml"),
)
_RUN_MODELS = ("best", "last")
_RUN_FOLDERS = ("checkpoints", FOLDER, "data", "curves", "text")


def model_files(model: ModelFolder) -> list[Path]:
    """Return the config, the weights, the tokeniser and the other files of a model and its run, if they exist."""
    places = dict.fromkeys((model.folder, model.vocabularies))
    files = [folder / name for folder in places for name in _NAMES]
    return [*(path for path in files if path.is_file()), *run_files(model.vocabularies)]


def run_files(folder: Path) -> list[Path]:
    """Return the files that training wrote to a run; others, such as a page or a picture of it, are not its own."""
    files = [folder / name for name in _RUN]
    files += [folder / model / name for model in _RUN_MODELS for name in _NAMES]
    files += [path for name in _RUN_FOLDERS for pattern in ("*", "*/*") for path in (folder / name).glob(pattern)]
    return [path for path in files if path.is_file()]
