"""The heading of a written line: its name, its part of the model, and the line that it was copied into."""

import re
from dataclasses import dataclass

from clearhead.check.read.number import visible
from clearhead.check.working import Cells, WrittenLine

_INTO = re.compile(r"(.*?\S)(?:_copied_into_|\s+copied\s+into\s+|\s+into\s+)(\S.*)", re.DOTALL).fullmatch


@dataclass(frozen=True)
class LineHeading:
    """The parts of `cross: Q into scores`: the name Q, the part cross, copied into scores."""

    name: str
    where: str = ""
    copied_into: str = ""

    def line(self, cells: Cells, place: str) -> WrittenLine:
        """Return the line under this heading."""
        return WrittenLine(self.name, cells, self.where, place, self.copied_into)


def read_heading(text: str, where: str = "") -> LineHeading:
    """Read a heading; `where` is the part of the model that contains it."""
    text = visible(text).strip().rstrip(":=").rstrip()
    narrower, colon, name = text.rpartition(":")
    if colon and narrower.strip() and name.strip():
        text = name.strip()
        where = ".".join(part for part in (where, narrower.strip()) if part)
    copy = _INTO(text)
    return LineHeading(copy[1], where, copy[2]) if copy else LineHeading(text, where)
