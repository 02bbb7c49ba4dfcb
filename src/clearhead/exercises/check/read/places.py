"""Find the part of a model that a heading names: `Encoder layer 1 · Cross-attention`, `Head 2`, `cross`."""

from collections.abc import Sequence
from functools import cached_property

from clearhead.check.names import matches_place
from clearhead.exercises.sheet.sheet import Sheet, SheetLine


class Places:
    """The parts of one sheet, by the headings that the forms print and by the words that people use for them."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._hints: dict[str, bool] = {}

    @cached_property
    def _wheres(self) -> list[str]:
        return list(dict.fromkeys(line.where for line in self._sheet.steps))

    def lines_below(self, headings: Sequence[str]) -> list[SheetLine]:
        """Return the lines of the section with the printed heading; an empty list if no heading is one."""
        for heading in reversed(headings):
            key = _key(heading)
            lines = [line for line in self._sheet.lines if line.section and _key(line.section) == key]
            if lines:
                return lines
        return []

    def hint(self, headings: Sequence[str]) -> str:
        """Return the headings that name a part of the model, as a working file writes it: `encoder layer 1.head 2`."""
        return ".".join(heading for heading in headings if self._is_part(heading))

    def _is_part(self, heading: str) -> bool:
        """Return whether a heading fits some lines of the sheet and not all of them."""
        if heading not in self._hints:
            fits = [matches_place(heading, where) for where in self._wheres]
            self._hints[heading] = any(fits) and not all(fits)
        return self._hints[heading]


def _key(heading: str) -> str:
    return "".join(letter for letter in heading.casefold() if letter.isalnum())
