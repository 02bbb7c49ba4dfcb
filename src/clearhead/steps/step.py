"""A Step: one line of arithmetic that a student can do, declared once.

Headings, messages, captions and traces all take their text from this declaration.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Layout = Literal["rows", "columns"]

AXES: Mapping[str, str] = {
    "B": "batch",
    "S": "source token",
    "T": "target token, or token where there is only one sentence",
    "Q": "query",
    "K": "key",
    "D": "model width",
    "H": "head",
    "E": "head width",
    "F": "feed-forward width",
    "V": "vocabulary",
}

_OPTIONAL_PART = re.compile(r"\[\?(?:(!?)(\w+)\|)?(.*?)\?\]")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Input:
    """One named input of a Step: `axes` is empty for a number, a word or a list of values."""

    name: str
    axes: str = ""
    is_optional: bool = False


@dataclass(frozen=True)
class Step:
    """One line of arithmetic: `symbol = equation`, with named inputs and the axes of the result.

    An equation has its inputs in braces, and the text of an optional input between `[?` and `?]`:
    `{x} {w}[? + {b}?]`. The text of `[?b|(?]` is written only if `b` is given, that of `[?!b|(?]` only if it is not.
    `symbol` and `equation` are for tokens as rows, `columns_symbol` and `columns_equation` for tokens as columns.
    A value can have fewer leading axes than declared (a worksheet has no batch): `axes` is aligned at the end.
    """

    name: str
    symbol: str
    equation: str
    inputs: tuple[Input, ...]
    axes: str
    sentence: str
    columns_symbol: str = ""
    columns_equation: str = ""
    _by_name: Mapping[str, Input] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {step_input.name: step_input for step_input in self.inputs})
        for template in (self.equation, self.columns_equation):
            assert set(_PLACEHOLDER.findall(template)) <= set(self._by_name), (self.name, template)

    @property
    def required(self) -> frozenset[str]:
        """The names of the inputs that every Record of this Step must have."""
        return frozenset(step_input.name for step_input in self.inputs if not step_input.is_optional)

    def input(self, name: str) -> Input:
        """Return the declared input of that name."""
        return self._by_name[name]

    def symbol_in(self, layout: Layout) -> str:
        """Return the symbol of the value in the notation of `layout`."""
        return (self.columns_symbol or self.symbol) if layout == "columns" else self.symbol

    def equation_in(self, layout: Layout, names: Mapping[str, str]) -> str:
        """Write the equation with `names` for the inputs; optional parts without a name are omitted."""
        template = (self.columns_equation or self.equation) if layout == "columns" else self.equation

        def keep(part: re.Match[str]) -> str:
            needed = {part[2]} if part[2] else set(_PLACEHOLDER.findall(part[3]))
            return part[3] if (needed <= set(names)) != bool(part[1]) else ""

        return _PLACEHOLDER.sub(lambda hit: names.get(hit[1], hit[1]), _OPTIONAL_PART.sub(keep, template))


def parse_inputs(declaration: str) -> tuple[Input, ...]:
    """Read `x:TD w:DE b?:E base?`: a name, `?` if it is optional, and `:AXES` if it is an array."""
    inputs = []
    for word in declaration.split():
        name, _, axes = word.partition(":")
        assert set(axes) <= set(AXES), word
        inputs.append(Input(name.rstrip("?"), axes, name.endswith("?")))
    return tuple(inputs)
