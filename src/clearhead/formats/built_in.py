"""The models that are installed with clearhead: their names, their languages, and which one translates a direction.

A model is chosen by its name (`en-es`), or by a direction that it translates (`en-hi`). Nothing here reads weights.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from clearhead.errors import CheckpointError, ConfigError, did_you_mean, printable
from clearhead.files.json_file import read_json
from clearhead.settings import Settings, read_settings

MODELS = Path(__file__).parents[1] / "models"
DESCRIPTION = "model.json"
LANGUAGES = {
    "ar": "Arabic", "bn": "Bengali", "cs": "Czech", "de": "German", "en": "English", "es": "Spanish", "fi": "Finnish",
    "fr": "French", "hi": "Hindi", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pl": "Polish",
    "pt": "Portuguese", "ru": "Russian", "sv": "Swedish", "tr": "Turkish", "uk": "Ukrainian", "zh": "Chinese",
}  # fmt: skip
_USUAL = ("en", "es")  # the direction that is used if none is given
_NONE = "no built-in model is installed. Name a run folder, a checkpoint or an OPUS-MT folder."


class Direction(Settings):
    """A direction that a model translates, and its scores on a test set that it was not trained on."""

    source: str = Field(min_length=2, max_length=40, description="code of the source language, such as en")
    target: str = Field(min_length=2, max_length=40, description="code of the target language, such as es")
    bleu: float | None = Field(None, ge=0, le=100, description="BLEU on the test set")
    chrf: float | None = Field(None, ge=0, le=100, description="chrF on the test set")
    test: str = Field("", description="the test set")
    signature: str = Field("", description="sacreBLEU's signature of the scores")

    @property
    def name(self) -> str:
        """Its name: `en-es`."""
        return f"{self.source}-{self.target}"


class ModelDescription(Settings):
    """The content of model.json."""

    format: Literal[1] = 1
    summary: str = Field("", description="what the model is, in one sentence")
    directions: tuple[Direction, ...] = Field(min_length=1, description="directions it translates, the usual one first")
    licence: str = Field(min_length=1, description="licence of the weights")
    attribution: str = Field("", description="whom the licence of the data requires to be named")


@dataclass(frozen=True)
class BuiltInModel:
    """A model that is installed with clearhead."""

    name: str
    folder: Path
    description: ModelDescription


@dataclass(frozen=True)
class BuiltInChoice:
    """A built-in model, and one of the directions that it translates."""

    model: BuiltInModel
    direction: Direction


def read_description(path: Path) -> ModelDescription:
    """Read a model.json, or raise CheckpointError with its mistakes."""
    try:
        return read_settings(ModelDescription, read_json(path))
    except ConfigError as wrong:
        raise CheckpointError(f"{printable(str(path))}: {' '.join(wrong.mistakes)}") from None


def built_in_models() -> list[BuiltInModel]:
    """Return the models that are installed, by name; an installation can have none."""
    return list(_models_in(MODELS))


@lru_cache(maxsize=4)
def _models_in(folder: Path) -> tuple[BuiltInModel, ...]:
    places = sorted(folder.iterdir()) if folder.is_dir() else []
    return tuple(
        BuiltInModel(place.name, place, read_description(place / DESCRIPTION))
        for place in places
        if (place / DESCRIPTION).is_file()
    )


def _choices() -> Iterator[BuiltInChoice]:
    """Yield every direction of every model; the usual one of all comes first, then the usual ones of the models."""
    choices = [
        (place, BuiltInChoice(model, direction))
        for model in built_in_models()
        for place, direction in enumerate(model.description.directions)
    ]
    choices.sort(key=lambda entry: ((entry[1].direction.source, entry[1].direction.target) != _USUAL, entry[0]))
    yield from (choice for _, choice in choices)


def find_built_in(name: str) -> BuiltInChoice | None:
    """Return the model with a name, or the one that translates the direction of this name; None if there is none."""
    choices = list(_choices())
    by_name = (choice for choice in choices if choice.model.name == name)
    by_direction = (choice for choice in choices if choice.direction.name == name)
    return next(by_name, None) or next(by_direction, None)


def built_in_for(source: str | None = None, target: str | None = None, name: str | None = None) -> BuiltInChoice:
    """Return a model that translates between these languages; by default from English into Spanish.

    With a name, only this model is considered. Raise ConfigError, with the directions that there are, if none fits.
    """
    choices = [choice for choice in _choices() if name is None or choice.model.name == name]
    if not choices:
        raise ConfigError(_NONE, options=("model",))
    codes_by_side = {
        side: sorted({getattr(choice.direction, side) for choice in choices}) for side in ("source", "target")
    }
    source, target = (
        None if word is None else language_code(word, codes_by_side[side])
        for side, word in (("source", source), ("target", target))
    )
    for side, language in (("source", source), ("target", target)):
        codes = codes_by_side[side]
        if language is not None and language not in codes:
            raise ConfigError(
                f"{_refusal(name)} {'from' if side == 'source' else 'into'} '{printable(language)}'."
                f"{did_you_mean(language, codes)} {_listed(choices)}",
                options=("source_language" if side == "source" else "language", "model"),
            )
    fitting = [
        choice
        for choice in choices
        if source in (None, choice.direction.source) and target in (None, choice.direction.target)
    ]
    if not fitting:
        raise ConfigError(
            f"{_refusal(name)} from '{source}' into '{target}'. {_listed(choices)}",
            options=("source_language", "language", "model"),
        )
    return fitting[0]


def _refusal(name: str | None) -> str:
    return "no built-in model translates" if name is None else f"the built-in model {name} does not translate"


def language_code(word: str, codes: Iterable[str]) -> str:
    """Return the code of a language: `es` for `ES` or `Spanish`; a word that is no language is unchanged."""
    names = {code.lower(): code for code in codes}
    names |= {LANGUAGES[code].lower(): code for code in codes if code in LANGUAGES}
    return word if word in codes else names.get(word.lower(), word)


def _listed(choices: Iterable[BuiltInChoice]) -> str:
    targets: dict[str, list[str]] = {}
    for choice in choices:
        own = targets.setdefault(choice.direction.source, [])
        if choice.direction.target not in own:
            own.append(choice.direction.target)
    directions = "; ".join(f"{source} → {', '.join(into)}" for source, into in sorted(targets.items()))
    return f"There is: {directions}. Use one of these, or a model of your own."


def unknown_model_hint(name: str) -> str:
    """Return " Did you mean 'x'? Built-in models: …" for a name that is neither a folder nor a built-in model."""
    names = [model.name for model in built_in_models()]
    if not names or "/" in name or "\\" in name:
        return ""
    directions = [choice.direction.name for choice in _choices()]
    return f"{did_you_mean(name, dict.fromkeys([*names, *directions]))} Built-in models: {', '.join(names)}."
