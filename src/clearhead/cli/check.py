"""`clearhead check`: mark one working line by line, or all workings of a class."""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.option_groups import with_option_groups
from clearhead.cli.output_format import format_of_file
from clearhead.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearhead.check import Report, Scheme
    from clearhead.check.classroom import ClassReport


class ReportFormat(StrEnum):
    """The format of the report."""

    terminal = "terminal"
    markdown = "markdown"
    html = "html"
    json = "json"


_LEAST_SECONDS, _MOST_SECONDS = 0.1, 86400  # of --time-limit
_MAX_MENTIONS = 2**25  # bytes of a working that are searched for the name of its problem
_SUFFIX = {
    ReportFormat.terminal: ".txt",
    ReportFormat.markdown: ".md",
    ReportFormat.html: ".html",
    ReportFormat.json: ".json",
}


def _seconds(text: str) -> float:
    """Return the value of --time-limit."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
        raise ProblemError(f"--time-limit {text} is not a number of seconds from {_LEAST_SECONDS} to {_MOST_SECONDS}.")
    return seconds


@dataclass(frozen=True)
class MarkingOptions:
    """The problem and the rules that a working is marked by."""

    problem: Annotated[
        str | None,
        typer.Option(
            help="The exercise that the working solves, if the working does not name it: a problem file or a "
            "gallery id."
        ),
    ] = None
    strict_rounding: Annotated[
        bool, typer.Option("--strict-rounding", help="Count truncated and badly rounded numbers as errors.")
    ] = False
    scheme: Annotated[Path | None, typer.Option(help="A mark scheme (YAML): marks per line, and rounding rules.")] = (
        None
    )
    time_limit: Annotated[
        float | None,
        typer.Option(
            parser=_seconds,
            metavar="SECONDS",
            help="The most seconds that the check of one file may take (no limit on Windows). \\[default: 60]",
        ),
    ] = None

    @property
    def max_seconds(self) -> float:
        """The time limit of one file."""
        from clearhead.check.time_limit import DEFAULT_SECONDS

        return DEFAULT_SECONDS if self.time_limit is None else self.time_limit

    def rules(self) -> "Scheme":
        """Return the mark scheme."""
        return _scheme(self.scheme, self.strict_rounding)


@dataclass(frozen=True)
class ReportOptions:
    """The format of reports, and the files they are written to."""

    form: Annotated[
        ReportFormat | None,
        typer.Option(
            "--format",
            help="Report format. \\[default: from the suffix of the --output file (.html, .md, .json, .txt), otherwise "
            "terminal; html for a folder]",
        ),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format json: all verdicts.")] = False
    csv: Annotated[Path | None, typer.Option(help="For a folder: write the grades to this file.")] = None
    reports: Annotated[
        Path | None,
        typer.Option(
            help="For a folder: write the reports to this folder. \\[default: a folder 'reports' next to the "
            "grades file]"
        ),
    ] = None
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report to this file instead of standard output.")
    ] = None

    @property
    def chosen_form(self) -> ReportFormat | None:
        """The format given by an option, or else by the suffix of the output file."""
        return ReportFormat.json if self.as_json else self.form or format_of_file(self.output, ReportFormat)


@with_option_groups
def check(
    *,
    working: Annotated[
        str | None,
        typer.Argument(
            help="A working, that is, a student's written calculation (YAML, JSON, CSV, xlsx, Markdown, LaTeX, or a "
            "worksheet's JSON), the name of a built-in example, - for standard input, or a folder of workings."
        ),
    ] = None,
    marking: MarkingOptions,
    report: ReportOptions,
    list_workings: Annotated[bool, typer.Option("--list", help="List the built-in examples.")] = False,
) -> None:
    """Grade a student's solution line by line, with follow-through marks."""
    if list_workings:
        _list(report.as_json)
        return
    if working is None or not working.strip():
        raise ProblemError(
            "check needs a working: a file, a folder, the name of a built-in example ('clearhead check --list'), or -."
        )
    raise typer.Exit(_mark(working, marking, report))


def _mark(working: str, marking: MarkingOptions, report: ReportOptions) -> int:
    """Mark a file or a folder, and return the exit code."""
    from clearhead.check.scheme_lines import SchemeLineError

    is_folder = working != "-" and Path(working).is_dir()
    try:
        return _check_class(Path(working), marking, report) if is_folder else _check_one(working, marking, report)
    except SchemeLineError as wrong:
        raise wrong.located(str(marking.scheme or "scheme")) from None


