"""`clearhead quiz`: practice sheets with keys and mark schemes."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.option_groups import with_option_groups
from clearhead.cli.output import deliver, print_json
from clearhead.errors import QuizError
from clearhead.files.output_format import format_of_file

if TYPE_CHECKING:
    from clearhead.quiz.request import QuizRequest
    from clearhead.quiz.sheet import QuizSheet


class DecimalSign(StrEnum):
    """The decimal sign of the numbers on a sheet."""

    point = "point"
    comma = "comma"


class QuizForm(StrEnum):
    """The form of a sheet."""

    markdown = "markdown"
    latex = "latex"
    html = "html"
    json = "json"
    notebook = "notebook"
    moodle = "moodle"


class Blanks(StrEnum):
    """The cells to fill in."""

    all = "all"
    row = "row"
    hard = "hard"


@dataclass(frozen=True)
class DrawOptions:
    """Which sheets are drawn; None keeps the default."""

    difficulty: Annotated[
        int | None,
        typer.Option(
            help="1: integers, one step; 2: one-decimal numbers, the whole layer; 3: several heads, masks, norms or a "
            "block, every line rounded. \\[default: 1]"
        ),
    ] = None
    count: Annotated[
        int | None, typer.Option(help="Number of different sheets; several need a folder (--output). \\[default: 1]")
    ] = None
    seed: Annotated[int | None, typer.Option(help="Another seed gives other sheets. \\[default: 0]")] = None
    blanks: Annotated[
        Blanks | None,
        typer.Option(
            help="The cells to fill in: all, one row of every line, or only the hard lines (softmax, norms, "
            "activations, positions and outputs). \\[default: all]"
        ),
    ] = None
    decimals: Annotated[
        int | None,
        typer.Option(help="Number of decimals to round to. \\[default: 2; 3 for difficulty 2]"),
    ] = None

    @property
    def names(self) -> list[str]:
        """The options that were given."""
        values = {"difficulty": self.difficulty, "count": self.count, "seed": self.seed, "blanks": self.blanks}
        return [f"--{name}" for name, value in {**values, "decimals": self.decimals}.items() if value is not None]


@dataclass(frozen=True)
class FormOptions:
    """The form of the sheets, and where they are written."""

    form: Annotated[
        QuizForm | None,
        typer.Option(
            "--format",
            help="Form of a sheet; html is a page to work in, moodle is a file for that course platform. "
            "\\[default: from the suffix of the --output file (.md, .tex, .html, .json, .ipynb, .xml); "
            "markdown without one]",
        ),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format json.")] = False
    solutions: Annotated[
        bool, typer.Option("--solutions", help="Write the key instead of the sheet. (A folder always has both.)")
    ] = False
    decimal: Annotated[DecimalSign, typer.Option(help="Decimal point or decimal comma.")] = DecimalSign.point
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write to this file, or to this folder: sheets, keys, mark schemes and an index."
        ),
    ] = None

    @property
    def chosen(self) -> QuizForm:
        """The form given by an option, or else by the suffix of the output file."""
        explicit = QuizForm.json if self.as_json else self.form
        return format_of_file(None if self.is_folder else self.output, QuizForm, explicit, QuizForm.markdown)

    @property
    def is_folder(self) -> bool:
        """Whether the output is a folder."""
        if self.output is None or str(self.output) == "-":
            return False
        is_stream = self.output.exists() and not self.output.is_file() and not self.output.is_dir()
        return self.output.is_dir() or not (self.output.suffix or is_stream)


@dataclass(frozen=True)
class SourceOptions:
    """A sheet that exists already, or a trace to make one from."""

    number: Annotated[
        str | None, typer.Option(help="Write the sheet with this number again, or with --solutions its key.")
    ] = None
    keys: Annotated[
        Path | None,
        typer.Option(help="With the --number of a sheet from a trace: the folder of its key file. \\[default: .]"),
    ] = None
    from_trace: Annotated[
        Path | None,
        typer.Option(help="Make a sheet from one head of a trained model: a trace written by save_trace."),
    ] = None
    where: Annotated[
        str | None, typer.Option(help="With --from-trace: the head, such as encoder.0.self_attention.head.2.")
    ] = None


@with_option_groups
def quiz(
    *,
    kind: Annotated[str | None, typer.Argument(help="A kind of exercise, such as self-attention (see --list).")] = None,
    draw: DrawOptions,
    form: FormOptions,
    source: SourceOptions,
    list_kinds: Annotated[bool, typer.Option("--list", help="List the kinds of exercises.")] = False,
) -> None:
    """Draw practice sheets with tidy numbers, their keys and mark schemes."""
    if list_kinds:
        _list_kinds(form.as_json)
        return
    chosen = form.chosen  # an error about the name of the output comes before any work
    if source.number is not None or source.from_trace is not None:
        _write([_existing(kind, draw, source)], form, source)
    elif kind is None:
        raise QuizError("quiz needs a kind of exercise, such as self-attention. 'clearhead quiz --list' lists them.")
    elif source.where is not None or source.keys is not None:
        option = "--where" if source.where is not None else "--keys"
        raise QuizError(f"{option} is only for a sheet from a trace. Give it with --from-trace or --number.")
    elif chosen is QuizForm.moodle:
        _write_course(_request(kind, draw), 1 if draw.count is None else draw.count, form)
    else:
        _write(_drawn(_request(kind, draw), draw, form), form, source)


def _request(kind: str, draw: DrawOptions) -> "QuizRequest":
    from clearhead.quiz.request import QuizRequest, check_request

    request = QuizRequest(
        kind,
        1 if draw.difficulty is None else draw.difficulty,
        0 if draw.seed is None else draw.seed,
        1,
        "all" if draw.blanks is None else draw.blanks.value,
        draw.decimals,
    )
    check_request(request)
    return request


def _drawn(request: "QuizRequest", draw: DrawOptions, form: FormOptions) -> "list[QuizSheet]":
    from clearhead.cli.progress_bar import progress_bar
    from clearhead.quiz.draw import draw_sheets

    count = 1 if draw.count is None else draw.count
    if count > 1 and not form.is_folder:
        fact = "" if form.output is None else f", and {form.output} is the name of a file"
        raise QuizError(f"{count} sheets need a folder{fact}. Give the name of a folder.", options=("output",))
    if form.is_folder:
        from clearhead.quiz.folder import check_folder

        assert form.output is not None
        check_folder(form.output)
    with progress_bar("drawing sheets"):
        return draw_sheets(request, count)


def _existing(kind: str | None, draw: DrawOptions, source: SourceOptions) -> "QuizSheet":
    """Return the sheet of a number or a trace, which have all the settings of a sheet."""
    option = "--number" if source.number is not None else "--from-trace"
    allowed = ("--decimals", "--blanks") if source.from_trace is not None else ()
    others = [name for name in ([kind] if kind else []) + draw.names if name not in allowed]
    if source.number is not None and source.from_trace is not None:
        others.append("--from-trace")
    if others:
        raise QuizError(f"{option} says which sheet it is, so {', '.join(others)} cannot be given as well. Remove it.")
    if source.number is not None:
        return _numbered(source.number, source.keys)
    from clearhead.quiz.from_trace import sheet_from_trace

    assert source.from_trace is not None
    if source.where is None:
        raise QuizError("--from-trace needs the path of a head.", options=("where",))
    decimals = 2 if draw.decimals is None else draw.decimals
    blanks = "all" if draw.blanks is None else draw.blanks.value
    return sheet_from_trace(source.from_trace, source.where, decimals, blanks)


def _numbered(number: str, keys: Path | None) -> "QuizSheet":
    from clearhead.quiz.forms.key import load_numbered_key
    from clearhead.quiz.number import is_trace_number

    if is_trace_number(number):
        return load_numbered_key(number, keys or Path())
    from clearhead.quiz.draw import sheet_of_number

    return sheet_of_number(number)


def _write(sheets: "list[QuizSheet]", form: FormOptions, source: SourceOptions) -> None:
    from clearhead.quiz.forms import write_form

    if form.chosen is QuizForm.moodle:
        raise QuizError(f"--format {form.chosen} needs sheets that are drawn. Give a kind of exercise instead.")
    if form.is_folder:
        from clearhead.quiz.folder import sheet_files, write_sheets

        assert form.output is not None
        write_sheets(form.output, sheet_files(sheets, form.chosen.value, form.decimal.value))
        typer.echo(f"{form.output}: {len(sheets)} sheet{'s' * (len(sheets) != 1)}, keys and an index", err=True)
        return
    sheet = sheets[0]
    content = write_form(sheet, form.chosen.value, is_key=form.solutions, decimal=form.decimal.value)
    if source.from_trace is not None:
        if form.output is None:
            raise QuizError(
                "a sheet from a trace keeps a key file beside it. Give a file or a folder.", options=("output",)
            )
        from clearhead.quiz.forms.key import KEY_SUFFIX

        _deliver(write_form(sheet, "json", is_key=True), form.output.with_name(f"{sheet.number}{KEY_SUFFIX}"))
    _deliver(content, form.output)


def _write_course(request: "QuizRequest", count: int, form: FormOptions) -> None:
    """Write one file for Moodle, with all sheets and their answers."""
    from clearhead.cli.progress_bar import progress_bar
    from clearhead.quiz.course.choice import choose_course_sheets
    from clearhead.quiz.course.moodle import to_moodle
    from clearhead.quiz.course.slips import course_summary

    if form.is_folder:
        raise QuizError(f"--format {form.chosen} writes one file with all sheets. Give its name.", options=("output",))
    with progress_bar("choosing sheets"):
        sheets = choose_course_sheets(request, count)
    content = to_moodle(sheets, has_decimal_comma=form.decimal is DecimalSign.comma)
    _deliver(content.encode("utf-8"), form.output)
    typer.echo(course_summary(sheets), err=True)


def _deliver(content: bytes, output: Path | None) -> None:
    from clearhead.files.destination import Output, check_outputs, check_standard_output

    if output is not None:
        check_outputs([Output(output)])
    else:
        check_standard_output([])
    deliver(content, output)


def _list_kinds(as_json: bool) -> None:
    from clearhead.quiz.kinds import describe_kind, kinds_with_generator

    kinds = kinds_with_generator()
    if as_json:
        entries = [{"kind": kind, "difficulties": describe_kind(kind)} for kind in kinds]
        print_json(entries)
        return
    for kind in kinds:
        typer.echo(kind)
        for difficulty, sentence in enumerate(describe_kind(kind), 1):
            typer.echo(f"  {difficulty}: {sentence}")
