"""Summarise a class: how many students had each line right, and the commonest errors with one example each.

Variants of one practice sheet have the same lines and different numbers, so they are counted together.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import mean, median

from clearhead.check.classroom import ClassReport, kind_of_slip
from clearhead.check.report import Finding, LineMark, Report
from clearhead.check.verdict import ROUNDING_FAULTS, Verdict

_UNJUDGED = frozenset({Verdict.UNREADABLE, Verdict.UNCHECKED, Verdict.UNSUPPORTED})
_NUM_BANDS = 10  # of the distribution of marks


class LineState(StrEnum):
    """How one student did one line. The order is from best to worst, for a line that was written twice."""

    RIGHT = "right"
    CARRIED = "right after an earlier error"
    UNJUDGED = "could not be judged"
    WRONG = "wrong"
    ABSENT = "not written"


@dataclass(frozen=True)
class LineTally:
    """How many students had one line right, wrong or not at all; only those whose sheet asks for the line count."""

    heading: str
    counts: Counter[LineState]


@dataclass(frozen=True)
class SlipTally:
    """An error with the students who made it, and the finding of one of them as an example."""

    what: str
    students: tuple[str, ...]
    example: Finding
    example_student: str


@dataclass(frozen=True)
class QuizSummary:
    """The workings of one exercise, or of all variants of one practice sheet."""

    title: str
    num_workings: int
    sheets: tuple[str, ...]  # the numbers of the variants, in order; empty for an exercise without a number
    lines: tuple[LineTally, ...]
    slips: tuple[SlipTally, ...]


@dataclass(frozen=True)
class MarkBands:
    """The marks of a class in percent: mean, median, and how many students are in each tenth."""

    mean: float
    median: float
    counts: tuple[int, ...]

    def label(self, band: int) -> str:
        """The percentages of a band: `70-79`; the last band includes 100."""
        width = 100 // _NUM_BANDS
        return f"{band * width}-{100 if band == _NUM_BANDS - 1 else (band + 1) * width - 1}"


def mark_bands(marked: ClassReport) -> MarkBands | None:
    """Return the distribution of the marks; None if nobody has marks."""
    percents = [100 * result.earned / result.out_of for result in marked.results if result.out_of]
    if not percents:
        return None
    bands = Counter(min(int(percent * _NUM_BANDS / 100 + 1e-9), _NUM_BANDS - 1) for percent in percents)
    return MarkBands(mean(percents), median(percents), tuple(bands[band] for band in range(_NUM_BANDS)))


def summarise(marked: ClassReport) -> tuple[QuizSummary, ...]:
    """Return a summary for each exercise of a class, in the order in which they occur."""
    groups: dict[str, list[tuple[str, Report]]] = {}
    for result in marked.results:
        for number, report in enumerate(result.reports, 1):
            title = report.quiz or report.kind or "exercise"
            title = title if len(result.reports) == 1 or report.quiz else f"{number}. {title}"
            groups.setdefault(title, []).append((result.student, report))
    return tuple(_summary(title, entries) for title, entries in groups.items())


def _summary(title: str, entries: Sequence[tuple[str, Report]]) -> QuizSummary:
    reports = [report for _, report in entries]
    states = [(_states(report), LineState.ABSENT if not report.sheet else None) for report in reports]
    tallies = [
        LineTally(heading, Counter(state for own, absent in states if (state := own.get(heading, absent))))
        for heading in _headings(reports)
    ]
    numbers = tuple(sorted({report.sheet for report in reports if report.sheet}))
    return QuizSummary(title, len(reports), numbers, tuple(tallies), _slips(entries))


def _headings(reports: Iterable[Report]) -> list[str]:
    """Return the lines that anybody wrote, in the order of the exercise: the longest working comes first."""
    order: list[str] = []
    for report in sorted(reports, key=lambda report: -len(report.lines)):
        after = 0
        for line in report.lines:
            if not _counts(line, report):
                continue
            if line.heading not in order:
                order.insert(after, line.heading)
            after = order.index(line.heading) + 1
    return order


def _counts(line: LineMark, report: Report) -> bool:
    """Return whether a line is counted: not a copy, and not one that the sheet of the student prints."""
    return not line.copy_of and (not report.sheet or line.marks.out_of > 0)


def _states(report: Report) -> dict[str, LineState]:
    states: dict[str, LineState] = {}
    ranks = list(LineState)
    for line in report.lines:
        if _counts(line, report):
            before = states.get(line.heading, LineState.RIGHT)
            states[line.heading] = max(before, _state(line, report.is_strict), key=ranks.index)
    return states


def _state(line: LineMark, is_strict: bool) -> LineState:
    verdicts = {cell.verdict for cell in line.marked} - {Verdict.PRINTED}
    if line.is_missing or (line.marked and not verdicts):
        return LineState.ABSENT
    if line.is_misshapen or any(v.is_error or (is_strict and v in ROUNDING_FAULTS) for v in verdicts):
        return LineState.WRONG
    if verdicts & _UNJUDGED:
        return LineState.UNJUDGED
    return LineState.CARRIED if Verdict.CARRIED in verdicts else LineState.RIGHT


def _slips(entries: Sequence[tuple[str, Report]]) -> tuple[SlipTally, ...]:
    """Return the errors, the commonest first; each counts once for a student."""
    findings: dict[str, list[tuple[int, str, Finding]]] = {}
    for place, (student, report) in enumerate(entries):  # two students can have the same name
        for finding in report.findings:
            tally = findings.setdefault(kind_of_slip(report, finding), [])
            if not any(other == place for other, _, _ in tally):
                tally.append((place, student, finding))
    tallies = [
        SlipTally(what, tuple(student for _, student, _ in tally), tally[0][2], tally[0][1])
        for what, tally in findings.items()
    ]
    return tuple(sorted(tallies, key=lambda tally: -len(tally.students)))
