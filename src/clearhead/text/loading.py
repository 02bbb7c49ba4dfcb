"""Load existing vocabularies: from a run, an OPUS-MT folder, or one SentencePiece model for both sides."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from clearhead.errors import CheckpointError, printable
from clearhead.files.reading import missing_file_hint
from clearhead.text.config import TextConfig
from clearhead.text.marian import MARIAN_FILES, load_marian_vocabularies
from clearhead.text.tokeniser import FOLDER, SETTINGS, Tokeniser, Vocabularies


def open_vocabularies(path: str | Path, config: TextConfig, languages: Sequence[str] = ()) -> Vocabularies:
    """Read the vocabularies that `text.tokeniser` names, and take only `sampling` and `byte_share` from the config.

    A single SentencePiece model does not record how its text was normalised, so for it the config decides that too.
    """
    location = Path(path)
    if location.is_file():
        tokeniser = Tokeniser.load(location, config, languages)
        return Vocabularies(tokeniser, tokeniser, tuple(languages))
    vocabularies = _open_folder(location)
    for language in languages:
        vocabularies.source.tag(language)
    changes = {"sampling": config.sampling, "byte_share": config.byte_share}
    for tokeniser in (vocabularies.source, vocabularies.target):
        tokeniser.config = tokeniser.config.model_copy(update=changes)
    return replace(vocabularies, labels=())


def _open_folder(place: Path) -> Vocabularies:
    shown = printable(str(place))
    if not place.is_dir():
        raise CheckpointError(f"{shown} does not exist.{missing_file_hint(place)}")
    if (place / FOLDER / SETTINGS).is_file():
        return Vocabularies.load(place)
    if (place / SETTINGS).is_file() and place.name == FOLDER:
        return Vocabularies.load(place.parent)
    if any((place / name).is_file() for name in MARIAN_FILES):
        return load_marian_vocabularies(place)
    raise CheckpointError(
        f"{shown} contains no tokeniser. A run folder has {FOLDER}/{SETTINGS}, an OPUS-MT folder has "
        f"{', '.join(MARIAN_FILES)}; a SentencePiece model is a file."
    )
