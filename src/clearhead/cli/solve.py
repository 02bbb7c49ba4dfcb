"""`clearhead solve`: solve an exercise and show every step."""

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.option_groups import with_option_groups
from clearhead.cli.output import deliver, drawing, print_drawing, print_json
from clearhead.errors import ProblemError
from clearhead.files.output_format import format_of_file

if TYPE_CHECKING:
    from clearhead.worksheet import Rounding, Worksheet


class Detail(StrEnum):
    """The level of detail of a worksheet."""

    results = "results"
    matrices = "matrices"
    products = "products"


class SheetFormat(StrEnum):
    """The output format."""

    terminal = "terminal"
    markdown = "markdown"
    html = "html"
    latex = "latex"
    latex_fragment = "latex-fragment"
    json = "json"
    csv = "csv"
    xlsx = "xlsx"
    notebook = "notebook"


class Ties(StrEnum):
    """How to round a number that is exactly halfway."""

    up = "half-up"
    even = "half-even"


@dataclass(frozen=True)
class SheetOptions:
    """What a sheet shows, its format, and the file it is written to."""

    detail: Annotated[
        Detail, typer.Option(help="Show only the results, every matrix, or also the calculation of every cell.")
    ] = Detail.matrices
    form: Annotated[
        SheetFormat | None,
        typer.Option(
            "--format",
            help="Output format. \\[default: from the suffix of the --output file (.html, .md, .tex, .json, .txt, "
            ".csv, .xlsx, .ipynb); terminal without one]",
        ),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format json: every value with all its digits.")] = (
        False
    )
    blank: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave cells blank for the reader to fill in: A, 'A\\[2, *]' (a row), 'A\\[go, 1]' (a cell). "
            "Can be repeated."
        ),
    ] = None
    picture: Annotated[
        str | None,
        typer.Option(
            help="Draw only one matrix, as an SVG picture: A, or 'cross*:A' if several matrices have that symbol."
        ),
    ] = None
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file instead of standard output.")
    ] = None

    @property
    def explicit_form(self) -> SheetFormat | None:
        """The format given by --format or --json."""
        return SheetFormat.json if self.as_json else self.form

    @property
    def chosen_form(self) -> SheetFormat:
        """The format given by an option, or else by the suffix of the output file."""
        return format_of_file(self.output, SheetFormat, self.explicit_form, SheetFormat.terminal)

    def check(self) -> None:
        """Raise an error, before anything is solved, if the options contradict each other or the name of the output."""
        if self.picture is not None:
            if self.explicit_form not in (None, SheetFormat.terminal):
                raise ProblemError(
                    f"--picture draws an SVG, which contradicts --format {self.explicit_form}. Use only one of them."
                )
            format_of_file(self.output, ["svg"], default="svg")
        elif self.explicit_form is None and self.output is not None and self.output.suffix.lower() == ".svg":
            raise ProblemError(f"{self.output} is the name of a picture. Choose the matrix to draw with --picture.")
        elif self.chosen_form is SheetFormat.json and self.blank:
            raise ProblemError("--blank cannot be used with JSON, which contains every value. Choose another format.")


@dataclass(frozen=True)
class RoundingOptions:
    """Changes to the rounding of a problem; None keeps the problem's own setting."""

    decimals: Annotated[
        int | None, typer.Option(help="Number of decimals to show, or to round to with --round-lines.")
    ] = None
    significant: Annotated[int | None, typer.Option(help="Number of significant figures, instead of decimals.")] = None
    round_lines: Annotated[
        bool | None,
        typer.Option(
            "--round-lines/--exact",
            help="Round the result of every step and continue with the rounded numbers, or calculate in full precision "
            "and round only the numbers that are shown. \\[default: exact]",
        ),
    ] = None
    ties: Annotated[Ties | None, typer.Option(help="How to round ties such as 0.125. \\[default: half-up]")] = None

    def changed(self, policy: "Rounding") -> "Rounding":
        """Return the policy with the changes."""
        from clearhead.worksheet.rounding import with_changes

        lines = None if self.round_lines is None else ("rounded" if self.round_lines else "exact")
        return with_changes(policy, lines=lines, decimals=self.decimals, significant=self.significant, ties=self.ties)


@dataclass(frozen=True)
class TraceOptions:
    """A saved trace of a model to show instead of an exercise."""

    from_trace: Annotated[
        Path | None, typer.Option(help="Show a saved trace of a model (written by save_trace) instead of an exercise.")
    ] = None
    where: Annotated[
        str | None,
        typer.Option(
            help="With --from-trace: show only this part of the model, such as encoder.0.self_attention.head.2 "
            "(encoder layer 1, head 3: paths count from 0)."
        ),
    ] = None


