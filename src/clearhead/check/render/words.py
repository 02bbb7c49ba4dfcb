"""The sentences and orderings that every form of a report shares: marks, summary, stories, notes and legend.

All of it is plain text with the student's own words inside; whoever prints it makes it safe for its own medium.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from clearhead.check.render.cells import Marking, cells_place, join_words, verdict_of
from clearhead.check.report import Finding, LineMark, LineMarks, Report
from clearhead.check.verdict import Verdict
from clearhead.check.working import Note, NoteKind
from clearhead.worksheet.render.text import label

BLANK = "__"  # where nothing was written
MEANINGS: Mapping[Verdict, str] = {
    Verdict.CORRECT: "is what your own lines give",
    Verdict.ROUNDED: "is what the rounded numbers that you wrote give",
    Verdict.CARRIED: "follows rightly from an earlier error",
    Verdict.TRUNCATED: "was cut where it should have been rounded",
    Verdict.ROUNDING: "is off by less than one unit of its last digit",
    Verdict.PLAUSIBLE: "lies within what rounding can do, which is no proof",
    Verdict.TRUE: "is the true value, but your own lines do not lead to it",
    Verdict.TRANSCRIPTION: "was copied wrongly",
    Verdict.MISCONCEPTION: "comes from a wrong rule",
    Verdict.SLIP: "comes from the right rule, worked wrongly",
    Verdict.INVARIANT: "breaks a law that every right answer keeps",
    Verdict.UNREADABLE: "could not be read as a number",
    Verdict.UNCHECKED: "could not be compared with anything",
}
_FRACTIONS = {
    (1, 2): "½", (1, 3): "⅓", (2, 3): "⅔", (1, 4): "¼", (3, 4): "¾", (1, 5): "⅕", (2, 5): "⅖", (3, 5): "⅗",
    (4, 5): "⅘", (1, 6): "⅙", (5, 6): "⅚", (1, 8): "⅛", (3, 8): "⅜", (5, 8): "⅝", (7, 8): "⅞",
}  # fmt: skip
_NOTE_HEADINGS: Mapping[str, tuple[NoteKind, ...]] = {
    "Take care": ("warning",),
    "What was read": ("convention", "read", "placed"),
    "What could not be read or placed": ("unreadable", "unplaced"),
}


# ---- marks ----


def number_of_marks(value: float) -> str:
    """Write marks as on paper: 7½, ⅔, 0.43."""
    integer = int(value)
    rest = value - integer
    if abs(rest) < 5e-3 or abs(rest - 1) < 5e-3:
        return str(round(value))
    for (top, bottom), sign in _FRACTIONS.items():
        if abs(rest - top / bottom) < 5e-3:
            return f"{integer or ''}{sign}"
    return f"{value:.2f}"


def score(earned: float, out_of: float) -> str:
    """Write `7½ / 12`."""
    return f"{number_of_marks(earned)} / {number_of_marks(out_of)}"


def line_score(marks: LineMarks) -> str:
    """Write the marks of a line: `M 1/1, A-ft ⅔/1`; nothing where none are given."""
    accuracy = "A-ft" if marks.is_follow_through else "A"
    pairs = [("M", marks.method, marks.method_of), (accuracy, marks.accuracy, marks.accuracy_of)]
    return ", ".join(f"{name} {number_of_marks(got)}/{number_of_marks(most)}" for name, got, most in pairs if most)


# ---- names and places ----


def title_of(report: Report) -> str:
    """Return the title, or failing that the kind of the exercise."""
    return report.title or report.kind or "Marked working"


def equation_of(line: LineMark) -> str:
    """Return `Q = X W_Q`, or the symbol alone."""
    if line.copy_of:
        return f"{line.symbol}, copied"
    if not line.equation or line.equation.startswith(f"{line.symbol} ="):
        return line.equation or line.symbol
    return f"{line.symbol} = {line.equation}"


def remarks(line: LineMark) -> list[str]:
    """Say what concerns a line as a whole: where it was read, what it restates, its marks' reason, its note."""
    sentences = []
    if line.name and line.name != line.symbol:
        sentences.append(f"You call it {label(line.name)}" + (f" ({line.place})." if line.place else "."))
    elif line.place:
        sentences.append(f"Read from {line.place}.")
    if line.copy_of:
        sentences.append(f"It restates {line.copy_of}, and is compared with it.")
    return [*sentences, *(text for text in (line.note, line.marks.because) if text)]


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


# ---- the summary and the stories ----


def summary(report: Report) -> str:
    """Say in one plain sentence how the working went, and in a second one what else was noticed."""
    if not report.counts and not report.findings:
        return "Nothing could be marked: no written line was read and placed."
    noticed = _noticed(report)
    return _errors(report) + (f" {noticed}" if noticed else "")


def _errors(report: Report) -> str:
    if not report.findings:
        if not report.has_error:
            return "No error." if report.is_fully_read else "No error in what could be marked."
        wrong = sum(number for verdict, number in report.counts.items() if verdict.is_error)
        return f"{_count(wrong, 'cell is', 'cells are')} wrong." if wrong else "No error but in the rounding."
    number = len(report.findings)
    places = [
        f"{report.lines[finding.line].symbol}, {cells_place(report.lines[finding.line], finding.cells)}"
        for finding in report.findings
        if finding.line < len(report.lines)
    ]
    them = "it" if number == 1 else "them"
    start = f"1 error: it starts in {places[0]}" if number == 1 else f"{number} errors: in {'; in '.join(places)}"
    return f"{start}; {_followers(report, them)}."


