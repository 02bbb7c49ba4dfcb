"""Settings of every room: a frozen model whose mistakes are told all at once, each as a sentence with its path.

A default lives on its field and nowhere else; the field's description feeds the help, the reference and the error.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """The base of every config: unknown names are mistakes, and nothing changes after it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid")
