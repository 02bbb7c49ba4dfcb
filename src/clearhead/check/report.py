"""The result of marking: every cell with its verdict, every root error with its description, and the marks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from clearhead.check.verdict import ROUNDING_FAULTS, Verdict
from clearhead.check.working import Note

FORMAT = 1  # version of the JSON; increased when old readers would misread new files
_NOT_IN_JSON = ("is_unknown_line", "line", "is_missing")  # the sentences in the JSON contain the same information
_UNMARKED = {Verdict.UNREADABLE: "cannot be read", Verdict.UNCHECKED: "not checked"}


@dataclass(frozen=True)
class CellMark:
    """One written cell. `row` and `column` count from 0 in the layout of the sheet.

    `right` is the value that follows from the student's own lines, to one digit more than was written. `truth` is the
    value that follows from the problem. `findings` are indices into Report.findings: the root errors that start in
    this cell or affect it.
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
    """The marks of a line: M for the method, A for accuracy (`is_follow_through`: earned despite an earlier error)."""

    method: float
    method_of: float
    accuracy: float
    accuracy_of: float
    is_follow_through: bool = False
    because: str = ""  # why marks were lost, or were given despite an error

    @property
    def earned(self) -> float:
        """The sum of M and A."""
        return self.method + self.accuracy

    @property
    def out_of(self) -> float:
        """The most marks that the line can earn."""
        return self.method_of + self.accuracy_of


@dataclass(frozen=True)
class LineMark:
    """One written line, matched to a step and marked; `cells` has None where nothing was written.

    `section` is the part of the model in words. `copy_of` is the symbol of the line that this one copies.
    `note` is a remark about the complete line, for example a wrong shape. `is_missing` is true for a line that the
    scheme requires and that was not written. `unwritten` are the symbols of the lines before it that were not written,
    if its numbers cannot be judged without them.
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
    unwritten: tuple[str, ...] = ()

    @property
    def marked(self) -> list[CellMark]:
        """The cells in which something was written."""
        return [cell for row in self.cells for cell in row if cell is not None]

    @property
    def is_misshapen(self) -> bool:
        """Whether the line could not be compared because of its shape."""
        return not self.cells and not self.is_missing

    @property
    def is_good_copy(self) -> bool:
        """Whether the line is a correct copy of another line."""
        return bool(self.copy_of) and all(cell.verdict.is_accepted for cell in self.marked)

    @property
    def is_printed(self) -> bool:
        """Whether a practice sheet prints the line, so that nothing in it is the student's and it earns no marks."""
        return bool(self.marked) and not self.marks.out_of and all(c.verdict is Verdict.PRINTED for c in self.marked)

    @property
    def heading(self) -> str:
        """The name of the line in a sentence: `S (Self-attention)`."""
        return f"{self.symbol} ({self.section})" if self.section else self.symbol

    def place_of_cells(self, cells: Sequence[tuple[int, int]]) -> str:
        """The first of some cells in a sentence: `S (Self-attention), row on, column roof`."""
        row, column = cells[0]
        heading = f"the copy of {self.symbol}" if self.copy_of else self.heading
        first = f"row {self.row_name(row)}, column {self.column_name(column)}"
        return f"{heading}, {first}" if len(cells) == 1 else f"{heading}, {len(cells)} cells starting at {first}"

    def row_name(self, row: int) -> str:
        """The token of a row, or its number."""
        return self.rows[row] if row < len(self.rows) else str(row + 1)

    def column_name(self, column: int) -> str:
        """The token of a column, or its number."""
        return self.columns[column] if column < len(self.columns) else str(column + 1)


@dataclass(frozen=True)
class Finding:
    """A root error: what is wrong, where it started, what it affects and how to correct it.

    `right_sum` and `student_sum` are the calculation of the first of its `cells`, as it should be and as it was done.
    `below` are the later lines (counted from 0) that it affects.
    """

    line: int
    cells: tuple[tuple[int, int], ...]
    verdict: Verdict
    name: str  # the misconception, or the kind of transcription ("digit swap"); else ""
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
    is_strict: bool = False  # whether rounding faults count as errors
    unscaled: tuple[float, float] | None = None  # earned and out of, if the scheme scaled them to another total
    not_written: tuple[str, ...] = ()  # the steps of the exercise that were not handed in, and that cost no marks
    sheet: str = ""  # the number of the practice sheet, if the working has one
    quiz: str = ""  # the name that all variants of that sheet share

    @cached_property
    def counts(self) -> Counter[Verdict]:
        """The number of cells with each verdict."""
        return Counter(cell.verdict for line in self.lines for cell in line.marked)

    @property
    def has_error(self) -> bool:
        """Whether any verdict is an error, given the teacher's strictness."""
        return any(v.is_error or (self.is_strict and v in ROUNDING_FAULTS) for v in self.counts)

    @property
    def is_unsupported(self) -> bool:
        """Whether numbers cannot be judged because too many lines before them were not written."""
        return Verdict.UNSUPPORTED in self.counts

    @property
    def num_misshapen(self) -> int:
        """The number of written lines that could not be compared because of their shape."""
        return sum(line.is_misshapen for line in self.lines)

    @property
    def not_marked(self) -> list[str]:
        """What was written and not marked, in a few words each: `S (wrong shape)`, `"foo"`, `line 12`."""
        names = []
        for line in self.lines:
            for verdict, words in _UNMARKED.items():
                number = sum(cell.verdict is verdict for cell in line.marked)
                if number:
                    names.append(f"{line.name or line.symbol} ({number} {'cell' if number == 1 else 'cells'} {words})")
            if line.is_misshapen:
                names.append(f"{line.name or line.symbol} (wrong shape)")
        names += [note.short_place for note in self.notes if note.kind in ("unplaced", "unreadable")]
        return list(dict.fromkeys(names))

    @property
    def is_fully_read(self) -> bool:
        """Whether everything that was written could be read and compared."""
        return not self.not_marked

    @property
    def exit_code(self) -> int:
        """1 if there is an error or not enough working, 2 if there is neither but part was not read, otherwise 0."""
        return 1 if self.has_error or self.is_unsupported else (0 if self.is_fully_read else 2)

    def to_json(self) -> bytes:
        """Return the complete report as JSON."""
        data = {
            "clearhead_report": FORMAT,
            "title": self.title,
            "kind": self.kind,
            "student": self.student,
            "layout": self.layout,
            "sheet": self.sheet,
            "marks": {"earned": self.earned, "out_of": self.out_of, "unscaled": _json_marks(self.unscaled)},
            "has_error": self.has_error,
            "not_written": self.not_written,
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
        """Return the report as one self-contained HTML page."""
        from clearhead.check.render.html import to_html

        return to_html([self])

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        from clearhead.check.render.html import to_fragment

        return to_fragment(self)

    def save(self, path: str | Path) -> None:
        """Write the JSON to a file; a failure leaves no partial file."""
        from clearhead.files.writing import write_file

        write_file(Path(path), self.to_json())


def _json_marks(marks: tuple[float, float] | None) -> dict[str, float] | None:
    return None if marks is None else {"earned": marks[0], "out_of": marks[1]}


def _json_fields(entry: LineMark | Note) -> dict[str, Any]:
    """Return the fields of a line or a note that are part of the JSON."""
    return {field.name: getattr(entry, field.name) for field in fields(entry) if field.name not in _NOT_IN_JSON}
