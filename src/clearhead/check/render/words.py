"""The sentences and the ordering that all report formats share: marks, summary, errors, notes and legend.

Everything is plain text that can contain the student's own words. Each renderer must escape it for its format.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from clearhead.check.line_words import symbol_key
from clearhead.check.names import split_pick
from clearhead.check.render.cells import Marking, cells_place, join_words, verdict_of
from clearhead.check.report import Finding, LineMark, LineMarks, Report
from clearhead.check.verdict import Verdict
from clearhead.check.working import Note, NoteKind
from clearhead.worksheet.render.text import label

BLANK = "__"  # shown for an empty cell
MEANINGS: Mapping[Verdict, str] = {
    Verdict.CORRECT: "agrees with your earlier lines",
    Verdict.ROUNDED: "agrees with your earlier lines as you rounded them",
    Verdict.CARRIED: "the step is right, but it uses a number with an earlier error",
    Verdict.TRUNCATED: "digits were cut off instead of rounded",
    Verdict.ROUNDING: "differs by less than one unit in the last digit",
    Verdict.UNSUPPORTED: "cannot be judged, because too many lines before it were not written; earns no marks",
    Verdict.PLAUSIBLE: "possible within rounding, but not confirmed; earns full marks",
    Verdict.TRUE: "the right value, but it does not follow from your earlier lines; earns the accuracy mark",
    Verdict.TRANSCRIPTION: "the right number, but written or copied incorrectly",
    Verdict.MISCONCEPTION: "calculated by an incorrect rule",
    Verdict.SLIP: "the right rule, but a calculation error",
    Verdict.INVARIANT: "breaks a property that every correct answer has",
    Verdict.UNREADABLE: "could not be read as a number",
    Verdict.UNCHECKED: "not checked, because what it depends on is unknown or could not be used; earns no marks",
    Verdict.PRINTED: "a number of the practice sheet; earns no marks",
}
MARK_NAMES: Mapping[str, str] = {
    "M": "method mark: the right step with the right inputs",
    "A": "accuracy mark: right numbers, divided equally among the rows",
    "A-ft": "accuracy mark with follow-through: right for your earlier numbers, although one of them is wrong",
}
_NO_LINE = "no line was recognised as a step of the exercise"
_WRITTEN = "written: "  # how the place of a line in a working file begins
_MAX_UNWRITTEN = 4  # symbols of lines that were not written in a sentence
_MAX_STEPS = 8  # that were not handed in, in a sentence
_MAX_NAME = 60  # characters of a line's name in a sentence
_FRACTIONS = {
    (1, 2): "½", (1, 3): "⅓", (2, 3): "⅔", (1, 4): "¼", (3, 4): "¾", (1, 5): "⅕", (2, 5): "⅖", (3, 5): "⅗",
    (4, 5): "⅘", (1, 6): "⅙", (5, 6): "⅚", (1, 8): "⅛", (3, 8): "⅜", (5, 8): "⅝", (7, 8): "⅞",
}  # fmt: skip
_NOTE_HEADINGS: Mapping[str, tuple[NoteKind, ...]] = {
    "Warnings": ("warning",),
    "How your file was read": ("convention", "read", "placed"),
    "What could not be read or matched": ("unreadable", "unplaced"),
}


# ---- marks ----


def number_of_marks(value: float) -> str:
    """Format marks as on paper: 7½, ⅔, 0.43."""
    integer = int(value)
    rest = value - integer
    if abs(rest) < 5e-3 or abs(rest - 1) < 5e-3:
        return str(round(value))
    for (top, bottom), sign in _FRACTIONS.items():
        if abs(rest - top / bottom) < 5e-3:
            return f"{integer or ''}{sign}"
    return f"{value:.2f}"


def score(earned: float, out_of: float) -> str:
    """Format a score as `7½ / 12`."""
    return f"{number_of_marks(earned)} / {number_of_marks(out_of)}"


def total(report: Report) -> str:
    """Format the marks of a report as `7½ / 10 (scaled from 6 / 8)`."""
    scaled = f" (scaled from {score(*report.unscaled)})" if report.unscaled is not None else ""
    return score(report.earned, report.out_of) + scaled


def mark_parts(marks: LineMarks) -> list[tuple[str, str]]:
    """Return the marks of a line by name, `[("M", "1/1"), ("A-ft", "⅔/1")]`; empty if it has none."""
    accuracy = "A-ft" if marks.is_follow_through else "A"
    parts = [("M", marks.method, marks.method_of), (accuracy, marks.accuracy, marks.accuracy_of)]
    return [(name, f"{number_of_marks(got)}/{number_of_marks(most)}") for name, got, most in parts if most]


def line_score(marks: LineMarks) -> str:
    """Format the marks of a line as `M 1/1, A-ft ⅔/1`; empty if it has none."""
    return ", ".join(f"{name} {score}" for name, score in mark_parts(marks))


def mark_names(report: Report) -> list[tuple[str, str]]:
    """Return the names of the marks that occur in a report, each with its meaning."""
    names = {name for line in report.lines for name, _ in mark_parts(line.marks)}
    return [(name, meaning) for name, meaning in MARK_NAMES.items() if name in names]


def mark_legend(report: Report) -> str:
    """Return one line that explains M, A and A-ft; empty if the report has no marks."""
    return "; ".join(f"{name}: {meaning}" for name, meaning in mark_names(report))


# ---- names and places ----


def title_of(report: Report) -> str:
    """Return the title or, without one, the kind of the exercise."""
    return report.title or report.kind or "Marked working"


def equation_of(line: LineMark) -> str:
    """Return `Q = X W_Q`, or the symbol alone."""
    if line.copy_of:
        return f"{line.symbol}, copied"
    if not line.equation or line.equation.startswith(f"{line.symbol} ="):
        return line.equation or line.symbol
    return f"{line.symbol} = {line.equation}"


def remarks(line: LineMark) -> list[str]:
    """Return sentences about a complete line: its name and place in the file, its note, the reason for its marks."""
    sentences = [_taken_for(line)]
    if line.copy_of and not line.note:
        sentences.append(f"This is a copy of {line.copy_of}, and it is compared with the original.")
    if line.unwritten:
        sentences.append(f"Not enough working: write {_unwritten(line)} too, so that these numbers can be judged.")
    return list(dict.fromkeys(text for text in (*sentences, line.note, _marks_reason(line.marks)) if text))


def _unwritten(line: LineMark) -> str:
    """Return `S, S′ and A`, or `S, S′, A and 5 other lines`: the lines before this one that were not written."""
    symbols = list(dict.fromkeys(line.unwritten))
    if len(symbols) <= _MAX_UNWRITTEN:
        return join_words(symbols)
    shown = symbols[: _MAX_UNWRITTEN - 1]
    return join_words([*shown, f"{len(symbols) - len(shown)} other lines"])


def _taken_for(line: LineMark) -> str:
    """Return `Your line "output" was taken to be Z.`; only the place of a line whose name is its symbol, if any."""
    names = {symbol_key(split_pick(name.rpartition(":")[2]).name) for name in line.name.split(", ")}
    phrase = "" if line.is_missing else your_line(line)
    if not phrase or line.copy_of:
        return f"{phrase}." if phrase else ""
    if names != {symbol_key(line.symbol)}:
        return f"{phrase} {'were' if phrase.startswith('Your lines') else 'was'} taken to be {line.symbol}."
    return "" if _WRITTEN in line.place else f"{phrase}."


def your_line(line: LineMark) -> str:
    """Return `Your line "scores" (line 12)`; empty if the file gives the line neither a name nor a place."""
    places = line.place.split(", ") if line.place else []
    paths = [place.removeprefix(_WRITTEN) for place in places if place.startswith(_WRITTEN)]
    if paths and len(paths) == len(places):  # the path of a working file names the line itself
        return f"Your {'line' if len(paths) == 1 else 'lines'} {_quoted(paths)}"
    if line.place:
        return f"Your line {_quoted([line.name or line.symbol])} ({line.place})"
    return f"Your line {_quoted([line.name])}" if line.name not in ("", line.symbol) else ""


def _quoted(names: Sequence[str]) -> str:
    """Return `"A[1]", "A[2]" and 3 more`: as many names as fit, at least one."""
    shown: list[str] = []
    for name in names:
        shown.append(f'"{label(name, _MAX_NAME)}"')
        if len(shown) > 1 and len(", ".join(shown)) > _MAX_NAME:
            return f"{', '.join(shown[:-1])} and {len(names) - len(shown) + 1} more"
    return ", ".join(shown)


def _marks_reason(marks: LineMarks) -> str:
    return f"{marks.because[:1].upper()}{marks.because[1:].rstrip('.')}." if marks.because else ""


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


# ---- the summary and the stories ----


def summary(report: Report) -> str:
    """Summarise the number of errors, the cells that they affect, and anything else worth noticing."""
    if not report.counts and not report.findings:
        shapes = _count(report.num_misshapen, "line has", "lines have") + " a wrong shape"
        return f"Nothing could be marked: {shapes if report.num_misshapen else _NO_LINE}."
    return " ".join(text for text in (_errors(report), not_enough_working(report), _noticed(report)) if text)


def beside_marks(report: Report) -> list[str]:
    """Return what a reader of the marks must know: assumed conventions, and steps that were not handed in."""
    sentences = [note.sentence for note in report.notes if note.kind == "convention"]
    names = list(dict.fromkeys(report.not_written))
    if names and report.counts:
        shown = names if len(names) <= _MAX_STEPS else [*names[: _MAX_STEPS - 1], f"{len(names) - _MAX_STEPS + 1} more"]
        sentences.append(f"Not handed in: {join_words(shown)}. The marks count only what was handed in.")
    return sentences


def not_enough_working(report: Report) -> str:
    """Name the lines that cannot be judged because lines before them were not written; empty if there is none."""
    lines = [line for line in report.lines if any(cell.verdict is Verdict.UNSUPPORTED for cell in line.marked)]
    if not lines:
        return ""
    cells = _count(report.counts[Verdict.UNSUPPORTED], "number", "numbers")
    if len(lines) > 1:
        return f"Not enough working: {cells} in {len(lines)} lines cannot be judged."
    missing = _unwritten(lines[0]) if lines[0].unwritten else "the lines before"
    was = "was" if len(set(lines[0].unwritten)) == 1 else "were"
    return f"Not enough working: {cells} of {lines[0].symbol} cannot be judged, because {missing} {was} not written."


def _errors(report: Report) -> str:
    if not report.findings:
        if report.is_unsupported and not report.has_error:
            return ""
        if not report.has_error:
            return "No error." if report.is_fully_read else "No error in what could be marked."
        wrong = sum(number for verdict, number in report.counts.items() if verdict.is_error)
        return f"{_count(wrong, 'cell is', 'cells are')} wrong." if wrong else "No error except in rounding."
    return f"{_count(len(report.findings), 'error', 'errors')}. {_followers(report)}."


def _followers(report: Report) -> str:
    marking = Marking(report)
    above = [(cell, marking.above(index, cell)) for index, line in enumerate(report.lines) for cell in line.marked]
    affected = [(cell, numbers) for cell, numbers in above if numbers and not marking.is_wrong(cell)]
    if not affected:
        return "No later cell is affected"
    causes = sorted({number + 1 for _, numbers in affected for number in numbers})
    them = f"{'error' if len(causes) == 1 else 'errors'} {join_words(causes)}" if len(report.findings) > 1 else "it"
    start = f"{_count(len(affected), 'later cell is', 'later cells are')} affected by {them}"
    earning = sum(cell.verdict.is_accepted for cell, _ in affected)
    if earning == len(affected):
        return f"{start} and still {'earns its' if earning == 1 else 'earn their'} marks"
    return f"{start}; {earning} of them still {'earns its' if earning == 1 else 'earn their'} marks"


def _noticed(report: Report) -> str:
    wordings = {
        Verdict.TRUNCATED: ("number was", "numbers were", " truncated instead of rounded"),
        Verdict.ROUNDING: ("number differs", "numbers differ", " by a rounding error"),
        Verdict.PLAUSIBLE: ("number is", "numbers are", " plausible, but not confirmed"),
        Verdict.TRUE: ("number is", "numbers are", " correct, but inconsistent with your own lines"),
        Verdict.UNREADABLE: ("cell", "cells", " could not be read"),
        Verdict.UNCHECKED: ("cell was", "cells were", " not checked"),
    }
    counts = report.counts
    parts = [
        _count(counts[verdict], one, many) + rest for verdict, (one, many, rest) in wordings.items() if counts[verdict]
    ]
    if report.num_misshapen:
        parts.append(_count(report.num_misshapen, "line has", "lines have") + " a wrong shape")
    num_missing = sum(line.is_missing and line.marks.earned < line.marks.out_of for line in report.lines)
    if num_missing:
        are = "is" if num_missing == 1 else "are"
        parts.append(f"{_count(num_missing, 'line', 'lines')} of the mark scheme {are} missing")
    num_lost = sum(note.kind == "unplaced" for note in report.notes)
    if num_lost:
        parts.append(_count(num_lost, "line was", "lines were") + " not marked (see below)")
    return "; ".join(parts) + "." if parts else ""


@dataclass(frozen=True)
class Story:
    """A finding in words. `title` names the error and its place; the two sums are shown side by side."""

    number: int
    title: str
    what: str
    started: str
    follows: str
    remedy: str
    right_sum: str
    student_sum: str


def stories(report: Report) -> list[Story]:
    """Describe every finding: what is wrong, where it started, what it affects, how to correct it."""
    marking = Marking(report)
    return [_story(marking, number, finding) for number, finding in enumerate(report.findings)]


def _story(marking: Marking, number: int, finding: Finding) -> Story:
    lines = marking.report.lines
    line = lines[finding.line] if finding.line < len(lines) else None
    symbol = line.symbol if line else ""
    where = f"{symbol}, {cells_place(line, finding.cells)}" if line else "the working"
    started = line.heading if line else ""
    if line and your_line(line):
        started += f", in your {your_line(line).removeprefix('Your ')}"
    what = finding.what
    if line and finding.cells:  # the title states the place already
        what = what.removeprefix(f"{line.place_of_cells(finding.cells)}: ")
    below = [lines[index].symbol for index in finding.below if index < len(lines)]
    follows = finding.follows
    num_below = 0 if follows else marking.num_below(number)
    if num_below:
        follows = f"{_count(num_below, 'cell is', 'cells are')} affected by it" + (
            f", in {join_words(dict.fromkeys(below))}." if below else "."
        )
    return Story(
        number + 1,
        f"{verdict_of(finding)} in {where}",
        f"{what[:1].upper()}{what[1:]}",
        started,
        follows or "No other cell depends on it.",
        finding.remedy,
        finding.right_sum,
        finding.student_sum,
    )


# ---- lines, notes and the legend ----


def sections(report: Report) -> Iterator[tuple[str, list[int]]]:
    """Yield each heading with its lines (counted from 0)."""
    shown = [index for index, line in enumerate(report.lines) if not line.is_good_copy and not line.is_printed]
    for heading, run in groupby(shown, key=lambda index: report.lines[index].section):
        yield heading, list(run)


def _good_copies(report: Report) -> str:
    """List the correctly copied factors in one sentence; they are not shown as matrices."""
    copies = [line for line in report.lines if line.is_good_copy]
    named = dict.fromkeys(f"{line.symbol} ({line.place})" if line.place else line.symbol for line in copies)
    return f"Copied correctly where they are used: {', '.join(named)}."


@dataclass(frozen=True)
class NoteGroup:
    """Notes under one heading."""

    heading: str
    sentences: tuple[str, ...]
    is_warning: bool


def notes(report: Report) -> list[NoteGroup]:
    """Group the notes under headings: warnings, what was read, and what was not."""
    groups = []
    for heading, kinds in _NOTE_HEADINGS.items():
        sentences = [_note(note) for kind in kinds for note in report.notes if note.kind == kind]
        if "read" in kinds and any(line.is_good_copy for line in report.lines):
            sentences.append(_good_copies(report))
        if sentences:
            groups.append(NoteGroup(heading, tuple(sentences), is_warning="warning" in kinds))
    return groups


def _note(note: Note) -> str:
    place = note.place.removeprefix(_WRITTEN)
    name = place.rpartition(": ")[2] if note.place.startswith(_WRITTEN) else ""
    if name and note.sentence.startswith(f'"{name}"'):  # the sentence names the line already
        return place.removesuffix(name) + note.sentence
    return f"{place}: {note.sentence}" if place else note.sentence


@dataclass(frozen=True)
class LegendEntry:
    """An entry of the legend: a verdict, or None for an empty cell."""

    symbol: str
    name: str
    meaning: str
    verdict: Verdict | None = None


def legend(report: Report) -> list[LegendEntry]:
    """Return the symbols that occur and their meanings: correct verdicts first, unchecked cells last."""
    keys = [LegendEntry(v.symbol, v.in_words, MEANINGS[v], v) for v in Verdict if report.counts[v]]
    if any(_has_blank(line) for line in report.lines):
        keys.append(LegendEntry(BLANK, "blank", "nothing was written here"))
    return keys


def _has_blank(line: LineMark) -> bool:
    return len(line.marked) < len(line.cells) * max((len(row) for row in line.cells), default=0)
