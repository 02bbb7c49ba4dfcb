"""The models that are served: their names, their directions, and which of them translates a request.

Nothing here loads weights. A built-in model and a model with a model.json state their languages, an OPUS-MT folder
states them in its tokeniser's settings; for other runs they are given with the model, as in `runs/mine=en-de`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clearhead.errors import CheckpointError, ClearheadError, ConfigError, did_you_mean, printable
from clearhead.files.json_file import read_json
from clearhead.files.own_file import own_path
from clearhead.files.reading import UnreadableFileError
from clearhead.formats.built_in import (
    DESCRIPTION,
    LANGUAGES,
    Direction,
    ModelDescription,
    built_in_models,
    find_built_in,
    language_code,
    read_description,
)
from clearhead.formats.model_folder import ModelFolder, find_model, load_statistics
from clearhead.serve.api_errors import ApiError

_DIRECTION = re.compile(r"=([A-Za-z][\w-]*?)-([A-Za-z][\w]*)$")
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{1,39}")
_TOKENISER_SETTINGS = "tokenizer_config.json"  # of OPUS-MT
_UNKNOWN = "und"  # the code of a language that nobody stated


@dataclass(frozen=True)
class ServedModel:
    """A model: its folder, what it translates, and what its card says."""

    name: str
    path: Path  # the folder as it was given, or that of a built-in model
    directions: tuple[Direction, ...]
    tags: frozenset[str]  # languages of its tags; empty if it has one target language
    title: str = ""
    licence: str | None = None
    attribution: str = ""

    @property
    def card(self) -> Path:
        """The model card, which need not exist."""
        return self.path / "README.md"


@dataclass(frozen=True)
class Route:
    """A model and the direction in which it translates a request; `language` is the tag that it needs, if any."""

    model: ServedModel
    source: str
    target: str

    @property
    def language(self) -> str | None:
        """The target language to set, or None for a model with one target."""
        return self.target if self.target in self.model.tags else None


class Catalogue:
    """All served models; the first one that fits a request translates it."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self.models = tuple(models)
        self._by_name = {model.name: model for model in models}
        self._routes = [
            Route(model, direction.source, direction.target) for model in models for direction in model.directions
        ]
        self._by_direction: dict[tuple[str, str], Route] = {}
        for route in self._routes:
            self._by_direction.setdefault((route.source, route.target), route)
        sources = [route.source for route in self._routes]
        self.codes = tuple(dict.fromkeys((*sources, *(route.target for route in self._routes))))

    def targets_of(self, source: str) -> list[str]:
        """Return the languages into which a source language is translated."""
        return list(dict.fromkeys(route.target for route in self._routes if route.source == source))

    def is_same(self, source: str | None, target: str | None) -> bool:
        """Return whether a source and a target are one served language, so that there is nothing to translate."""
        if source is None or target is None:
            return False
        code = language_code(source, self.codes)
        return code in self.codes and code == language_code(target, self.codes)

    def find(self, name: str) -> ServedModel:
        """Return the model with a name, or raise ApiError 404."""
        model = self._by_name.get(name)
        if model is None:
            near = did_you_mean(name, self._by_name)
            raise ApiError(404, f"there is no model '{printable(name)}'.{near} Models: {', '.join(self._by_name)}.")
        return model

    def route(self, source: str | None, target: str | None, name: str | None = None) -> Route:
        """Return the model that translates a direction; None is any language. Raise ApiError 400 if there is none."""
        if name is None and (route := self._by_direction.get((source or "", target or ""))) is not None:
            return route
        routes = self._routes if name is None else [route for route in self._routes if route.model is self.find(name)]
        source = None if source is None else language_code(source, self.codes)
        target = None if target is None else language_code(target, self.codes)
        for route in routes:
            if source in (None, route.source) and target in (None, route.target):
                return route
        listed = "; ".join(dict.fromkeys(f"{route.source} → {route.target}" for route in routes))
        origin = "" if source is None else f" from '{printable(source)}'"
        goal = "" if target is None else f" into '{printable(target)}'"
        who = "no model" if name is None else f"the model {name} does not translate"
        verb = " translates" if name is None else ""
        raise ApiError(400, f"{who}{verb}{origin}{goal}. There is: {listed}.")


def language_name(code: str) -> str:
    """Return the English name of a language, or its code if the name is not known."""
    return LANGUAGES.get(code, "Unknown" if code == _UNKNOWN else code)


