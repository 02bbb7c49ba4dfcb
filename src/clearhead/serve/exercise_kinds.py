"""Every kind of exercise with its fields, from which a page makes a form, and an example; also the gallery."""

from importlib.resources import files
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from clearhead.exercises.check.read.workings import shipped_workings
from clearhead.settings import choices_in, models_in
from clearhead.worksheet import cells
from clearhead.worksheet.kinds import KINDS
from clearhead.worksheet.problem import Problem, keys_in_order
from clearhead.worksheet.reading import gallery, gallery_titles, read_data

# What a form shows for a field, by the function that reads the field's value.
_TYPES = {
    cells.read_matrix: "matrix",
    cells.read_vector: "vector",
    cells.read_state: "vector",
    cells.read_tokens: "words",
    cells.read_shown_lines: "words",
    cells.read_embedding: "vectors",
    cells.read_number: "number",
    cells.read_count: "integer",
    cells.read_text: "text",
}


def exercise_data() -> dict[str, Any]:
    """Return the kinds with their fields and examples, the gallery, and the workings that come with clearhead."""
    examples = {name: (files("clearhead.serve") / "examples" / f"{name}.yaml").read_bytes() for name in KINDS}
    sheets = {name: path.read_bytes() for name, path in gallery().items()}
    return {
        "kinds": [
            {
                "name": name,
                "title": f"{kind.summary[:1].upper()}{kind.summary[1:]}.",
                "fields": _fields(kind),
                "example": examples[name].decode(),
                "data": read_data(examples[name]),  # the example as a form shows it
            }
            for name, kind in KINDS.items()
        ],
        "gallery": [
            {"id": name, "kind": kind, "title": title, "text": sheets[name].decode(), "data": read_data(sheets[name])}
            for name, (kind, title) in gallery_titles().items()
        ],
        "workings": [
            {"id": name, "title": str(read_data(path.read_bytes()).get("title", "")), "text": path.read_text("utf-8")}
            for name, path in shipped_workings().items()
        ],
    }


def _fields(model: type[BaseModel], depth: int = 0) -> list[dict[str, Any]]:
    """Return the fields of a kind or of a group in it, the required ones first."""
    keys = sorted(keys_in_order(model), key=lambda key: not model.model_fields[key].is_required())
    return [_field(key, model.model_fields[key], depth) for key in keys]


def _field(name: str, field: FieldInfo, depth: int) -> dict[str, Any]:
    groups = [group for group in models_in(field.annotation) if not issubclass(group, Problem)]
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    return {
        "name": name,
        "type": _type(field),
        "is_required": field.is_required(),
        "default": default if isinstance(default, str | int | float) else None,
        "choices": choices_in(field.annotation),
        "description": f"{field.description}.",
        "fields": _fields(groups[0], depth + 1) if groups and depth < 2 else [],
    }


def _type(field: FieldInfo) -> str:
    """Return what a form shows for a field: matrix, vector, words, number, choice, group …"""
    readers = [getattr(part, "func", None) for part in (*field.metadata, *_metadata(field.annotation))]
    if models_in(field.annotation):
        return "groups" if get_origin(field.annotation) is tuple else "group"
    if get_origin(field.annotation) is tuple and cells.read_matrix in readers:
        return "matrices"
    plain = {part for part in get_args(field.annotation) if part is not NoneType} or {field.annotation}
    if choices_in(field.annotation):
        return "choice or number" if float in plain else "choice"
    by_reader = [_TYPES[reader] for reader in readers if reader in _TYPES]
    if by_reader:
        return by_reader[0]
    return "truth" if bool in plain else "yaml"


def _metadata(annotation: Any) -> list[Any]:
    """Return the metadata of all parts of an annotation such as `Matrix | None`."""
    own = list(getattr(annotation, "__metadata__", ()))
    return own + [entry for part in get_args(annotation) for entry in _metadata(part)]
