"""`clearhead check`: mark one working line by line, or all workings of a class."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.option_groups import with_option_groups
from clearhead.cli.output import deliver, drawing, print_drawing, print_json
from clearhead.errors import ProblemError
from clearhead.files.output_format import format_of_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from clearhead.check import Report, Scheme
    from clearhead.exercises.check.read.sheet_number import SheetLookup


class ReportFormat(StrEnum):
    """The format of the report."""

    terminal = "terminal"
    markdown = "markdown"
    html = "html"
    json = "json"


_LEAST_SECONDS, _MOST_SECONDS = 0.1, 86400  # of --time-limit
_MAX_MENTIONS = 2**25  # bytes of a working that are searched for the name of its problem
SUFFIX_OF_FORMAT = {
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
    keys: Annotated[
        Path | None,
        typer.Option(help="A folder of key files (NUMBER.key.json), for practice sheets that were drawn from a trace."),
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

    def lookup(self) -> "SheetLookup":
        """Return the function that finds a practice sheet by the number in a working."""
        from clearhead.quiz.lookup import sheet_lookup

        return sheet_lookup(self.keys)

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
            help="Report format. \\[default: from the suffix of the --output file (.html, .md, .json, .txt); terminal "
            "without one, html for a folder]",
        ),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format json: all verdicts.")] = False
    csv: Annotated[Path | None, typer.Option(help="For a folder: write the grades to this file.")] = None
    xlsx: Annotated[
        Path | None, typer.Option(help="For a folder: write the grades to this file, as a spreadsheet.")
    ] = None
    reports: Annotated[
        Path | None,
        typer.Option(
            help="For a folder: write the reports and the pages of the class to this folder. \\[default: a folder "
            "'reports' next to the grades file]"
        ),
    ] = None
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report to this file instead of standard output.")
    ] = None

    @property
    def explicit_form(self) -> ReportFormat | None:
        """The format given by --format or --json."""
        return ReportFormat.json if self.as_json else self.form


@with_option_groups
def check(
    *,
    working: Annotated[
        str | None,
        typer.Argument(
            help="A working, that is, a student's written calculation (YAML, JSON, CSV, xlsx, Markdown, LaTeX, text, "
            "HTML or a notebook), the name of a built-in example, - for standard input, or a folder of workings."
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
        if is_folder:
            from clearhead.cli.check_class import check_class

            return check_class(Path(working), marking, report)
        return _check_one(working, marking, report)
    except SchemeLineError as wrong:
        raise wrong.located(str(marking.scheme or "scheme")) from None


def input_files(marking: MarkingOptions, rules: "Scheme") -> list[Path]:
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


def _check_one(working: str, marking: MarkingOptions, report: ReportOptions) -> int:
    """Mark one working, and return the exit code."""
    rules, output = marking.rules(), report.output
    if report.csv is not None or report.xlsx is not None or report.reports is not None:
        raise ProblemError(f"--csv, --xlsx and --reports are for a folder of workings, and {working} is not a folder.")
    from clearhead.check import check as mark
    from clearhead.files.destination import Output, check_outputs, check_standard_output

    inputs: list[str | Path] = [working, *input_files(marking, rules)]
    if output is not None:
        check_outputs([Output(output)], [*inputs, *_named_file(working, output)])
    else:
        check_standard_output(inputs)
    form = format_of_file(output, ReportFormat, report.explicit_form, ReportFormat.terminal)

    reports = mark(working, marking.problem, rules, marking.max_seconds, marking.lookup())
    _deliver(reports, form, output)
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
        print_drawing(lambda console: _draw(reports, console))
    else:
        deliver(content_of(reports, form), output)


def _draw(reports: "Sequence[Report]", console: "Console") -> None:
    from clearhead.check.render.terminal import show

    for report in reports:
        show(report, console)


def content_of(reports: "Sequence[Report]", form: ReportFormat) -> bytes:
    """Return the content of a file with some reports."""
    if form is ReportFormat.json:
        inner = [report.to_json() for report in reports]
        return (inner[0] if len(inner) == 1 else b"[" + b",".join(inner) + b"]") + b"\n"
    if form is ReportFormat.markdown:
        return "\n".join(report.to_markdown() for report in reports).encode()
    if form is ReportFormat.html:
        from clearhead.check.render.html import to_html

        return to_html(reports).encode()
    return drawing(lambda console: _draw(reports, console))


def _list(as_json: bool) -> None:
    from clearhead.exercises.check.read.workings import shipped_workings
    from clearhead.worksheet.reading import read_data

    titles = {name: str(read_data(path.read_bytes()).get("title", "")) for name, path in shipped_workings().items()}
    if as_json:
        print_json([{"id": name, "title": title} for name, title in titles.items()])
        return
    for name, title in titles.items():
        typer.echo(f"{name:34}{title}")