def make_catalogue(names: Iterable[str]) -> Catalogue:
    """Return the models of a server, or raise ConfigError or CheckpointError if one of them cannot be served."""
    entries = list(names) or [model.name for model in built_in_models()]
    if not entries:
        raise ConfigError(
            "no built-in model is installed, and no model was given. Name a run folder or an OPUS-MT folder.",
            options=("models",),
        )
    models: list[ServedModel] = []
    for entry in entries:
        model = _served(entry)
        names_before = {other.name for other in models}
        if any(other.path == model.path and other.directions == model.directions for other in models):
            continue
        name, number = model.name, 2
        while name in names_before:
            name, number = f"{model.name}-{number}", number + 1
        models.append(replace(model, name=name))
    return Catalogue(models)


def _served(entry: str) -> ServedModel:
    place, direction = entry, None
    if not Path(entry).is_dir() and (match := _DIRECTION.search(entry)) is not None:
        place, direction = entry[: match.start()], Direction(source=match[1], target=match[2])
    elif not Path(entry).is_dir() and "=" in entry and _exists(entry.rpartition("=")[0]):
        place, _, word = entry.rpartition("=")
        raise ConfigError(
            f"{printable(entry)}: '{printable(word)}' is not a direction. Write two languages, such as "
            f"{printable(place)}=en-es.",
            options=("models",),
        )
    path = Path(place)
    if not path.is_dir():
        choice = find_built_in(place)
        if choice is not None:
            built_in = choice.model
            # by the name of a model all its directions are served, by the name of a direction only this one
            own = built_in.description.directions if place == built_in.name else (choice.direction,)
            if direction is not None:
                own = _chosen(entry, direction, own)
            return _described(built_in.name, built_in.folder, built_in.description, own)
    folder = find_model(path)  # explains what is missing
    name = printable(path.resolve().name) or "model"
    if direction is None and (folder.folder / DESCRIPTION).is_file():
        description = _description(path, folder)
        return _described(name, path, description, description.directions)
    directions = (direction,) if direction is not None else _stated_directions(entry, folder)
    return ServedModel(name, path, directions, _tags(folder))


def _exists(place: str) -> bool:
    return Path(place).is_dir() or find_built_in(place) is not None


def _chosen(entry: str, direction: Direction, directions: tuple[Direction, ...]) -> tuple[Direction, ...]:
    """Return one direction of a built-in model, or raise ConfigError if it does not have it."""
    chosen = tuple(own for own in directions if (own.source, own.target) == (direction.source, direction.target))
    if not chosen:
        listed = ", ".join(f"{own.source}-{own.target}" for own in directions)
        raise ConfigError(
            f"{printable(entry)}: the model does not have this direction. It has: {listed}.", options=("models",)
        )
    return chosen


def _described(name: str, path: Path, description: ModelDescription, directions: tuple[Direction, ...]) -> ServedModel:
    texts = description.summary, description.licence, description.attribution
    return ServedModel(name, path, directions, _tags(find_model(path)), *texts)


def _description(path: Path, folder: ModelFolder) -> ModelDescription:
    """Read the model.json of a folder; it is shown to everybody, so a link must not lead to that of another model."""
    place = folder.folder / DESCRIPTION
    try:
        return read_description(own_path(path, place))
    except UnreadableFileError as error:
        raise CheckpointError(f"{printable(str(place))} {error}.") from None


def _tags(folder: ModelFolder) -> frozenset[str]:
    return frozenset(folder.own_vocabularies.source.tags)


def _stated_directions(entry: str, folder: ModelFolder) -> tuple[Direction, ...]:
    """Return the directions that the files of a model state, or raise ConfigError that says how to give them."""
    source = _code(load_statistics(folder).source_language)
    targets = sorted(tag for tag in _tags(folder) if _code(tag))
    settings = folder.folder / _TOKENISER_SETTINGS
    if settings.is_file():
        stated = read_json(settings)
        source = source or _code(stated.get("source_lang"))
        targets = targets or [code for code in (_code(stated.get("target_lang")),) if code]
    if not targets:
        raise ConfigError(
            f"{printable(entry)} does not state the languages that it translates. Add them, for example "
            f"{printable(entry)}=en-de.",
            options=("models",),
        )
    return tuple(Direction(source=source or _UNKNOWN, target=target) for target in targets)


def _code(value: object) -> str | None:
    """Return a code of a language; a link in a hub's cache can lead to any file, and only a code of it is shown."""
    return value if isinstance(value, str) and _CODE.fullmatch(value) else None


def is_usable(model: ServedModel) -> bool:
    """Return whether the files of a model are still there; they are not read."""
    try:
        find_model(model.path)
    except (ClearheadError, OSError):
        return False
    return True
