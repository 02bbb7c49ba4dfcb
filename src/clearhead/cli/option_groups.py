"""Group the options of a verb in dataclasses: a dataclass parameter becomes one option per field.

Typer reads one flat list of parameters. With groups a verb has a few parameters, each a frozen dataclass with fields
declared as Typer requires, and can pass a group on as one value.
"""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields of its dataclass parameters as separate parameters, as Typer requires."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation) and isinstance(parameter.annotation, type):
            groups[parameter.name] = parameter.annotation
            parameters += inspect.signature(parameter.annotation, eval_str=True).parameters.values()
        else:
            parameters.append(parameter)

    defaults = {
        parameter.name: parameter.default for parameter in parameters if parameter.default is not parameter.empty
    }

    @wraps(command)
    def run(**options: Any) -> None:
        options = {**defaults, **options}
        values = {
            name: group(**{field.name: options.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **options)

    flat = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]  # inspect.signature stops here instead of following __wrapped__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return run