def _check_class(folder: Path, marking: MarkingOptions, report: ReportOptions) -> int:
    """Mark the workings in a folder, and return the exit code."""
    from clearhead.check.classroom import working_files

    rules = marking.rules()
    if report.output is not None:
        raise ProblemError("a folder produces one report for each student: use --reports FOLDER instead of --output.")
    form, csv = report.chosen_form or ReportFormat.html, report.csv
    to = report.reports or (csv.parent if csv is not None else Path()) / "reports"
    inputs = _inputs(marking, rules)
    besides = [*inputs, *([csv] if csv is not None else [])]
    _check_targets(folder, csv, to, form)
    _check_outputs(csv, to, form, inputs, working_files(folder, besides))
    marked = _mark_class(folder, rules, marking, besides)
    num_reports = _deliver_class(marked, csv, to, form)
    footer = " ".join(text for text in (_scaling(marked), _written(num_reports, to, csv)) if text)
    _show_class(marked, footer, folder, [*besides, to])
    return marked.exit_code


def _inputs(marking: MarkingOptions, rules: "Scheme") -> list[Path]:
    """Return the files that are read besides the workings: the mark scheme and the problem."""
    others = (marking.scheme, marking.problem, rules.problem)
    return [Path(str(other)) for other in others if isinstance(other, str | Path)]


def _named_file(working: str, output: Path) -> list[Path]:
    """Return the output if the working mentions it and is in the same folder: it can be the problem of the working."""
    path, target = Path(working), output.resolve()
    if working == "-" or not path.is_file() or path.resolve().parent != target.parent:
        return []
    with path.open("rb") as file:
        return [target] if target.name.encode() in file.read(_MAX_MENTIONS) else []


def _check_outputs(
    csv: Path | None, to: Path, form: ReportFormat, inputs: "Sequence[Path]", workings: "Sequence[Path]"
) -> None:
    """Raise an error if the grades or a report would overwrite a working, the mark scheme or the problem."""
    from clearhead.files.destination import Output, check_outputs, check_standard_output

    check_standard_output([*inputs, *workings])
    outputs = [] if csv is None else [Output(csv, "csv")]
    if to.is_dir():
        outputs += [Output(_report_path(to, working, form), "reports") for working in workings]
    check_outputs(outputs, [*inputs, *workings])


def _report_path(to: Path, working: Path, form: ReportFormat) -> Path:
    return to / f"{working.name}{_SUFFIX[form]}"


def _scaling(marked: "ClassReport") -> str:
    """State that the scheme scales the marks, because the marks of the lines in the grades are not scaled."""
    totals = {(report.unscaled[1], report.out_of) for report in marked.reports if report.unscaled is not None}
    if len(totals) == 1:
        return "The marks are scaled from {:g} to {:g}.".format(*totals.pop())
    return "The marks are scaled." if totals else ""


def _written(num_reports: int, to: Path, csv: Path | None) -> str:
    """State where the reports and the grades were written."""
    if not num_reports:
        return "No report was written, because no file could be used." + (f" Wrote the grades to {csv}." if csv else "")
    reports = "1 report" if num_reports == 1 else f"{num_reports} reports"
    return f"Wrote {reports} to {to}{os.sep}" + (f" and the grades to {csv}." if csv else ".")


def _check_one(working: str, marking: MarkingOptions, report: ReportOptions) -> int:
    """Mark one working, and return the exit code."""
    rules, output = marking.rules(), report.output
    if report.csv is not None or report.reports is not None:
        raise ProblemError(f"--csv and --reports are for a folder of workings, and {working} is not a folder.")
    from clearhead.check import check as mark
    from clearhead.files.destination import Output, check_outputs, check_standard_output

    inputs: list[str | Path] = [working, *_inputs(marking, rules)]
    if output is not None:
        check_outputs([Output(output)], [*inputs, *_named_file(working, output)])
    else:
        check_standard_output(inputs)

    problem = marking.problem if marking.problem is not None else rules.problem
    reports = mark(working, problem, rules, marking.max_seconds)
    _deliver(reports, report.chosen_form or ReportFormat.terminal, output)
    codes = {marked_report.exit_code for marked_report in reports}
    return 1 if 1 in codes else max(codes)


def _scheme(path: Path | None, is_strict: bool) -> "Scheme":
    from clearhead.check import Scheme

    rules = Scheme()
    if path is not None:
        from clearhead.check.scheme_file import load_scheme

        rules = load_scheme(path)
    return rules.model_copy(update={"strict_rounding": True}) if is_strict else rules


def _deliver(reports: "Sequence[Report]", form: ReportFormat, output: Path | None) -> None:
    if form is ReportFormat.terminal and output is None:
        from rich.console import Console

        from clearhead.check.render.terminal import show

        console = Console(highlight=False)
        with console.capture() as shown:
            for report in reports:
                show(report, console)
        typer.echo(shown.get(), nl=False, color=True)
        return
    content = _content(reports, form)
    if output is not None:
        from clearhead.files.writing import write_file

        write_file(output, content)
        return
    import sys

    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _content(reports: "Sequence[Report]", form: ReportFormat) -> bytes:
    if form is ReportFormat.json:
        inner = [report.to_json() for report in reports]
        return (inner[0] if len(inner) == 1 else b"[" + b",".join(inner) + b"]") + b"\n"
    if form is ReportFormat.markdown:
        return "\n".join(report.to_markdown() for report in reports).encode()
    if form is ReportFormat.html:
        from clearhead.check.render.html import to_html

        return to_html(reports).encode()
    from io import StringIO

    from rich.console import Console

    from clearhead.check.render.terminal import show

    text = StringIO()
    for report in reports:
        show(report, Console(file=text, highlight=False, width=120))
    return text.getvalue().encode()


