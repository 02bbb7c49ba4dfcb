"""A sheet of several problems, which share one layout and one rounding."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem

MAX_PARTS = 1_000


class PartsProblem(Problem):
    """Several problems under one title."""

    summary: ClassVar[str] = (
        "several exercises on one sheet; a part can use the lines of earlier parts, X: part.0.answer"
    )

    kind: Literal["parts"] = "parts"
    parts: tuple[Problem, ...] = Field(
        max_length=MAX_PARTS, description="the exercises, each with its own kind and title"
    )

    def work(self, pen: Pen) -> None:
        """Write one part after the other."""
        for number, part in enumerate(self.parts):
            here = pen.at("part", number)
            here.show = pen.show | frozenset(part.show)
            part.work(here)


def part_data(sheet: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part with the layout and rounding of its sheet."""
    return {**{key: sheet[key] for key in ("layout", "rounding") if key in sheet}, **part}
