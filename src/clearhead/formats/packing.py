"""Pack a trained model as a built-in one: a folder with int8 weights, its vocabulary, a description and a card."""

from pathlib import Path

from clearhead.errors import CheckpointError, printable
from clearhead.files.json_file import json_writer
from clearhead.files.writing import bytes_writer, copy_writer, write_together
from clearhead.formats.built_in import DESCRIPTION, read_description
from clearhead.formats.config_file import config_data
from clearhead.formats.files import CONFIG, WEIGHTS, array_writer
from clearhead.formats.int8 import to_int8
from clearhead.formats.model_folder import find_model, load_arrays, load_statistics, load_vocabularies

CARD = "README.md"


def pack_model(path: str | Path, folder: str | Path, description: str | Path, card: str | Path | None = None) -> Path:
    """Write the model of a run to a new folder, with int8 weights, and return the folder.

    `description` is a model.json; the card is by default that of the run.
    """
    model, target = find_model(path), Path(folder)
    if target.exists():
        raise CheckpointError(f"{printable(str(target))} exists already. Choose a new folder.", options=("output",))
    about = read_description(Path(description))
    own_card = model.vocabularies / CARD if card is None else Path(card)
    if not own_card.is_file():
        raise CheckpointError(
            f"{printable(str(own_card))} does not exist. Give the card of the model.", options=("card",)
        )
    weights, vocabularies = load_arrays(model), load_vocabularies(model)
    writers = {
        WEIGHTS: array_writer(to_int8(weights.arrays)),
        CARD: copy_writer(own_card),
        DESCRIPTION: bytes_writer(about.model_dump_json(indent=1, exclude_defaults=True).encode() + b"\n"),
        CONFIG: json_writer(config_data(weights.config)),
    }
    write_together(target, writers, has_manifest=True)
    vocabularies.save(target)
    load_statistics(model).save(target)
    return target