def _check_targets(folder: Path, csv: Path | None, to: Path, form: ReportFormat) -> None:
    """Raise an error, before anything is marked, if an output cannot be written or would replace a working."""
    from clearhead.check.classroom import GRADES, SUFFIXES

    if csv is not None and (csv.is_dir() or not csv.parent.is_dir()):
        raise ProblemError(f"--csv {csv} cannot be written: it is a folder, or its folder does not exist.")
    if csv is not None and csv.is_file() and csv.resolve().parent == folder.resolve():
        with csv.open("rb") as file:
            start = file.read(100)
        if not start.startswith(",".join(GRADES).encode()):
            raise ProblemError(
                f"--csv {csv} is in the folder of the workings and contains no grades. Choose another name."
            )
    if to.exists() and not to.is_dir():
        raise ProblemError(f"--reports {to} is not a folder. Choose another name.")
    if to.resolve() == folder.resolve() and _SUFFIX[form] in SUFFIXES:
        raise ProblemError(f"--reports {to} is the folder of the workings. Choose another folder for the reports.")


def _mark_class(folder: Path, rules: "Scheme", marking: MarkingOptions, besides: "Sequence[Path]") -> "ClassReport":
    from rich.console import Console
    from rich.progress import Progress

    from clearhead.check.classroom import mark_class, working_files

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("marking", total=len(working_files(folder, besides)))
        return mark_class(folder, rules, marking.problem, lambda path: bar.advance(task), besides, marking.max_seconds)


def _deliver_class(marked: "ClassReport", csv: Path | None, to: Path, form: ReportFormat) -> int:
    """Write the reports and the grades, and return the number of reports."""
    from clearhead.check.classroom import grades_csv, unusable_json
    from clearhead.files.writing import write_file

    results = [result for result in marked.results if result.reports or form is ReportFormat.json]
    try:
        if results:
            to.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise ProblemError(f"{to} cannot be created: {wrong.strerror}.") from None
    for result in results:
        content = _content(result.reports, form) if result.reports else unusable_json(result)
        write_file(_report_path(to, result.path, form), content)
    if csv is not None:
        write_file(csv, grades_csv(marked).encode())
    return len(results)


def _show_class(marked: "ClassReport", footer: str, folder: Path, besides: "Sequence[Path]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from clearhead.check.classroom import entries_left_out, other_files
    from clearhead.errors import printable

    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False)
    for heading in ("student", "marks", "errors", "remark"):
        table.add_column(heading, justify="right" if heading in ("marks", "errors") else "left")
    for result in marked.results:
        marks = f"{result.earned:g} / {result.out_of:g}" if result.reports else "—"
        errors = str(result.num_errors) if result.reports else "—"
        remark = "\n".join(printable(line) for line in result.remark.split("\n"))
        table.add_row(Text(printable(result.student)), marks, errors, Text(remark))
    with console.capture() as shown:
        console.print(table)
        for heading, lines in (
            ("Most common errors", [f"{len(slip.students)} × {slip.what}" for slip in marked.slips[:10]]),
            (
                "Nearly the same wrong numbers",
                [
                    f"{a.first} and {a.second} share {a.num_shared} of {a.num_wrong} numbers that differ from the "
                    "solution"
                    for a in marked.alike
                ],
            ),
            (
                "Not marked, because the file type is not supported",
                [path.name for path in other_files(folder, besides)],
            ),
            (
                "Not marked, because it is not a file",
                [path.name for path in entries_left_out(folder, besides)],
            ),
        ):
            if lines:
                console.print(f"\n{heading}")
                for line in lines:
                    console.print(Text("  " + printable(line)))
        console.print(Text(f"\n{footer}"), soft_wrap=True)
    typer.echo(shown.get(), nl=False, color=True)


def _list(as_json: bool) -> None:
    from clearhead.check.read.reading import shipped_workings
    from clearhead.worksheet.reading import read_data

    titles = {name: str(read_data(path.read_bytes()).get("title", "")) for name, path in shipped_workings().items()}
    if as_json:
        import json

        typer.echo(json.dumps([{"id": name, "title": title} for name, title in titles.items()], ensure_ascii=False))
        return
    for name, title in titles.items():
        typer.echo(f"{name:34}{title}")
