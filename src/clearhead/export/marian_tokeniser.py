"""Write the tokeniser of a model as the files that MarianTokenizer of the library transformers reads."""

import json

from clearhead.errors import CheckpointError
from clearhead.files.json_file import json_writer
from clearhead.files.writing import FileWriter, bytes_writer
from clearhead.formats.marian import tokenizer_copies
from clearhead.formats.model_folder import ModelFolder, load_config, load_statistics, load_vocabularies
from clearhead.text.special import PIECES
from clearhead.text.tokeniser import FOLDER, Tokeniser

_UNKNOWN_LANGUAGE = "und"  # the code of ISO 639 for a language that is not known


def tokenizer_writers(model: ModelFolder) -> dict[str, FileWriter]:
    """Return what writes the files of the tokenizer: copies of an OPUS-MT model's own, or new ones."""
    own = tokenizer_copies(model.folder)
    if own and not (model.vocabularies / FOLDER).is_dir():
        return own
    vocabularies, config = load_vocabularies(model), load_config(model)
    ids = _ids(vocabularies.source, config.source_vocabulary)
    is_joint = vocabularies.is_joint
    writers = {
        "source.spm": bytes_writer(vocabularies.source.model),
        "target.spm": bytes_writer(vocabularies.target.model),
        "vocab.json": _ids_writer(ids),
        "tokenizer_config.json": json_writer(
            {
                "tokenizer_class": "MarianTokenizer",
                "source_lang": load_statistics(model).source_language or _UNKNOWN_LANGUAGE,
                "target_lang": model.language or _UNKNOWN_LANGUAGE,
                "separate_vocabs": not is_joint,
                "pad_token": PIECES[0],
                "eos_token": PIECES[2],
                "unk_token": PIECES[3],
                "model_max_length": min(512, config.max_length),
            }
        ),
    }
    if not is_joint:
        writers["target_vocab.json"] = _ids_writer(_ids(vocabularies.target, config.target_size))
    return writers


def _ids(tokeniser: Tokeniser, size: int) -> dict[str, int]:
    """Return the id of every piece, with the special tokens under the names that MarianTokenizer uses."""
    if tokeniser.ids is not None:
        return dict(tokeniser.ids)
    names = tokeniser.pieces(range(min(size, tokeniser.size)))
    ids = {name: number for number, name in enumerate(names)}
    ids[PIECES[3]] = tokeniser.unk
    missing = [name for name in (PIECES[0], PIECES[2]) if name not in ids]
    if missing or len(set(ids.values())) != len(names):
        raise CheckpointError(
            f"MarianTokenizer cannot represent this vocabulary: "
            f"{'it lacks ' + ', '.join(missing) if missing else 'two ids have the same piece'}."
        )
    return ids


def _ids_writer(ids: dict[str, int]) -> FileWriter:
    return bytes_writer((json.dumps(ids, ensure_ascii=False, indent=0) + "\n").encode())
