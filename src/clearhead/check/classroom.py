"""Mark a class: one report for each student, a table of grades, the most common errors, and similar workings.

A file that cannot be used is reported with the reason, and the other files are still marked.
"""

import csv
import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import orjson

from clearhead.check.conventions import check_problem
from clearhead.check.marker import mark_all
from clearhead.check.marks import Scheme
from clearhead.check.read.problem_source import load_given_problem
from clearhead.check.read.reading import load_workings, shown_name
from clearhead.check.render.words import not_enough_working
from clearhead.check.report import FORMAT, Finding, Report
from clearhead.check.scheme_lines import SchemeLineError, check_scheme
from clearhead.check.time_limit import DEFAULT_SECONDS, TimeUpError, late_sentence, time_limit
from clearhead.check.verdict import Verdict
from clearhead.errors import ClearheadError, ProblemError

SUFFIXES = (".yaml", ".yml", ".json", ".csv", ".tsv", ".xlsx", ".xlsm", ".md", ".markdown", ".tex", ".txt")
GRADES = ("file", "student", "marks", "out of")  # the first columns of a table of grades
_ALIKE = 0.9  # the share of wrong numbers that two workings must have in common to be reported
_MAX_NAMES = 6  # lines of one student that are named in the table
_LEAST_ALIKE = 2  # the fewest wrong numbers in common

CellKey = tuple[int, int, int, int]


@dataclass(frozen=True)
class StudentResult:
    """The result of one file: its reports, or the reason why it could not be used."""

    path: Path
    reports: tuple[Report, ...] = ()
    problem: str = ""
    is_late: bool = False  # whether checking was stopped by the time limit
    is_scheme_misfit: bool = False  # whether the scheme names a line that its exercise does not have

    @property
    def remark(self) -> str:
        """The first error and what was not marked, or why there is no report."""
        if not self.reports:
            return self.problem if self.is_late else f"cannot be used: {self.problem}"
        lost = f"Not marked: {_first_few(self.not_marked)}." if self.not_marked else ""
        return "\n".join(text for text in (self.first_error, lost) if text)

    @property
    def student(self) -> str:
        """The name in the working, or the file name."""
        return next((report.student for report in self.reports if report.student), self.path.stem)

    @property
    def earned(self) -> float:
        """The total marks earned."""
        return round(sum(report.earned for report in self.reports), 6)

    @property
    def out_of(self) -> float:
        """The total marks that could be earned."""
        return round(sum(report.out_of for report in self.reports), 6)

    @property
    def num_errors(self) -> int:
        """The number of root errors."""
        return sum(len(report.findings) for report in self.reports)

    @property
    def first_error(self) -> str:
        """The first error or, if there is none, what is missing or the reason why marks were first lost."""
        sentences = [finding.what for report in self.reports for finding in report.findings]
        sentences += [not_enough_working(report) for report in self.reports if report.is_unsupported]
        lines = [line for report in self.reports for line in report.lines if line.marks.earned < line.marks.out_of]
        sentences += [f"{line.heading}: {line.marks.because}" for line in lines if not line.is_misshapen]
        return sentences[0] if sentences else ""

    @property
    def not_marked(self) -> list[str]:
        """What was written and not marked, in a few words each."""
        return [name for report in self.reports for name in report.not_marked]


@dataclass(frozen=True)
class SharedSlip:
    """An error that several students made."""

    what: str
    students: tuple[str, ...]


@dataclass(frozen=True)
class LookAlike:
    """Two workings with nearly the same wrong numbers."""

    first: str
    second: str
    num_shared: int
    num_wrong: int


@dataclass(frozen=True)
class ClassReport:
    """A marked class."""

    results: tuple[StudentResult, ...]
    slips: tuple[SharedSlip, ...]
    alike: tuple[LookAlike, ...]

    @property
    def reports(self) -> list[Report]:
        """The reports of all students."""
        return [report for result in self.results for report in result.reports]

    @property
    def exit_code(self) -> int:
        """2 if no file could be used, 1 if any working contains an error, otherwise 0."""
        if not any(result.reports for result in self.results):
            return 2
        codes = {report.exit_code for result in self.results for report in result.reports}
        return 1 if 1 in codes else (2 if 2 in codes or any(result.problem for result in self.results) else 0)


