"""Mark a class: one report for each student, a table of grades, the most common errors, and similar workings.

A file that cannot be used is reported with the reason, and the other files are still marked.
"""

import csv
import io
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from clearhead.check.conventions import check_problem
from clearhead.check.look_alikes import LookAlike, look_alikes
from clearhead.check.marker import mark_all
from clearhead.check.marks import Scheme
from clearhead.check.render.words import not_enough_working
from clearhead.check.report import FORMAT, Finding, Report
from clearhead.check.scheme_lines import SchemeLineError, check_scheme
from clearhead.check.time_limit import DEFAULT_SECONDS, TimeUpError, late_sentence, time_limit
from clearhead.check.verdict import Verdict
from clearhead.check.working import Working
from clearhead.errors import ClearheadError, ProblemError
from clearhead.exercises.check.read.problem_source import load_given_problem
from clearhead.exercises.check.read.reading import SUFFIXES, WORD
from clearhead.exercises.check.read.sheet_number import ProblemSources, SheetLookup
from clearhead.exercises.check.read.workings import load_workings, shown_name

CLASS_SUFFIXES = (*SUFFIXES, *WORD)  # a Word file has a row too, with the reason why it is not read
GRADES = ("file", "student", "marks", "out of")  # the first columns of a table of grades
PERCENT = len(GRADES)  # the column after them
_MAX_NAMES = 6  # lines of one student that are named in the table
_NO_NUMBER = (
    "it has no number of a sheet, and the other workings have one. Ask the student for the number at the top of the "
    "sheet, and add the line 'sheet: NUMBER' to the file."
)


@dataclass(frozen=True)
class StudentResult:
    """The result of one file: its reports, or the reason why it could not be used."""

    path: Path
    reports: tuple[Report, ...] = ()
    problem: str = ""
    is_late: bool = False  # whether checking was stopped by the time limit
    is_scheme_misfit: bool = False  # whether the scheme names a line that its exercise does not have
    is_inferred: bool = False  # whether the problem was read from the numbers of the working itself

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
    def sheet(self) -> str:
        """The number of the practice sheet, or of several of them; empty if the working has none."""
        return ", ".join(dict.fromkeys(report.sheet for report in self.reports if report.sheet))

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
    def repeated_names(self) -> dict[str, list[str]]:
        """The names that several workings have, each with the files; one student may have handed in twice."""
        files: dict[str, list[str]] = {}
        for result in self.results:
            if result.reports:
                files.setdefault(" ".join(result.student.casefold().split()), []).append(result.path.name)
        names = {" ".join(result.student.casefold().split()): result.student for result in self.results}
        return {names[key]: paths for key, paths in files.items() if len(paths) > 1}

    @property
    def exit_code(self) -> int:
        """2 if no file could be used, 1 if any working contains an error, otherwise 0."""
        if not any(result.reports for result in self.results):
            return 2
        codes = {report.exit_code for result in self.results for report in result.reports}
        return 1 if 1 in codes else (2 if 2 in codes or any(result.problem for result in self.results) else 0)


def working_files(folder: Path, besides: Collection[Path] = ()) -> list[Path]:
    """Return the files of a folder that can be workings, by name, without those in `besides` (scheme, grades)."""
    paths = [path for path in _files(folder, besides) if path.suffix.casefold() in CLASS_SUFFIXES]
    if not paths:
        raise ProblemError(
            f"{folder} contains no workings. Put one file for each student into it ({', '.join(SUFFIXES)})."
        )
    return paths


def other_files(folder: Path, besides: Collection[Path] = ()) -> list[Path]:
    """Return the files of a folder with an unsupported suffix; a student's working can be among them."""
    return [path for path in _files(folder, besides) if path.suffix.casefold() not in CLASS_SUFFIXES]


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
    sheets: SheetLookup | None = None,
) -> ClassReport:
    """Mark every working in a folder by one scheme; `on_marked` is called with each file after it is marked.

    A file that takes longer than `max_seconds` is reported, and the next one is marked; None means no limit. A
    `problem` that cannot be used is an error, not the result of every student. `sheets` finds the problem of a practice
    sheet by its number; beside workings with a number, a document without one is reported and not marked.
    """
    wanted = problem if problem is not None else scheme.problem
    data = None if wanted is None else load_given_problem(wanted)
    if data is not None:
        check_problem(data)
        check_scheme(scheme, data)
    sources = ProblemSources(data, sheets=sheets, is_default=problem is None)
    results, paths = [], working_files(Path(folder), besides)
    originals = {path.resolve(): path for path in paths if not path.is_symlink()}
    for path in paths:
        original = originals.setdefault(path.resolve(), path)
        if original is path:
            results.append(_mark_file(path, scheme, sources, max_seconds))
        else:
            sentence = f"it is a link to {original.name}, which has its own row. Replace the link by a file."
            results.append(StudentResult(path, problem=sentence))
        if on_marked is not None:
            on_marked(path)
    misfits = {result.problem for result in results if result.is_scheme_misfit}
    if len(misfits) == 1 and all(result.is_scheme_misfit for result in results if not result.is_late):
        raise SchemeLineError(misfits.pop())
    results = _without_guesses(results)
    return ClassReport(tuple(results), commonest_slips(results), look_alikes(results))


