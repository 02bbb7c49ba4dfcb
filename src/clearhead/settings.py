"""The base class of all settings: a frozen pydantic model that reports all mistakes together, each with its path.

A default is defined only on its field, and the field's description is used in the help, the reference page and errors.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from json import dumps
from types import NoneType
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from clearhead.errors import ConfigError, Mistake, closest_match, did_you_mean, printable
from clearhead.retired import removed

_MAX_SHOWN = 60  # characters of a value in a sentence
_MAX_ERRORS = 1000  # that get a sentence: a client of a server could make a hundred thousand
_MAX_NAMES = 12  # of a group, listed if no name is similar


class Settings(BaseModel):
    """The base of every config: unknown names are mistakes, and values cannot change after validation."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True)
    # Settings that were removed, with the default that files of earlier versions state: there they change nothing.
    retired: ClassVar[Mapping[str, Any]] = {}

    @model_validator(mode="before")
    @classmethod
    def _without_retired(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or cls.retired.keys().isdisjoint(data):
            return data
        return {name: value for name, value in data.items() if name not in cls.retired or value != cls.retired[name]}

    @field_validator("*", mode="before")
    @classmethod
    def _as_written(cls, value: Any, info: ValidationInfo) -> Any:
        """Read a group with all its lines commented out as empty, and never accept `true` as the number 1."""
        annotation = cls.model_fields[info.field_name or ""].annotation
        if value is None and (models_in(annotation) or get_origin(annotation) is dict) and not _allows_none(annotation):
            return {}
        is_number = bool({int, float} & set(_plain_types(annotation)))
        if isinstance(value, bool) and is_number and bool not in _plain_types(annotation):
            raise PydanticCustomError("truth_for_number", "a number is required")
        return value


class MisfitError(ValueError):
    """Raised by a validator when settings contradict each other.

    The path of each mistake is a field name of that validator's model, and its sentence has no full stop.
    """

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__(". ".join(mistake.sentence for mistake in mistakes))


S = TypeVar("S", bound=BaseModel)


@dataclass(frozen=True)
class SettingsReading(Generic[S]):
    """The result of validation: the value, with wrong settings at their defaults, all mistakes, and the wrong paths."""

    value: S | None
    mistakes: tuple[Mistake, ...]
    blamed: frozenset[str]


@dataclass(frozen=True)
class FieldHelp:
    """The documentation of one setting."""

    path: str
    kind: str
    choices: tuple[str, ...]
    default: Any
    is_needed: bool
    description: str


@dataclass(frozen=True)
class Wording:
    """What messages call a setting and a group of them."""

    name: str = "setting"
    group: str = "a group of settings"
    is_json: bool = False  # whether examples are written as JSON, not as YAML


SETTINGS_WORDING = Wording()
REQUEST_WORDING = Wording("field", "an object", is_json=True)  # of JSON that a client of the server sends


def read_settings(cls: type[S], data: Mapping[str, Any], place: str = "", wording: Wording = SETTINGS_WORDING) -> S:
    """Validate the data, or raise ConfigError with all mistakes. `place` is the prefix of their paths."""
    reading = examine(cls, data, place, wording=wording)
    if reading.mistakes or reading.value is None:
        raise ConfigError(reading.mistakes)
    return reading.value


def examine(
    cls: type[S],
    data: Mapping[str, Any],
    place: str = "",
    stand_ins: Mapping[str, Any] | None = None,
    wording: Wording = SETTINGS_WORDING,
) -> SettingsReading[S]:
    """Validate the data as far as possible, and return the result with all mistakes.

    `stand_ins` maps paths to values that replace required settings that are wrong, so that the rest can be validated.
    """
    data = _with_text_keys(data)
    try:
        return SettingsReading(cls.model_validate(data), (), frozenset())
    except ValidationError as wrong:
        all_errors = wrong.errors()[:_MAX_ERRORS]
        # If all entries of a list are wrong, pydantic also calls it too short. The entries are reported already.
        inside = {error["loc"][:end] for error in all_errors for end in range(len(error["loc"]))}
        errors = [error for error in all_errors if error["type"] != "too_short" or error["loc"] not in inside]
    reader = _Reader(cls, data, place, wording)
    mistakes = [mistake for error in errors for mistake in reader.mistakes(error)]
    rest = _without(data, errors, reader, stand_ins or {})
    value: S | None = None
    try:
        value = cls.model_validate(rest)
    except ValidationError as wrong:
        # Settings that are valid alone can contradict each other. Do not report a wrong one twice.
        again = [error for error in wrong.errors() if error["type"] == "value_error"]
        mistakes += [mistake for error in again for mistake in reader.mistakes(error)]
    unique = {mistake.sentence: mistake for mistake in mistakes}
    return SettingsReading(value, tuple(unique.values()), frozenset(reader.blamed))


def _with_text_keys(data: Any) -> Any:
    """Return the data with names as text: YAML reads `1:` as a number, which pydantic takes for a place in a list."""
    if isinstance(data, Mapping):
        return {str(name): _with_text_keys(value) for name, value in data.items()}
    if isinstance(data, list):
        return [_with_text_keys(entry) for entry in data]
    return data


def fields_of(cls: type[BaseModel], place: str = "") -> Iterator[FieldHelp]:
    """Yield every setting of a model and of its nested models, depth first; list entries have the index 0."""
    for name, field in cls.model_fields.items():
        path = _joined(place, name)
        models = models_in(field.annotation)
        if models:
            is_list = _is_list(field.annotation)
            if is_list or field.is_required() or _allows_none(field.annotation):
                yield _help(path, field)
            yield from fields_of(models[0], f"{path}.0" if is_list else path)
        else:
            yield _help(path, field)


def _help(path: str, field: FieldInfo) -> FieldHelp:
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    return FieldHelp(
        path=path,
        kind=kind_of(field),
        choices=tuple(choices_in(field.annotation)),
        default=default,
        is_needed=field.is_required(),
        description=field.description or "",
    )


def kind_of(field: FieldInfo, group: str = "a group of settings") -> str:
    """Describe the values of a field: `a whole number of at least 1`, `true or false`, `text or null`."""
    kind = _kind(field.annotation, field.metadata, group)
    return f"{kind}, or null" if _allows_none(field.annotation) else kind


def _kind(annotation: Any, metadata: Sequence[Any], group: str) -> str:
    types, choices = _plain_types(annotation), choices_in(annotation)
    if choices:
        return f"one of {', '.join(choices)}"
    if get_origin(annotation) is dict:
        return group
    if models_in(annotation):
        return "a list of groups of settings" if _is_list(annotation) else group
    if get_origin(annotation) is tuple:
        inner, last = get_args(annotation)[0], get_args(annotation)[-1]
        number = _length(metadata) if last is Ellipsis else len(get_args(annotation))
        count = "" if number is None else f"{number} "
        if str in _plain_types(inner):
            return f"a list of {count}texts"
        return f"a list of {count}numbers{_bounds(getattr(inner, '__metadata__', ()))}"
    if bool in types:
        return "true or false"
    if int in types or float in types:
        return f"{'a number' if float in types else 'a whole number'}{_bounds(metadata)}"
    if str in types:
        patterns = [constraint.pattern for constraint in metadata if getattr(constraint, "pattern", None)]
        return f"text that matches {patterns[0]}" if patterns else "text"
    return group


def _length(metadata: Sequence[Any]) -> int | None:
    """Return the number of entries that a list must have, or None if several numbers are allowed."""
    least, most = (
        next((getattr(constraint, name) for constraint in metadata if hasattr(constraint, name)), None)
        for name in ("min_length", "max_length")
    )
    return least if least == most else None


def _bounds(metadata: Sequence[Any]) -> str:
    """Describe the bounds of a number: ` from 0 to 1`, ` above 0`, ` of at least 0 and below 1`."""
    bounds: dict[str, Any] = {}
    for constraint in _flat(metadata):
        for name in ("gt", "ge", "lt", "le"):
            if getattr(constraint, name, None) is not None:
                bounds[name] = getattr(constraint, name)
    if set(bounds) == {"ge", "le"}:
        return f" from {bounds['ge']} to {bounds['le']}"
    words = {"gt": "above", "ge": "of at least", "lt": "below", "le": "of at most"}
    phrases = [f"{word} {bounds[name]}" for name, word in words.items() if name in bounds]
    return f" {' and '.join(phrases).replace(' and of at', ' and at')}" if phrases else ""


def _flat(metadata: Sequence[Any]) -> Iterator[Any]:
    for constraint in metadata:
        yield from constraint.metadata if isinstance(constraint, FieldInfo) else (constraint,)


def choices_in(annotation: Any) -> list[str]:
    """Return the choices of an annotation such as `Literal["a", "b"] | None`."""
    if get_origin(annotation) is Literal:
        return [str(word) for word in get_args(annotation)]
    return [word for part in get_args(annotation) for word in choices_in(part)]


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models in an annotation such as `tuple[CorpusConfig, ...] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in models_in(part)]


def shown(value: object) -> str:
    """Format a value as in YAML, on one short line, with control characters escaped."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    text = printable(repr(value))
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def _plain_types(annotation: Any) -> list[Any]:
    parts = get_args(annotation)
    return [plain for part in parts for plain in _plain_types(part)] if parts else [annotation]


def _allows_none(annotation: Any) -> bool:
    return NoneType in get_args(annotation)


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is tuple


def _joined(*parts: object) -> str:
    return ".".join(str(part) for part in parts if str(part))


@dataclass(frozen=True)
class _Spot:
    """Where an error is: the model, its field (None if there is no such field) and the path to it."""

    owner: type[BaseModel]
    field: FieldInfo | None
    parts: tuple[int | str, ...]
    is_inside: bool  # the error is in a part of the field's value, such as the second of two numbers


class _Reader:
    """Turns pydantic's errors into sentences, and records the paths that are wrong."""

    def __init__(self, cls: type[BaseModel], data: Mapping[str, Any], place: str, wording: Wording) -> None:
        self._cls, self._data, self._place, self._wording = cls, data, place, wording
        self.blamed: set[str] = set()

    def mistakes(self, error: ErrorDetails) -> Iterator[Mistake]:
        """Yield each mistake of an error."""
        spot = self.spot(error["loc"])
        path = self._path(spot.parts)
        if error["type"] == "value_error":
            wrong = error.get("ctx", {}).get("error")
            misfits = wrong.mistakes if isinstance(wrong, MisfitError) else (Mistake((), str(wrong)),)
            for misfit in misfits:
                sentence = f"{path}: {misfit.sentence}." if path else f"{misfit.sentence}."
                mistake = Mistake((path, *(_joined(path, name) for name in misfit.paths)), sentence)
                if not any(mistake.concerns(blamed) for blamed in self.blamed):
                    yield mistake
            return
        self.blamed.add(path)
        yield Mistake((path,), self._sentence(error, spot, path))

    def spot(self, location: Iterable[int | str]) -> _Spot:
        """Return the field at a location in pydantic's error."""
        owner, field, parts = self._cls, None, []
        places = tuple(location)
        for index, part in enumerate(places):
            parts.append(part)
            if isinstance(part, int) and field is not None and models_in(field.annotation):
                owner = models_in(field.annotation)[0]
                continue
            if field is not None and models_in(field.annotation):
                owner = models_in(field.annotation)[0]
            field = owner.model_fields.get(str(part))
            if field is None or not models_in(field.annotation):
                return _Spot(owner, field, tuple(parts), is_inside=index + 1 < len(places))
        return _Spot(owner, field, tuple(parts), is_inside=False)

    def _path(self, parts: Iterable[int | str]) -> str:
        return _joined(self._place, *(printable(str(part)) for part in parts))

    def _sentence(self, error: ErrorDetails, spot: _Spot, path: str) -> str:
        field = spot.field
        if field is None:
            return self._unknown(spot, path)
        if error["type"] == "missing" and not spot.is_inside:
            return f"{path} is missing: {field.description or kind_of(field)}."
        value = _value_at(self._data, spot.parts)
        if models_in(field.annotation):
            return self._wrong_group(path, value, field, is_entry=isinstance(spot.parts[-1], int))
        choices = choices_in(field.annotation)
        retirement = removed(f"{spot.parts[-1]}: {value}") if choices else None
        if retirement is not None:
            return f"{path}: {retirement}"
        if choices:
            near = did_you_mean(str(value), choices)
            return f"{path} = {shown(value)} is not a choice.{near} Choices: {', '.join(choices)}."
        meaning = f" ({path.rpartition('.')[2]}: {field.description})" if field.description else ""
        example = f", such as {_example(field)}" if self._wording.is_json and field.examples else ""
        return f"{path} = {shown(value)} is not {kind_of(field, self._wording.group)}{example}{meaning}."

    def _unknown(self, spot: _Spot, path: str) -> str:
        name, names, noun = str(spot.parts[-1]), list(spot.owner.model_fields), self._wording.name
        retirement = removed(path, name)
        if retirement is not None:
            return retirement
        match = closest_match(name, names)
        if match is not None:
            meant = (*spot.parts[:-1], match)
            if _value_at(self._data, meant) is None:  # do not also report the intended name as missing
                self.blamed.add(self._path(meant))
            return f"{path} is not a {noun}. Did you mean '{match}'?"
        elsewhere = [setting.path for setting in fields_of(self._cls, self._place) if setting.path.endswith(f".{name}")]
        if elsewhere:
            self.blamed.add(elsewhere[0])
            return f"{path} is not a {noun}. Did you mean '{elsewhere[0]}'?"
        group = self._path(spot.parts[:-1])
        nouns = f"{noun.capitalize()}s"
        some = f" {f'{nouns} of {group}' if group else nouns}: {', '.join(names)}."
        return f"{path} is not a {noun}.{some if len(names) <= _MAX_NAMES else ''}"

    def _wrong_group(self, path: str, value: Any, field: FieldInfo, is_entry: bool) -> str:
        names = ", ".join(models_in(field.annotation)[0].model_fields)
        is_single = not _is_list(field.annotation) or is_entry
        if not is_single and not value:
            return f"{path} is empty: {field.description}."
        if self._wording.is_json:
            example = _example(field)
            kind = f"an object, such as {example}" if is_single else f"a list of objects, such as [{example}]"
            return f"{path} = {shown(value)} is not {kind}."
        if is_single:
            return f"{path} = {shown(value)} is not a group of settings. Its settings: {names}."
        return f"{path} = {shown(value)} is not a list. Write '- ' before each entry. Its settings: {names}."


def _example(field: FieldInfo) -> str:
    """Return an example of a value as JSON: the one that the field states, or the required fields of its model."""
    if field.examples:
        return dumps(field.examples[0], ensure_ascii=False)
    models = models_in(field.annotation)
    names = [name for name, inner in models[0].model_fields.items() if inner.is_required()]
    return dumps(dict.fromkeys(names, "…"), ensure_ascii=False)


def _value_at(data: Any, parts: Iterable[int | str]) -> Any:
    """Return the value at a path in the data, or None."""
    for part in parts:
        if isinstance(data, Mapping):
            data = data.get(part)
        elif isinstance(data, Sequence) and not isinstance(data, str) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return None
    return data


def _without(
    data: Mapping[str, Any], errors: Sequence[ErrorDetails], reader: _Reader, stand_ins: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the data without the wrong settings; a required one is replaced by its stand-in."""
    rest = deepcopy(dict(data))
    for error in errors:
        parts = reader.spot(error["loc"]).parts
        if error["type"] == "value_error" or not parts:
            continue
        is_entry = isinstance(parts[-1], int)
        parts = parts[:-1] if is_entry else parts  # a list with a wrong entry is removed entirely
        parent = _value_at(rest, parts[:-1])
        if isinstance(parent, dict):
            parent.pop(parts[-1], None)
            path = _joined(*parts)
            if path in stand_ins:
                parent[parts[-1]] = deepcopy(stand_ins[path])
    return rest
