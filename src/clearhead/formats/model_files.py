"""The files of a model that clearhead reads, so that no output overwrites one of them."""

from pathlib import Path

from clearhead.formats.model_folder import ModelFolder
from clearhead.text.marian import MARIAN_FILES
from clearhead.text.tokeniser import FOLDER

_NAMES = ("config.json", "model.safetensors", "alignment.json", "SHA256SUMS", *MARIAN_FILES)
_RUN = ("config.yaml", "environment.json", "data.json", "metrics.jsonl", "outcome.json")  # of the run that trained it


def model_files(model: ModelFolder) -> list[Path]:
    """Return the config, the weights, the tokeniser and the other files of a model and its run, if they exist."""
    places = dict.fromkeys((model.folder, model.vocabularies))
    files = [folder / name for folder in places for name in (*_NAMES, *_RUN)]
    tokeniser = model.vocabularies / FOLDER
    if tokeniser.is_dir():
        files += tokeniser.iterdir()
    return [path for path in files if path.is_file()]