def working_files(folder: Path, besides: Collection[Path] = ()) -> list[Path]:
    """Return the files of a folder that can be workings, by name, without those in `besides` (scheme, grades)."""
    paths = [path for path in _files(folder, besides) if path.suffix.casefold() in SUFFIXES]
    if not paths:
        raise ProblemError(
            f"{folder} contains no workings. Put one file for each student into it ({', '.join(SUFFIXES)})."
        )
    return paths


def other_files(folder: Path, besides: Collection[Path] = ()) -> list[Path]:
    """Return the files of a folder with an unsupported suffix; a student's working can be among them."""
    return [path for path in _files(folder, besides) if path.suffix.casefold() not in SUFFIXES]


def entries_left_out(folder: Path, besides: Collection[Path] = ()) -> list[Path]:
    """Return the entries of a folder that are no files: sub-folders, broken links and pipes."""
    return [path for path in _entries(folder, besides) if not path.is_file()]


def _files(folder: Path, besides: Collection[Path]) -> list[Path]:
    return [path for path in _entries(folder, besides) if path.is_file()]


def _entries(folder: Path, besides: Collection[Path]) -> list[Path]:
    excluded = {path.resolve() for path in besides}
    try:
        paths = sorted(path for path in folder.iterdir() if path.resolve() not in excluded)
    except OSError as wrong:
        raise ProblemError(f"{folder} cannot be read: {wrong.strerror}.") from None
    return [path for path in paths if not path.name.startswith((".", "~$"))]  # temporary files of editors


def mark_class(
    folder: str | Path,
    scheme: Scheme,
    problem: str | Path | None = None,
    on_marked: Callable[[Path], None] | None = None,
    besides: Collection[Path] = (),
    max_seconds: float | None = DEFAULT_SECONDS,
) -> ClassReport:
    """Mark every working in a folder by one scheme; `on_marked` is called with each file after it is marked.

    A file that takes longer than `max_seconds` is reported, and the next one is marked; None means no limit. A
    `problem` that cannot be used is an error, not the result of every student.
    """
    wanted = problem if problem is not None else scheme.problem
    data = None if wanted is None else load_given_problem(wanted)
    if data is not None:
        check_problem(data)
        check_scheme(scheme, data)
    results, paths = [], working_files(Path(folder), besides)
    originals = {path.resolve(): path for path in paths if not path.is_symlink()}
    for path in paths:
        original = originals.setdefault(path.resolve(), path)
        if original is path:
            results.append(_mark_file(path, scheme, data, max_seconds))
        else:
            sentence = f"it is a link to {original.name}, which has its own row. Replace the link by a file."
            results.append(StudentResult(path, problem=sentence))
        if on_marked is not None:
            on_marked(path)
    misfits = {result.problem for result in results if result.is_scheme_misfit}
    if len(misfits) == 1 and all(result.is_scheme_misfit for result in results if not result.is_late):
        raise SchemeLineError(misfits.pop())
    return ClassReport(tuple(results), commonest_slips(results), look_alikes(results))


def _mark_file(
    path: Path, scheme: Scheme, problem: Mapping[str, Any] | None, max_seconds: float | None
) -> StudentResult:
    try:
        if not path.resolve().is_relative_to(path.parent.resolve()):
            raise ProblemError("is a link to a file outside the folder. Copy the file into the folder.")
        with time_limit(max_seconds):
            return StudentResult(path, tuple(mark_all(load_workings(path, problem), scheme)))
    except TimeUpError:
        return StudentResult(path, (), late_sentence(max_seconds or 0.0), is_late=True)
    except SchemeLineError as wrong:
        return StudentResult(path, (), wrong.mistakes[0], is_scheme_misfit=True)
    except ClearheadError as wrong:
        return StudentResult(path, (), str(wrong).split("\n")[0].removeprefix(f"{shown_name(path)}: "))


def commonest_slips(results: list[StudentResult]) -> tuple[SharedSlip, ...]:
    """Return the errors that at least two students made, the most common first."""
    students_by_slip: dict[str, dict[Path, str]] = {}  # by file, because two students can have the same name
    for result in results:
        for report in result.reports:
            for finding in report.findings:
                slip = _kind_of_slip(report, finding)
                students_by_slip.setdefault(slip, {})[result.path] = result.student
    slips = [
        SharedSlip(what, tuple(students.values())) for what, students in students_by_slip.items() if len(students) > 1
    ]
    return tuple(sorted(slips, key=lambda slip: -len(slip.students)))