def _followers(report: Report, them: str) -> str:
    marking = Marking(report)
    below = [cell for index, line in enumerate(report.lines) for cell in line.marked if marking.above(index, cell)]
    below = [cell for cell in below if not marking.is_wrong(cell)]
    if not below:
        return f"no later cell follows from {them}"
    earning = sum(cell.verdict.is_accepted for cell in below)
    if earning == len(below):
        follow = _count(earning, "later cell follows", "later cells follow")
        return f"{follow} from {them} and {'earns its' if earning == 1 else 'earn their'} follow-through marks"
    stand = _count(len(below), "later cell stands", "later cells stand")
    return f"{stand} below {them}, {earning} of which {'earns its' if earning == 1 else 'earn their'} marks"


def _noticed(report: Report) -> str:
    wordings = {
        Verdict.TRUNCATED: ("number was cut where it", "numbers were cut where they", " should have been rounded"),
        Verdict.ROUNDING: ("number is", "numbers are", " off by rounding only"),
        Verdict.PLAUSIBLE: ("number is", "numbers are", " plausible, but not proved"),
        Verdict.TRUE: ("number is", "numbers are", " true, but not from your own lines"),
        Verdict.UNREADABLE: ("cell", "cells", " could not be read"),
        Verdict.UNCHECKED: ("cell was", "cells were", " not checked"),
    }
    counts = report.counts
    parts = [
        _count(counts[verdict], one, many) + rest for verdict, (one, many, rest) in wordings.items() if counts[verdict]
    ]
    if report.num_misshapen:
        parts.append(_count(report.num_misshapen, "line has", "lines have") + " a wrong shape")
    num_lost = sum(note.is_unknown_line for note in report.notes)
    if num_lost:
        parts.append(_count(num_lost, "line was", "lines were") + " not marked (see below)")
    return "; ".join(parts) + "." if parts else ""


@dataclass(frozen=True)
class Story:
    """A finding in words. `title` names the error and its place; the sums stand side by side."""

    number: int
    title: str
    what: str
    started: str
    follows: str
    remedy: str
    right_sum: str
    student_sum: str


def stories(report: Report) -> list[Story]:
    """Tell every finding: what is wrong, where it started, what follows from it, how to put it right."""
    marking = Marking(report)
    return [_story(marking, number, finding) for number, finding in enumerate(report.findings)]


def _story(marking: Marking, number: int, finding: Finding) -> Story:
    lines = marking.report.lines
    line = lines[finding.line] if finding.line < len(lines) else None
    symbol = line.symbol if line else ""
    where = f"{symbol}, {cells_place(line, finding.cells)}" if line else "the working"
    started = f"{line.heading}, {cells_place(line, finding.cells)}" if line else ""
    if line and line.place:
        started += f" ({line.place})"
    below = [lines[index].symbol for index in finding.below if index < len(lines)]
    num_below = marking.num_below(number)
    follows = finding.follows
    if not follows and num_below:
        follows = f"{_count(num_below, 'cell stands', 'cells stand')} below it" + (
            f", in {join_words(dict.fromkeys(below))}." if below else "."
        )
    return Story(
        number + 1,
        f"{verdict_of(finding)} in {where}",
        finding.what,
        started,
        follows or "Nothing: no other cell depends on it.",
        finding.remedy,
        finding.right_sum,
        finding.student_sum,
    )


# ---- lines, notes and the legend ----


def sections(report: Report) -> Iterator[tuple[str, list[int]]]:
    """Give runs of lines (counted from 0) under one heading."""
    shown = [index for index, line in enumerate(report.lines) if not line.is_good_copy]
    for heading, run in groupby(shown, key=lambda index: report.lines[index].section):
        yield heading, list(run)


def _good_copies(report: Report) -> str:
    """Say which factors were restated rightly: they need no more room than that."""
    copies = [line for line in report.lines if line.is_good_copy]
    named = dict.fromkeys(f"{line.symbol} ({line.place})" if line.place else line.symbol for line in copies)
    return f"Restated rightly where they are used: {', '.join(named)}."


@dataclass(frozen=True)
class NoteGroup:
    """Notes under one heading; `is_warning`: they ask the reader to take care."""

    heading: str
    sentences: tuple[str, ...]
    is_warning: bool


def notes(report: Report) -> list[NoteGroup]:
    """Return the notes under their headings: warnings, what was read, and what was not."""
    groups = []
    for heading, kinds in _NOTE_HEADINGS.items():
        sentences = [_note(note) for kind in kinds for note in report.notes if note.kind == kind]
        if "read" in kinds and any(line.is_good_copy for line in report.lines):
            sentences.append(_good_copies(report))
        if sentences:
            groups.append(NoteGroup(heading, tuple(sentences), is_warning="warning" in kinds))
    return groups


def _note(note: Note) -> str:
    return f"{note.place}: {note.sentence}" if note.place else note.sentence


@dataclass(frozen=True)
class LegendEntry:
    """An entry of the legend: a verdict, or None for a cell in which nothing was written."""

    symbol: str
    name: str
    meaning: str
    verdict: Verdict | None = None


def legend(report: Report) -> list[LegendEntry]:
    """Return the symbols that occur, in words; first what is well, last what could not be told."""
    keys = [LegendEntry(v.symbol, v.value, MEANINGS[v], v) for v in Verdict if report.counts[v]]
    if any(_has_blank(line) for line in report.lines):
        keys.append(LegendEntry(BLANK, "blank", "nothing was written there"))
    return keys


def _has_blank(line: LineMark) -> bool:
    return len(line.marked) < len(line.cells) * max((len(row) for row in line.cells), default=0)
