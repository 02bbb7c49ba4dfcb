"""The result of marking: every cell with its verdict, every root error with its story, the marks, and all as JSON."""

from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import orjson

from clearhead.check.verdict import ROUNDING_FAULTS, Verdict
from clearhead.check.working import Note

FORMAT = 1  # of the JSON; raised when an old reader would misread a new file
_NOT_IN_JSON = ("is_unknown_line", "line", "is_missing")  # a reader of the JSON has the sentence


@dataclass(frozen=True)
class CellMark:
    """One written cell. `row` and `column` count from 0 in the layout of the sheet.

    `right` is what the student's own lines give (to a digit more than was written), `truth` what the problem gives.
    `findings` counts (from 0, in Report.findings) the root errors that it is one of, or that it stands below.
    """

    row: int
    column: int
    text: str
    verdict: Verdict
    right: str = ""
    truth: str = ""
    findings: tuple[int, ...] = ()
    detail: str = ""


@dataclass(frozen=True)
class LineMarks:
    """The marks of a line: M for the method, A for accuracy (`is_follow_through`: earned below an earlier error)."""

    method: float
    method_of: float
    accuracy: float
    accuracy_of: float
    is_follow_through: bool = False
    because: str = ""  # why marks were lost, or were given all the same

    @property
    def earned(self) -> float:
        """M and A together."""
        return self.method + self.accuracy

    @property
    def out_of(self) -> float:
        """What could be earned."""
        return self.method_of + self.accuracy_of


@dataclass(frozen=True)
class LineMark:
    """One written line, placed and marked; `cells` has None where nothing was written.

    `section` is the part of the model in words, `copy_of` the symbol of the line that this one only restates.
    `note` says what concerns the line as a whole (a wrong shape, say). `is_missing`: the scheme asks for the line and
    nobody wrote it.
    """

    name: str
    symbol: str
    equation: str
    section: str
    where: str
    step: str
    place: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[CellMark | None, ...], ...]
    marks: LineMarks
    copy_of: str = ""
    note: str = ""
    is_missing: bool = False

    @property
    def marked(self) -> list[CellMark]:
        """The cells that were written."""
        return [cell for row in self.cells for cell in row if cell is not None]

    @property
    def is_good_copy(self) -> bool:
        """Whether it only restates another line, and rightly."""
        return bool(self.copy_of) and all(cell.verdict.is_accepted for cell in self.marked)

    @property
    def heading(self) -> str:
        """`Scores S, in self-attention`: how a sentence names the line."""
        return f"{self.symbol} ({self.section})" if self.section else self.symbol

    def row_name(self, row: int) -> str:
        """The token of a row, or its number."""
        return self.rows[row] if row < len(self.rows) else str(row + 1)

    def column_name(self, column: int) -> str:
        """The token of a column, or its number."""
        return self.columns[column] if column < len(self.columns) else str(column + 1)


@dataclass(frozen=True)
class Finding:
    """A root error: what is wrong, where it started, what follows from it and how to put it right.

    `right_sum` and `student_sum` are the sum behind the first of its `cells`, as it should be and as it was written.
    `below` are the lines (counted from 0) that stand below it.
    """

    line: int
    cells: tuple[tuple[int, int], ...]
    verdict: Verdict
    name: str  # of a misconception, or the kind of a transcription ("digit swap"); else ""
    what: str
    follows: str
    remedy: str
    right_sum: str = ""
    student_sum: str = ""
    below: tuple[int, ...] = ()


@dataclass(frozen=True)
class Report:
    """A marked working."""

    title: str
    kind: str
    student: str
    layout: str
    lines: tuple[LineMark, ...]
    findings: tuple[Finding, ...]
    notes: tuple[Note, ...]
    earned: float
    out_of: float
    is_strict: bool = False  # rounding faults count as errors

    @property
    def counts(self) -> Counter[Verdict]:
        """How many cells got each verdict."""
        return Counter(cell.verdict for line in self.lines for cell in line.marked)

    @property
    def has_error(self) -> bool:
        """Whether any verdict is an error, by the teacher's strictness."""
        return any(v.is_error or (self.is_strict and v in ROUNDING_FAULTS) for v in self.counts)

    @property
    def num_misshapen(self) -> int:
        """How many written lines have a shape in which they could not be compared."""
        return sum(not line.cells and not line.is_missing for line in self.lines)

    @property
    def is_fully_read(self) -> bool:
        """Whether everything that was written could be read and compared."""
        is_read = Verdict.UNREADABLE not in self.counts and not any(note.kind == "unreadable" for note in self.notes)
        return is_read and not self.num_misshapen

    @property
    def exit_code(self) -> int:
        """1 if there is an error, 2 if part of it could not be read, 0 if all is well."""
        return 1 if self.has_error else (0 if self.is_fully_read else 2)

    def to_json(self) -> bytes:
        """Return everything as JSON."""
        data = {
            "clearhead_report": FORMAT,
            "title": self.title,
            "kind": self.kind,
            "student": self.student,
            "layout": self.layout,
            "marks": {"earned": self.earned, "out_of": self.out_of},
            "has_error": self.has_error,
            "counts": {verdict.value: number for verdict, number in self.counts.items()},
            "notes": [_json_fields(note) for note in self.notes],
            "findings": self.findings,
            "lines": [_json_fields(line) for line in self.lines],
        }
        return orjson.dumps(data)

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        from clearhead.check.render.markdown import to_markdown

        return to_markdown(self)

    def to_html(self) -> str:
        """Return the report as one self-contained page."""
        from clearhead.check.render.html import to_html

        return to_html([self])

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        from clearhead.check.render.html import to_fragment

        return to_fragment(self)

    def save(self, path: str | Path) -> None:
        """Write the JSON to a file, all of it or nothing."""
        from clearhead.files.writing import write_file

        write_file(Path(path), self.to_json())


def _json_fields(entry: LineMark | Note) -> dict[str, Any]:
    """Return the fields of a line or a note that stand in the JSON."""
    return {field.name: getattr(entry, field.name) for field in fields(entry) if field.name not in _NOT_IN_JSON}
