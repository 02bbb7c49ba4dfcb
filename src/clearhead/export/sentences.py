"""The sentences on which an export is compared with its model: from files, or from the built-in phrasebook."""

from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path

from clearhead.data.phrasebook import pairs
from clearhead.errors import ConfigError, DataError, printable
from clearhead.files.line_input import whole_input
from clearhead.formats import built_in
from clearhead.formats.model_folder import ModelFolder

NUM_BUILT_IN = 200  # sentences of the phrasebook
_PHRASEBOOK = "the phrasebook"


@dataclass(frozen=True)
class ComparisonText:
    """Sentences, their reference translations if there are any, and where they are from."""

    sources: tuple[str, ...]
    references: tuple[str, ...] | None
    name: str

    @property
    def digest(self) -> str:
        """A hash of the sentences and the references."""
        return sha256("\n".join((*self.sources, "", *(self.references or ()))).encode()).hexdigest()


@dataclass(frozen=True)
class TextChoice:
    """The files to read; without a source, the phrasebook where it fits the model, or if `is_phrasebook`."""

    source: str | None = None
    reference: str | None = None
    num_lines: int | None = None
    is_phrasebook: bool = False


def read_comparison_text(choice: TextChoice, model: ModelFolder) -> ComparisonText:
    """Return the sentences for a model, or raise an error that says which ones it needs."""
    if choice.source is None:
        return _built_in(choice, model)
    if choice.is_phrasebook:
        raise ConfigError("give a source file or the phrasebook, not both.", options=("source", "phrasebook"))
    sources = whole_input(choice.source)
    references = None if choice.reference is None else whole_input(choice.reference)
    if references is not None and len(references) != len(sources):
        raise DataError(
            f"{printable(choice.source)} has {len(sources):,} lines and {printable(str(choice.reference))} has "
            f"{len(references):,}. Line i of one file belongs to line i of the other: both need the same number."
        )
    places = [number for number, source in enumerate(sources) if source.strip()][: choice.num_lines]
    if not places:
        raise DataError(f"{printable(choice.source)} has no sentences. Give at least one.", options=("source",))
    return ComparisonText(
        tuple(sources[number] for number in places),
        None if references is None else tuple(references[number] for number in places),
        Path(choice.source).name,
    )


def _built_in(choice: TextChoice, model: ModelFolder) -> ComparisonText:
    if choice.reference is not None:
        raise ConfigError(
            "there are references, but no sentences that they translate. Give both files.", options=("source",)
        )
    is_built_in = model.folder.parent == built_in.MODELS
    if not is_built_in and not choice.is_phrasebook:
        raise ConfigError(
            "an export is compared with its model on sentences of its source language, and this model has none of its "
            "own. Give a file of sentences, one per line, and a file of their translations.",
            options=("source", "reference"),
        )
    rows = list(islice(pairs("test"), choice.num_lines or NUM_BUILT_IN))
    if is_built_in and model.language == "en":
        rows = [(spanish, english) for english, spanish in rows]
    has_references = model.language in ("en", "es", None)  # the other languages are not in the phrasebook
    return ComparisonText(
        tuple(source for source, _ in rows),
        tuple(target for _, target in rows) if has_references else None,
        _PHRASEBOOK,
    )