@with_option_groups
def solve(
    *,
    problem: Annotated[
        str | None, typer.Argument(help="A problem file (YAML or JSON), a gallery id, or - for standard input.")
    ] = None,
    sheet: SheetOptions,
    rounding: RoundingOptions,
    trace: TraceOptions,
    list_gallery: Annotated[
        bool, typer.Option("--list", help="List the gallery: the exercises that come with clearhead.")
    ] = False,
    fields: Annotated[
        str | None, typer.Option(help="List the keys of one kind of problem file ('all' for every kind).")
    ] = None,
) -> None:
    """Solve an attention exercise step by step."""
    if list_gallery:
        _list_gallery(sheet.explicit_form is SheetFormat.json)
    elif fields is not None:
        from clearhead.worksheet.fields import describe_kinds

        typer.echo(describe_kinds(fields), nl=False)
    else:
        from clearhead.files.destination import Output, check_outputs, check_standard_output

        inputs = [name for name in (problem, trace.from_trace) if name is not None]
        if sheet.output is not None:
            check_outputs([Output(sheet.output)], inputs)
        else:
            check_standard_output(inputs)
        sheet.check()
        _show(_worksheet(problem, rounding, trace), sheet)


def _worksheet(problem: str | None, rounding: RoundingOptions, trace: TraceOptions) -> "Worksheet":
    """Solve the problem, or open the trace."""
    if trace.where is not None and trace.from_trace is None:
        raise ProblemError(f"--where {trace.where} selects a part of a trace. Give the trace with --from-trace FILE.")
    if trace.from_trace is not None:
        if problem is not None:
            raise ProblemError(
                f"{problem} is an exercise and --from-trace {trace.from_trace} is a trace. Give only one of them."
            )
        return _open_trace(trace.from_trace, trace.where, rounding)
    if problem is None:
        raise ProblemError(
            "solve needs an exercise: a problem file, a gallery id ('clearhead solve --list'), or - for standard input."
        )
    return _work(problem, rounding)


def _show(worksheet: "Worksheet", options: SheetOptions) -> None:
    blanks = options.blank or []
    if options.picture is not None:
        deliver(_picture(worksheet, options.picture, blanks), options.output)
        return
    form = options.chosen_form
    if form is SheetFormat.terminal and options.output is None:
        print_drawing(lambda console: worksheet.show(options.detail.value, console, blanks))
    else:
        deliver(_content(worksheet, form, options.detail, blanks), options.output)


def _work(problem: str, rounding: RoundingOptions) -> "Worksheet":
    from clearhead.worksheet import load_problem
    from clearhead.worksheet import solve as work
    from clearhead.worksheet.reading import gallery_id

    loaded = load_problem(problem)
    policy = rounding.changed(loaded.rounding)
    try:
        return replace(work(loaded, policy), id=gallery_id(problem))
    except ProblemError as wrong:
        raise wrong.located(problem) from None


def _open_trace(path: Path, where: str | None, rounding: RoundingOptions) -> "Worksheet":
    from clearhead.worksheet.part import load_sheet, part_of_sheet

    if rounding.round_lines:
        raise ProblemError(
            "--round-lines cannot be used with a trace: its numbers are already calculated. Remove --round-lines."
        )
    sheet = load_sheet(path)
    sheet = replace(sheet, rounding=rounding.changed(sheet.rounding))
    try:
        return sheet if where is None else part_of_sheet(sheet, where)
    except ProblemError as wrong:
        raise wrong.located(str(path)) from None


def _picture(sheet: "Worksheet", named: str, blanks: list[str]) -> bytes:
    where, _, symbol = named.rpartition(":")
    return sheet.picture(symbol.strip(), where or "*", blanks).encode()


def _content(sheet: "Worksheet", form: SheetFormat, detail: Detail, blanks: list[str]) -> bytes:
    if form is SheetFormat.json:
        return sheet.to_json() + b"\n"
    if form is SheetFormat.markdown:
        return sheet.to_markdown(detail.value, blanks).encode()
    if form is SheetFormat.html:
        return sheet.to_html(detail.value, blanks).encode()
    if form in (SheetFormat.latex, SheetFormat.latex_fragment):
        return sheet.to_latex(detail.value, blanks, fragment=form is SheetFormat.latex_fragment).encode()
    if form is SheetFormat.notebook:
        return sheet.to_notebook(detail.value, blanks)
    if form in (SheetFormat.csv, SheetFormat.xlsx):
        from clearhead.exercises.sheet.build import sheet_of
        from clearhead.exercises.sheet.tables import to_csv, to_xlsx
        from clearhead.worksheet.view import SheetView

        lines = sheet_of(SheetView(sheet, blanks))
        return to_csv(lines) if form is SheetFormat.csv else to_xlsx(lines)
    return drawing(lambda console: sheet.show(detail.value, console, blanks))


def _list_gallery(as_json: bool) -> None:
    from clearhead.worksheet.reading import gallery_titles

    titles = gallery_titles()
    if as_json:
        print_json([{"id": n, "kind": k, "title": t} for n, (k, t) in titles.items()])
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading, is_unbroken in (("id", True), ("kind", True), ("title", False)):
        table.add_column(heading, no_wrap=is_unbroken)
    for name, (kind, title) in titles.items():
        table.add_row(name, kind, title)
    Console(highlight=False).print(table)
