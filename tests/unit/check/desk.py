"""A desk for tests of the marker: a problem, lines as text, and the verdicts, one letter per cell.

Lines are written as rows between slashes: "1 2 / 3 4"; a name can follow its place and a colon: "cross: K".
"""

from collections.abc import Mapping
from typing import Any

from clearhead.check.marker import mark
from clearhead.check.marks import Scheme
from clearhead.check.report import CellMark, LineMark, Report
from clearhead.check.verdict import Verdict
from clearhead.check.working import Working, WrittenLine

LETTERS = {
    Verdict.CORRECT: "c",
    Verdict.ROUNDED: "r",
    Verdict.CARRIED: "f",
    Verdict.TRUNCATED: "t",
    Verdict.ROUNDING: "o",
    Verdict.PLAUSIBLE: "p",
    Verdict.TRUE: "!",
    Verdict.TRANSCRIPTION: "T",
    Verdict.MISCONCEPTION: "M",
    Verdict.SLIP: "S",
    Verdict.INVARIANT: "I",
    Verdict.UNREADABLE: "?",
    Verdict.UNCHECKED: "u",
    Verdict.UNSUPPORTED: "n",
}


def line(name: str, text: str) -> WrittenLine:
    """Return a line of text as a WrittenLine; in `head 2: Q` the first part is the place."""
    where, _, symbol = name.rpartition(": ")
    cells = tuple(tuple(row.split()) for row in text.split(" / "))
    return WrittenLine(symbol, cells, where)


def working(problem: Mapping[str, Any], lines: Mapping[str, str], **more: Any) -> Working:
    """Return a working of these lines; a name may be used twice by ending it with blanks."""
    return Working(problem, tuple(line(name.rstrip(), text) for name, text in lines.items()), **more)


def marked(problem: Mapping[str, Any], lines: Mapping[str, str], scheme: Scheme | None = None, **more: Any) -> Report:
    """Mark these lines."""
    return mark(working(problem, lines, **more), scheme)


def letters(line: LineMark) -> str:
    """Return the verdicts of a line: a letter per cell, a word per row, a dot where nothing was written."""
    return " ".join("".join("." if cell is None else LETTERS[cell.verdict] for cell in row) for row in line.cells)


def verdicts(report: Report) -> list[str]:
    """Return the verdicts of all lines, as `Q cc cc`."""
    return [f"{line.symbol} {letters(line)}".strip() for line in report.lines]


def cell(report: Report, line: int, row: int, column: int) -> CellMark:
    """Return one written cell, line, row and column counted from 1."""
    marked_cell = report.lines[line - 1].cells[row - 1][column - 1]
    assert marked_cell is not None, f"nothing is written in line {line}, row {row}, column {column}"
    return marked_cell


def roots(report: Report) -> list[str]:
    """Return the name and the place of every finding: `S 1,2 arithmetic slip`."""
    return [
        f"{report.lines[finding.line].symbol} "
        + ";".join(f"{row + 1},{column + 1}" for row, column in finding.cells)
        + f" {finding.verdict.value}"
        for finding in report.findings
    ]


def notes(report: Report, kind: str) -> list[str]:
    """Return the sentences of one kind of note."""
    return [note.sentence for note in report.notes if note.kind == kind]
