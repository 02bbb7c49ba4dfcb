"""Vocabularies that exist already: a run's, an OPUS-MT folder's, or one SentencePiece model for both sides."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from clearhead.errors import CheckpointError, did_you_mean, printable
from clearhead.text.config import TextConfig
from clearhead.text.marian import MARIAN_FILES, load_marian_vocabularies
from clearhead.text.tokeniser import FOLDER, SETTINGS, Tokeniser, Vocabularies


def open_vocabularies(path: str | Path, config: TextConfig, languages: Sequence[str] = ()) -> Vocabularies:
    """Read the vocabularies that `text.tokeniser` names; only how they are sampled is taken from the config.

    A lone SentencePiece model knows nothing of how its text was normalised: for it the config says that too.
    """
    location = Path(path)
    if location.is_file():
        tokeniser = Tokeniser.load(location, config, languages)
        return Vocabularies(tokeniser, tokeniser, tuple(languages))
    vocabularies = _open_folder(location)
    for language in languages:
        vocabularies.source.tag(language)
    for tokeniser in (vocabularies.source, vocabularies.target):
        tokeniser.config = tokeniser.config.model_copy(update={"sampling": config.sampling})
    return replace(vocabularies, labels=())


def _open_folder(place: Path) -> Vocabularies:
    shown = printable(str(place))
    if not place.is_dir():
        there = [child.name for child in place.parent.iterdir()] if place.parent.is_dir() else []
        raise CheckpointError(f"{shown} does not exist.{did_you_mean(place.name, there)}")
    if (place / FOLDER / SETTINGS).is_file():
        return Vocabularies.load(place)
    if (place / SETTINGS).is_file() and place.name == FOLDER:
        return Vocabularies.load(place.parent)
    if any((place / name).is_file() for name in MARIAN_FILES):
        return load_marian_vocabularies(place)
    raise CheckpointError(
        f"{shown} holds no tokeniser. A run folder has {FOLDER}/{SETTINGS}, an OPUS-MT folder has "
        f"{', '.join(MARIAN_FILES)}; a SentencePiece model is a file."
    )
