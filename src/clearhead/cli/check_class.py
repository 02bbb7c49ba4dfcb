"""`clearhead check FOLDER`: mark a class; write a report for every student, two pages of the class and the grades."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead.cli.check import SUFFIX_OF_FORMAT, MarkingOptions, ReportFormat, ReportOptions, content_of, input_files
from clearhead.cli.output import print_drawing
from clearhead.errors import ProblemError
from clearhead.files.output_format import format_of_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearhead.check import Scheme
    from clearhead.check.classroom import ClassReport

_INDEX, _PROJECTED = "index.html", "projected.html"


@dataclass(frozen=True)
class ClassOutputs:
    """The files that are written: reports and pages to a folder, the grades as CSV and as a spreadsheet."""

    to: Path
    form: ReportFormat
    csv: Path | None
    xlsx: Path | None

    def report(self, working: Path) -> Path:
        """Return the file of the report on a working."""
        return self.to / f"{working.name}{SUFFIX_OF_FORMAT[self.form]}"

    @property
    def has_pages(self) -> bool:
        """Whether the pages of the class are written: only beside reports that are pages themselves."""
        return self.form is ReportFormat.html

    @property
    def tables(self) -> dict[str, Path]:
        """The files of the grades, by the name of their option."""
        return {name: path for name, path in (("csv", self.csv), ("xlsx", self.xlsx)) if path is not None}

    @staticmethod
    def of(report: ReportOptions) -> "ClassOutputs":
        """Return the files that the options ask for."""
        beside = report.csv or report.xlsx
        to = report.reports or (beside.parent if beside is not None else Path()) / "reports"
        return ClassOutputs(to, report.explicit_form or ReportFormat.html, report.csv, report.xlsx)


def check_class(folder: Path, marking: MarkingOptions, report: ReportOptions) -> int:
    """Mark the workings in a folder, and return the exit code."""
    from clearhead.check.classroom import working_files

    rules = marking.rules()
    if report.output is not None:
        raise ProblemError("a folder produces one report for each student: use --reports FOLDER instead of --output.")
    outputs = ClassOutputs.of(report)
    inputs = input_files(marking, rules)
    besides = [*inputs, *outputs.tables.values()]
    _check_targets(folder, outputs)
    _check_outputs(outputs, inputs, working_files(folder, besides))
    marked = _mark_class(folder, rules, marking, besides)
    num_reports = _deliver(marked, outputs, folder, [*besides, outputs.to])
    footer = " ".join(text for text in (_scaling(marked), _written(num_reports, outputs)) if text)
    _show_class(marked, footer, folder, [*besides, outputs.to])
    return marked.exit_code


def _check_outputs(outputs: ClassOutputs, inputs: "Sequence[Path]", workings: "Sequence[Path]") -> None:
    """Raise an error if the grades or a report would overwrite a working, the mark scheme or the problem."""
    from clearhead.files.destination import Output, check_outputs, check_standard_output

    check_standard_output([*inputs, *workings])
    targets = [Output(path, name) for name, path in outputs.tables.items()]
    if outputs.to.is_dir():
        pages = [outputs.to / _INDEX, outputs.to / _PROJECTED] if outputs.has_pages else []
        targets += [Output(path, "reports") for path in [*map(outputs.report, workings), *pages]]
    check_outputs(targets, [*inputs, *workings])


def _scaling(marked: "ClassReport") -> str:
    """State that the scheme scales the marks, because the marks of the lines in the grades are not scaled."""
    totals = {(report.unscaled[1], report.out_of) for report in marked.reports if report.unscaled is not None}
    if len(totals) == 1:
        return "The marks are scaled from {:g} to {:g}.".format(*totals.pop())
    return "The marks are scaled." if totals else ""


def _written(num_reports: int, outputs: ClassOutputs) -> str:
    """State where the reports, the pages of the class and the grades were written."""
    grades = " and ".join(map(str, outputs.tables.values()))
    if not num_reports:
        no_report = "No report was written, because no file could be used."
        return no_report + (f" Wrote the grades to {grades}." if grades else "")
    reports = "1 report" if num_reports == 1 else f"{num_reports} reports"
    sentence = f"Wrote {reports} to {outputs.to}{os.sep}" + (f" and the grades to {grades}." if grades else ".")
    if not outputs.has_pages:
        return sentence
    return f"{sentence}\nFor the teacher: {outputs.to / _INDEX}. To project, without names: {outputs.to / _PROJECTED}."


def _check_targets(folder: Path, outputs: ClassOutputs) -> None:
    """Raise an error, before anything is marked, if an output cannot be written or would replace a working."""
    from clearhead.exercises.check.read.reading import SUFFIXES

    to = outputs.to
    for option, path in outputs.tables.items():
        if path.is_dir() or not path.parent.is_dir():
            raise ProblemError(f"--{option} {path} cannot be written: it is a folder, or its folder does not exist.")
        if path.is_file() and path.resolve().parent == folder.resolve() and not _has_grades(path):
            raise ProblemError(
                f"--{option} {path} is in the folder of the workings and contains no grades. Choose another name."
            )
        format_of_file(path, [option], default=option, option=option)
    if to.exists() and not to.is_dir():
        raise ProblemError(f"--reports {to} is not a folder. Choose another name.")
    if to.resolve() == folder.resolve() and SUFFIX_OF_FORMAT[outputs.form] in SUFFIXES:
        raise ProblemError(f"--reports {to} is the folder of the workings. Choose another folder for the reports.")


def _has_grades(path: Path) -> bool:
    """Return whether a file contains grades that were written earlier, and not the working of a student."""
    from clearhead.check.classroom import GRADES
    from clearhead.check.grades_book import is_grades_book
    from clearhead.files.reading import read_file

    content = read_file(path)
    return content.startswith(",".join(GRADES).encode()) or is_grades_book(content)


def _mark_class(folder: Path, rules: "Scheme", marking: MarkingOptions, besides: "Sequence[Path]") -> "ClassReport":
    from rich.console import Console
    from rich.progress import Progress

    from clearhead.check.classroom import mark_class, working_files

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("marking", total=len(working_files(folder, besides)))
        return mark_class(
            folder,
            rules,
            marking.problem,
            lambda path: bar.advance(task),
            besides,
            marking.max_seconds,
            marking.lookup(),
        )


def _deliver(marked: "ClassReport", outputs: ClassOutputs, folder: Path, besides: "Sequence[Path]") -> int:
    """Write the reports, the pages and the grades, and return the number of reports."""
    from clearhead.check.classroom import grades_csv, unusable_json
    from clearhead.check.grades_book import grades_xlsx
    from clearhead.files.writing import write_file

    results = [result for result in marked.results if result.reports or outputs.form is ReportFormat.json]
    try:
        if results:
            outputs.to.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise ProblemError(f"{outputs.to} cannot be created: {wrong.strerror}.") from None
    for result in results:
        content = content_of(result.reports, outputs.form) if result.reports else unusable_json(result)
        write_file(outputs.report(result.path), content)
    if outputs.csv is not None:
        write_file(outputs.csv, grades_csv(marked).encode())
    if outputs.xlsx is not None:
        write_file(outputs.xlsx, grades_xlsx(marked))
    if results and outputs.has_pages:
        _write_pages(marked, outputs, folder, besides)
    return len(results)


def _write_pages(marked: "ClassReport", outputs: ClassOutputs, folder: Path, besides: "Sequence[Path]") -> None:
    """Write the page for the teacher and the one without names."""
    from clearhead.check.render.class_page import ClassFiles, class_page, projected_page
    from clearhead.files.writing import write_file

    reports = {result.path: outputs.report(result.path).name for result in marked.results if result.reports}
    tables = {f"Grades ({path.name})": os.path.relpath(path, outputs.to) for path in outputs.tables.values()}
    files = ClassFiles(reports, {"Page without names, to project": _PROJECTED, **tables})
    remarks = [f"{heading}: {', '.join(names)}." for heading, names in _left_out(folder, besides) if names]
    page = class_page(marked, folder.resolve().name, files, remarks)
    write_file(outputs.to / _INDEX, page.encode())
    write_file(outputs.to / _PROJECTED, projected_page(marked).encode())


def _left_out(folder: Path, besides: "Sequence[Path]") -> "list[tuple[str, list[str]]]":
    """Return the files of the folder that were not marked, by the reason."""
    from clearhead.check.classroom import entries_left_out, other_files

    return [
        ("Not marked, because the file type is not supported", [path.name for path in other_files(folder, besides)]),
        ("Not marked, because it is not a file", [path.name for path in entries_left_out(folder, besides)]),
    ]


def _show_class(marked: "ClassReport", footer: str, folder: Path, besides: "Sequence[Path]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from clearhead.errors import printable

    table = Table(box=None, pad_edge=False)
    for heading in ("student", "marks", "errors", "remark"):
        table.add_column(heading, justify="right" if heading in ("marks", "errors") else "left")
    for result in marked.results:
        marks = f"{result.earned:g} / {result.out_of:g}" if result.reports else "—"
        errors = str(result.num_errors) if result.reports else "—"
        remark = "\n".join(printable(line) for line in result.remark.split("\n"))
        table.add_row(Text(printable(result.student)), marks, errors, Text(remark))

    def draw(console: Console) -> None:
        console.print(table)
        for heading, lines in (
            ("Most common errors", [f"{len(slip.students)} × {slip.what}" for slip in marked.slips[:10]]),
            (
                "Nearly the same wrong numbers",
                [pair.sentence for pair in marked.alike],
            ),
            (
                "Two files with the same name of a student",
                [f"{name}: {', '.join(paths)}" for name, paths in marked.repeated_names.items()],
            ),
            *_left_out(folder, besides),
        ):
            if lines:
                console.print(f"\n{heading}")
                for line in lines:
                    console.print(Text("  " + printable(line)))
        console.print(Text(f"\n{footer}"), soft_wrap=True)

    print_drawing(draw)
