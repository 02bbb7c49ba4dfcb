"""The base class of all problems, and their error messages: all errors are reported together, one sentence each."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from clearhead.errors import Mistake, ProblemError, closest_match, did_you_mean
from clearhead.settings import choices_in, models_in
from clearhead.worksheet.cells import ShownLines, Title
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.shapes import Shapes

_MAX_DESCRIBED = 200  # errors with a full sentence; of others, which are only counted, the fact is enough


class ProblemFields(BaseModel):
    """A frozen part of a problem; an unknown key is an error."""

    # Built on first use, so that solving one kind does not wait for the others.
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True)


class Problem(ProblemFields):
    """One exercise: the given values, and the options that control how it is solved."""

    summary: ClassVar[str] = ""

    kind: str = Field(description="the kind of exercise")
    title: Title = Field("", description="a title for the sheet")
    layout: Literal["rows", "columns"] = Field(
        "rows", description="rows: each token is a row, Q = X W_Q; columns: each token is a column, Q = W_Q X"
    )
    rounding: Rounding = Field(default_factory=Rounding, description="how numbers are rounded and shown")
    show: ShownLines = Field(
        (),
        description="lines to add, one or a list. exponentials: the exponentials of every softmax and their sum; "
        "shifted-exponentials: the same with the row's largest score subtracted first; deviation: the standard "
        "deviation σ of every norm (of an RMS norm, the root mean square)",
    )

    def mistakes(self, shapes: Shapes) -> None:
        """Add every error in the problem to `shapes`, with the keys that it concerns."""

    def work(self, pen: Pen) -> None:
        """Write all steps of the problem with `pen`; the last one is the answer."""
        raise NotImplementedError


def build_problem(problem_class: type[Problem], data: Mapping[str, Any]) -> Problem:
    """Build the problem, or raise ProblemError with all its errors: unknown keys, wrong types and wrong shapes."""
    mistakes: list[Mistake] = []
    blamed, suggested = set[Any](), set[Any]()
    try:
        problem = problem_class.model_validate(data)
    except ValidationError as wrong:
        errors = _without_suggested(wrong.errors(include_url=False), problem_class)
        by_sentence = {_sentence(error, problem_class): _path(error["loc"]) for error in errors[:_MAX_DESCRIBED]}
        by_sentence |= {f"{_path(error['loc'])}: {error['msg']}": "" for error in errors[_MAX_DESCRIBED:]}
        mistakes = [Mistake((path,), sentence) for sentence, path in by_sentence.items()]
        # Check the shapes of the remaining entries too, so that all errors are reported together.
        blamed = {error["loc"][0] for error in errors if error["loc"]}
        suggested = {loc[0] for loc in _suggested(errors, problem_class) if len(loc) == 1 and loc[0] not in data}
        if any(key in problem_class.model_fields and _holds_parts(problem_class, key) for key in blamed):
            raise ProblemError(mistakes) from None
        try:
            problem = problem_class.model_validate({key: value for key, value in data.items() if key not in blamed})
        except ValidationError:
            raise ProblemError(mistakes) from None
    shapes = Shapes(problem.layout)
    problem.mistakes(shapes)
    # An entry that was reported already, or suggested for an unknown key, now seems to be missing: do not report it.
    reported = {str(key) for key in blamed | suggested}
    mistakes += [mistake for mistake in shapes.mistakes if not any(mistake.concerns(key) for key in reported)]
    if mistakes:
        raise ProblemError(mistakes)
    return problem


def _suggested(errors: Iterable[ErrorDetails], problem_class: type[Problem]) -> set[tuple[Any, ...]]:
    """Return the places of the keys that are suggested for unknown keys."""
    places = set()
    for error in errors:
        location = error["loc"]
        if error["type"] == "extra_forbidden":
            match = closest_match(str(location[-1]), keys_in_order(_model_at(problem_class, location[:-1])))
            places |= {(*location[:-1], match)} if match is not None else set()
    return places


def _without_suggested(errors: list[ErrorDetails], problem_class: type[Problem]) -> list[ErrorDetails]:
    """Return the errors without keys that are missing only because they are misspelt: the suggestion says enough."""
    places = _suggested(errors[:_MAX_DESCRIBED], problem_class)
    return [error for error in errors if error["type"] != "missing" or error["loc"] not in places]


def _holds_parts(model: type[BaseModel], key: str) -> bool:
    return bool(models_in(model.model_fields[key].annotation)) and key not in ("rounding", "mask", "position", "norm")


_FIRST_KEYS = [
    *("X", "Y", "h", "s", "embedding", "tokens", "source_tokens", "scores", "position", "formula", "d_model"),
    *("W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V", "Q", "K", "V", "scale", "d_k", "mask", "normaliser", "base"),
    *("num_heads", "num_kv_heads", "heads", "kv_heads", "W_O", "b_O"),
]


def keys_in_order(model: type[BaseModel]) -> list[str]:
    """Return the keys of a model except `kind`, the usual ones first."""
    rank = {key: place for place, key in enumerate(_FIRST_KEYS)}
    keys = [key for key, field in model.model_fields.items() if key != "kind" and not field.exclude]
    return sorted(keys, key=lambda key: (key in ("title", "layout", "rounding", "show"), rank.get(key, len(rank))))


def _sentence(error: ErrorDetails, problem_class: type[Problem]) -> str:
    location, value = error["loc"], error["input"]
    path = _path(location)
    owner = _model_at(problem_class, location[:-1])
    name = str(location[-1]) if location else ""
    kind = str(problem_class.model_fields["kind"].default)
    match error["type"]:
        case "missing":
            description = owner.model_fields[name].description if name in owner.model_fields else ""
            return f"{kind} needs {path}: {description}."
        case "extra_forbidden":
            keys = keys_in_order(owner)
            place = f"{_path(location[:-1])} of {kind}" if len(location) > 1 else kind
            near = did_you_mean(name, keys)
            return f"{shorten(name)} is not a key of {place}.{near} Its keys: {', '.join(keys)}."
        case "literal_error":
            choices = _choices(owner, name)
            near = did_you_mean(str(value), choices)
            return f"{path} = {shorten(value)} is not a choice.{near} Choices: {', '.join(choices)}."
        case "value_error":
            fact = str(error["ctx"]["error"]) if "ctx" in error else error["msg"]
            return f"{path}: {fact}." if path else f"{fact}."
        case "model_type" | "model_attributes_type" | "dict_type":
            keys = keys_in_order(_model_at(problem_class, location))
            return f"{path}: expected keys and values (keys: {', '.join(keys)}), but found {shorten(value)}."
        case "tuple_type" | "list_type":
            return f"{path}: expected a list, but found {shorten(value)}."
        case _:
            return f"{path} = {shorten(value)}: {error['msg'][0].lower()}{error['msg'][1:]}."


def _path(location: Iterable[Any]) -> str:
    return ", ".join(f"item {part + 1}" if isinstance(part, int) else str(part) for part in location)


def _model_at(model: type[BaseModel], location: Iterable[Any]) -> type[BaseModel]:
    for part in location:
        if part in model.model_fields:
            model = next(iter(models_in(model.model_fields[part].annotation)), model)
    return model


def _choices(owner: type[BaseModel], name: str) -> list[str]:
    field = owner.model_fields.get(name)
    return choices_in(field.annotation) if field else []


def shorten(value: object) -> str:
    """Return the repr of a value, shortened to about fifty characters."""
    text = repr(value)
    return text if len(text) <= 50 else text[:47] + "…"