def _without_guesses(results: list[StudentResult]) -> list[StudentResult]:
    """Return the results; where others have the number of a sheet, a working that names no problem has no marks."""
    if not any(report.sheet for result in results for report in result.reports):
        return results
    return [replace(result, reports=(), problem=_NO_NUMBER) if result.is_inferred else result for result in results]


def _mark_file(path: Path, scheme: Scheme, sources: ProblemSources, max_seconds: float | None) -> StudentResult:
    is_inferred = False
    try:
        if not path.resolve().is_relative_to(path.parent.resolve()):
            raise ProblemError("is a link to a file outside the folder. Copy the file into the folder.")
        with time_limit(max_seconds):
            workings = load_workings(path, sources.problem, sources.sheets, is_default=sources.is_default)
            is_inferred = any(isinstance(working, Working) and working.is_inferred for working in workings)
            return StudentResult(path, tuple(mark_all(workings, scheme)), is_inferred=is_inferred)
    except TimeUpError:
        return StudentResult(path, (), late_sentence(max_seconds or 0.0), is_late=True)
    except SchemeLineError as wrong:
        return StudentResult(path, (), wrong.mistakes[0], is_scheme_misfit=True)
    except ClearheadError as wrong:
        sentence = str(wrong).split("\n")[0].removeprefix(f"{shown_name(path)}: ")
        return StudentResult(path, (), sentence, is_inferred=is_inferred)


def commonest_slips(results: list[StudentResult]) -> tuple[SharedSlip, ...]:
    """Return the errors that at least two students made, the most common first."""
    students_by_slip: dict[str, dict[Path, str]] = {}  # by file, because two students can have the same name
    for result in results:
        for report in result.reports:
            for finding in report.findings:
                slip = kind_of_slip(report, finding)
                students_by_slip.setdefault(slip, {})[result.path] = result.student
    slips = [
        SharedSlip(what, tuple(students.values())) for what, students in students_by_slip.items() if len(students) > 1
    ]
    return tuple(sorted(slips, key=lambda slip: -len(slip.students)))


def kind_of_slip(report: Report, finding: Finding) -> str:
    """Return an error in a few words, which are the same for every student who made it."""
    marked = report.lines[finding.line]
    if finding.verdict is Verdict.MISCONCEPTION:
        return f'misconception "{finding.name}" in {marked.heading}'
    if report.sheet:  # the numbers and the words of the same cell are others in another variant
        return f"{finding.verdict.in_words} in {marked.heading}"
    row, column = finding.cells[0]
    place = f"row {marked.row_name(row)}, column {marked.column_name(column)}"
    return f"{finding.verdict.in_words} in {marked.heading}, {place}"


def _first_few(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


Grade = str | float  # a cell of the grades; an empty text where there is no mark


def grade_rows(class_report: ClassReport) -> list[list[Grade]]:
    """Return the grades as a table: a header, and a row for each student with two columns (marks, out of) per line.

    A file that cannot be used has no marks. The column `sheet` is there if any working has the number of a sheet.
    """
    names: dict[str, None] = {}
    for result in class_report.results:
        for label, _, _ in _line_grades(result):
            names[label] = None
    has_sheets = any(report.sheet for report in class_report.reports)
    head = [*GRADES, "percent", "errors", "first error", "not marked", "cannot be used"]
    head += ["sheet"] if has_sheets else []
    head += [column for name in names for column in (name, f"{name}, out of")]
    rows: list[list[Grade]] = [[*head]]
    for result in class_report.results:
        grades = {label: (earned, out_of) for label, earned, out_of in _line_grades(result)}
        row = [result.path.name, result.student, *_totals(result), result.first_error, "; ".join(result.not_marked)]
        row += [result.problem, *([result.sheet] if has_sheets else [])]
        rows.append([*row, *(cell for name in names for cell in grades.get(name, ("", "")))])
    return rows


def grades_csv(class_report: ClassReport) -> str:
    """Return the grades as CSV. Marks are plain numbers, because a spreadsheet turns `1/2` into a date."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in grade_rows(class_report):
        writer.writerow([_as_text(cell, column) for column, cell in enumerate(row)])
    return text.getvalue()


def _as_text(cell: Grade, column: int) -> str:
    if isinstance(cell, str):
        return harmless(cell)
    return f"{cell:.1f}" if column == PERCENT else f"{cell:g}"


def _totals(result: StudentResult) -> list[Grade]:
    """Return marks, out of, percent and errors; empty cells for a file that cannot be used."""
    if not result.reports:
        return ["", "", "", ""]
    percent = round(100 * result.earned / result.out_of, 1) if result.out_of else ""
    return [result.earned, result.out_of, percent, result.num_errors]


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


def harmless(cell: str) -> str:
    """Escape a student's text so that a spreadsheet does not treat it as a formula."""
    is_number = cell.replace(".", "", 1).replace("-", "", 1).isdigit()
    return f"'{cell}" if cell[:1] in tuple("=+-@\t\r＝＋－＠") and not is_number else cell