def _kind_of_slip(report: Report, finding: Finding) -> str:
    marked = report.lines[finding.line]
    if finding.verdict is Verdict.MISCONCEPTION:
        return f'misconception "{finding.name}" in {marked.heading}'
    row, column = finding.cells[0]
    place = f"row {marked.row_name(row)}, column {marked.column_name(column)}"
    return f"{finding.verdict.in_words} in {marked.heading}, {place}"


def look_alikes(results: list[StudentResult]) -> tuple[LookAlike, ...]:
    """Return pairs of workings with nearly the same wrong numbers; a shared misconception alone does not count."""
    wrong = [(result.student, _wrong_numbers(result), _own_slips(result)) for result in results]
    pairs = []
    for (one, numbers, slips), (other, others, other_slips) in combinations(wrong, 2):
        either = set(numbers) | set(others)
        shared = {key for key in either if numbers.get(key) == others.get(key)}
        if len(shared) >= max(_LEAST_ALIKE, _ALIKE * len(either)) and shared & slips & other_slips:
            pairs.append(LookAlike(one, other, len(shared), len(either)))
    return tuple(pairs)


def _cells(result: StudentResult) -> Iterator[tuple[CellKey, str, Verdict]]:
    for number, report in enumerate(result.reports):
        for place, line in enumerate(report.lines):
            for cell in line.marked:
                yield (number, place, cell.row, cell.column), cell.text, cell.verdict


def _wrong_numbers(result: StudentResult) -> dict[CellKey, str]:
    return {key: text for key, text, verdict in _cells(result) if verdict.is_error or verdict is Verdict.CARRIED}


def _own_slips(result: StudentResult) -> set[CellKey]:
    return {key for key, _, verdict in _cells(result) if verdict in (Verdict.SLIP, Verdict.TRANSCRIPTION)}


def _first_few(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def grades_csv(class_report: ClassReport) -> str:
    """Return the grades as CSV: a row for each student, two columns (marks, out of) for each line that is marked.

    Marks are plain numbers, because a spreadsheet turns `1/2` into a date. A file that cannot be used has no marks.
    """
    names: dict[str, None] = {}
    for result in class_report.results:
        for label, _, _ in _line_grades(result):
            names[label] = None
    head = [*GRADES, "percent", "errors", "first error", "not marked", "cannot be used"]
    head += [column for name in names for column in (name, f"{name}, out of")]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_harmless(cell) for cell in head])
    for result in class_report.results:
        grades = {label: (f"{earned:g}", f"{out_of:g}") for label, earned, out_of in _line_grades(result)}
        row = [result.path.name, result.student, *_totals(result), result.first_error, "; ".join(result.not_marked)]
        row += [result.problem, *(cell for name in names for cell in grades.get(name, ("", "")))]
        writer.writerow([_harmless(cell) for cell in row])
    return text.getvalue()


def _totals(result: StudentResult) -> list[str]:
    """Return marks, out of, percent and errors; empty cells for a file that cannot be used."""
    if not result.reports:
        return ["", "", "", ""]
    percent = f"{100 * result.earned / result.out_of:.1f}" if result.out_of else ""
    return [f"{result.earned:g}", f"{result.out_of:g}", percent, str(result.num_errors)]


def unusable_json(result: StudentResult) -> bytes:
    """Return the JSON report of a file that was not checked: who, and why."""
    return orjson.dumps({"clearhead_report": FORMAT, "student": result.student, "cannot_be_used": result.problem})


def _line_grades(result: StudentResult) -> Iterator[tuple[str, float, float]]:
    for number, report in enumerate(result.reports, 1):
        for line in report.lines:
            if line.marks.out_of:
                label = line.heading
                label = f"{number}. {label}" if len(result.reports) > 1 else label
                yield label, line.marks.earned, line.marks.out_of


def _harmless(cell: str) -> str:
    """Escape a student's text so that a spreadsheet does not treat it as a formula."""
    is_number = cell.replace(".", "", 1).replace("-", "", 1).isdigit()
    return f"'{cell}" if cell[:1] in tuple("=+-@\t\r＝＋－＠") and not is_number else cell
