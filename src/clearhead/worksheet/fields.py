"""Describe the keys of every kind of problem, generated from the models, so that nothing is documented twice."""

from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from clearhead.errors import ProblemError, did_you_mean
from clearhead.settings import choices_in, models_in
from clearhead.worksheet.kinds import KINDS
from clearhead.worksheet.problem import Problem, keys_in_order

_COMMON = ("title", "layout", "rounding", "show")


def describe_kinds(which: str = "all") -> str:
    """Return the keys of one kind of problem, or of all of them, as Markdown."""
    if which != "all" and which not in KINDS:
        raise ProblemError(
            f"'{which}' is not a kind of exercise.{did_you_mean(which, KINDS)} Kinds: {', '.join(KINDS)}."
        )
    kinds = KINDS if which == "all" else {which: KINDS[which]}
    text = "".join(_describe_kind(name, kind) for name, kind in kinds.items())
    shared = "\n## Keys of every kind\n\n" + "".join(_line(n, Problem.model_fields[n], 0) for n in _COMMON)
    return (text + shared).lstrip("\n")


def _describe_kind(name: str, kind: type[Problem]) -> str:
    lines = [f"\n## {name}\n\n{kind.summary[0].upper()}{kind.summary[1:]}.\n\n"]
    keys = sorted(keys_in_order(kind), key=lambda key: not kind.model_fields[key].is_required())
    lines += [_line(key, kind.model_fields[key], 0) for key in keys if key not in _COMMON]
    return "".join(lines)


def _line(key: str, field: FieldInfo, depth: int) -> str:
    state = "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
    choices = choices_in(field.annotation)
    extra = f" Choices: {', '.join(choices)}." if choices else ""
    line = f"{'  ' * depth}- `{key}`{f' ({state})' if state else ''}: {field.description}.{extra}\n"
    if depth == 0:
        for model in models_in(field.annotation):
            if not issubclass(model, Problem):
                line += "".join(_line(n, model.model_fields[n], depth + 1) for n in keys_in_order(model))
    return line


def _default(value: Any) -> str:
    if value is None or isinstance(value, BaseModel) or value == ():
        return ""
    if isinstance(value, bool):
        return f"default {str(value).lower()}"
    return f"default {value:g}" if isinstance(value, float) else f"default {value}"
