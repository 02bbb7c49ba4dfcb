"""A working as it was read: the problem and the written lines, with every cell as raw text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Cells = tuple[tuple[str, ...], ...]  # raw text, row by row; "" where nothing was written


@dataclass(frozen=True)
class WrittenLine:
    """One line of a working: a matrix, a row, a column or a number, under the student's own name for it.

    `where` is the part of the model ("cross", "head 2", "encoder.0"); `place` is the place in the file ("line 12").
    `copied_into` names the line in which this matrix is a factor, if it only copies another line.
    """

    name: str
    cells: Cells
    where: str = ""
    place: str = ""
    copied_into: str = ""


NoteKind = Literal["read", "placed", "unplaced", "unreadable", "convention", "warning"]


@dataclass(frozen=True)
class Note:
    """A note about how the file was read: what was understood, what was not, and where.

    `is_unknown_line` is true if a line was not marked because no line of the sheet has its name. `line` is the line
    of the document that `place` names, or 0. Neither is part of the JSON of a report.
    """

    kind: NoteKind
    sentence: str
    place: str = ""
    is_unknown_line: bool = False
    line: int = 0

    @property
    def short_place(self) -> str:
        """The place in a few words: the name of a line of a working file in quotes, or `line 12`."""
        name = self.place.removeprefix("written: ")
        return f'"{name}"' if name != self.place else self.place or "part of the working"


@dataclass(frozen=True)
class NumberedSheet:
    """The practice sheet that belongs to a number.

    `quiz` is the name that all its variants share. `printed` are the lines that are on the sheet, with empty cells
    where something is asked; `blank_lines` are the names of the lines to fill in, as a mark scheme has them.
    """

    number: str
    problem: Mapping[str, Any]
    quiz: str
    printed: tuple[WrittenLine, ...] = ()
    blank_lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Working:
    """A problem (as plain data, with the keys of a problem file) and the written lines.

    `rounded` names the given matrices with rounded numbers. With `has_decimal_comma`, the decimal
    separator is a comma. `problem_file` is the file that the problem was read from, if its content must not be
    repeated in messages. `sheet` is the practice sheet that the working has the number of. `is_inferred` is true if a
    document names no problem, so that it was read from its own numbers.
    """

    problem: Mapping[str, Any]
    lines: tuple[WrittenLine, ...]
    title: str = ""
    student: str = ""
    rounded: tuple[str, ...] = ()
    has_decimal_comma: bool = False
    notes: tuple[Note, ...] = field(default=())
    problem_file: str = ""
    sheet: NumberedSheet | None = None
    is_inferred: bool = False
