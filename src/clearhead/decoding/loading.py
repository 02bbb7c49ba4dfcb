"""From a path to a model that translates: a run folder, one of its checkpoints, or an OPUS-MT folder.

Nothing here imports torch before an engine that needs it is chosen.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from clearhead.decoding.engines.engine import DeviceName, Engine, EngineName, EngineNeeds, ModelFolder, Precision
from clearhead.decoding.translator import Translator
from clearhead.errors import CheckpointError, did_you_mean, printable
from clearhead.files.json_file import read_json
from clearhead.text.marian import MARIAN_FILES, load_marian_vocabularies
from clearhead.text.tokeniser import FOLDER, Vocabularies

CONFIG = "config.json"


def open_translator(
    path: str | Path,
    *,
    engine: EngineName = "auto",
    device: DeviceName = "auto",
    precision: Precision = "auto",
    needs: EngineNeeds = EngineNeeds(),
) -> Translator:
    """Open the model at a path with an engine that can do all that is asked; `notes` tell where it is another one."""
    place = find_model(path)
    vocabularies = load_vocabularies(place)
    chosen, notes = _open_engine(place, engine, device, precision, needs)
    return Translator(vocabularies, chosen, tuple(notes))


def _open_engine(
    place: ModelFolder, name: EngineName, device: DeviceName, precision: Precision, needs: EngineNeeds
) -> tuple[Engine, list[str]]:
    from clearhead.decoding.engines import ctranslate2_engine

    notes: list[str] = []
    if name == "ctranslate2" or (name == "auto" and not ctranslate2_engine.sees_gpu(device)):
        missing = ctranslate2_engine.lacks(place, needs, device, precision)
        if missing is None:
            return ctranslate2_engine.open_ctranslate2(place, device, precision), notes
        if name == "ctranslate2":
            notes.append(f"The engine ctranslate2 cannot do this ({missing}); torch does it.")
    from clearhead.decoding.engines.torch_engine import open_torch

    return open_torch(place, device, precision), notes


def find_model(path: str | Path) -> ModelFolder:
    """Return where the parts of a model lie, or say which is missing."""
    place = Path(path)
    if not place.is_dir():
        there = [child.name for child in place.parent.iterdir()] if place.parent.is_dir() else []
        what = "is a file, and a folder is needed" if place.exists() else "does not exist"
        raise CheckpointError(
            f"{printable(str(place))} {what}.{did_you_mean(place.name, there)} "
            "Give a run folder, one of its checkpoints, or an OPUS-MT folder."
        )
    for folder in candidates(place):
        if (folder / CONFIG).is_file():
            return ModelFolder(folder, run_of(folder), read_json(folder / CONFIG).get("model_type") == "marian")
    weights = [folder for folder in candidates(place) if (folder / "model.safetensors").is_file()]
    if weights:
        raise CheckpointError(
            f"{printable(str(weights[0]))} has no {CONFIG}, which describes its weights. Copy it too."
        )
    raise CheckpointError(
        f"{printable(str(place))} holds no model. Give a run folder, one of its checkpoints, or an OPUS-MT folder."
    )


def fingerprint(folder: Path) -> str:
    """Return by what a model is known again: a hash of its config and of the end of its weights."""
    made = sha256((folder / CONFIG).read_bytes())
    weights = folder / "model.safetensors"
    if weights.is_file():
        size = weights.stat().st_size
        with weights.open("rb") as file:
            file.seek(max(0, size - 2**20))
            made.update(str(size).encode() + file.read())
    return made.hexdigest()[:16]


def load_vocabularies(place: ModelFolder) -> Vocabularies:
    """Read the tokeniser of a model."""
    if (place.vocabularies / FOLDER).is_dir():
        return Vocabularies.load(place.vocabularies)
    if place.is_marian or any((place.folder / name).is_file() for name in MARIAN_FILES):
        return load_marian_vocabularies(place.folder)
    raise CheckpointError(
        f"{printable(str(place.folder))} has no tokeniser: neither {FOLDER}/ in it or in the run that it is of, nor "
        f"{', '.join(MARIAN_FILES)}. Copy the whole run folder."
    )


def run_of(place: Path) -> Path:
    """Return the folder that holds the tokeniser: of a run's best, last or other checkpoint, the run."""
    for folder in (place, place.absolute().parent, place.absolute().parent.parent):
        if (folder / FOLDER).is_dir():
            return folder
    return place


def candidates(place: Path) -> Sequence[Path]:
    """Return where the model of a run may lie, the likeliest first."""
    return (place, place / "best", place / "last")
