"""A working as it came in: the problem, and the lines that were written, every cell still as its raw text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Cells = tuple[tuple[str, ...], ...]  # raw text, row by row; "" where nothing was written


@dataclass(frozen=True)
class WrittenLine:
    """One line of a working: a matrix, a row, a column or a number, under the name that the student gave it.

    `where` narrows the place down ("cross", "head 2", "encoder.0"); `place` says where it was read ("line 12").
    `copied_into` names the line into which this matrix was copied as a factor, where it only restates another one.
    """

    name: str
    cells: Cells
    where: str = ""
    place: str = ""
    copied_into: str = ""


NoteKind = Literal["read", "placed", "unplaced", "unreadable", "convention", "warning"]


@dataclass(frozen=True)
class Note:
    """Something to say about the reading: what was understood, what was not, and where.

    `is_unknown_line`: a line was not marked, because no line of the sheet has its name. `line` is the line of the
    document that `place` names, or 0. Neither is in the JSON of a report.
    """

    kind: NoteKind
    sentence: str
    place: str = ""
    is_unknown_line: bool = False
    line: int = 0


def line_note(kind: NoteKind, sentence: str, line: int) -> Note:
    """Return a note about a line of a document."""
    return Note(kind, sentence, f"line {line}", line=line)


@dataclass(frozen=True)
class Working:
    """A problem (as plain data, see docs/guide/fields.md) and what was written about it.

    `rounded` names given matrices whose numbers are themselves rounded; `has_decimal_comma` says that 0,5 is a half.
    """

    problem: Mapping[str, Any]
    lines: tuple[WrittenLine, ...]
    title: str = ""
    student: str = ""
    rounded: tuple[str, ...] = ()
    has_decimal_comma: bool = False
    notes: tuple[Note, ...] = field(default=())
