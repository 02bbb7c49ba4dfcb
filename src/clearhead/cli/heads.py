"""`clearhead heads`: what every attention head of a model looks at, and what it is worth."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.model_option import (
    Device,
    DeviceOption,
    ModelChoice,
    ModelOption,
    SourceLanguage,
    TargetLanguage,
    translation_model,
)
from clearhead.cli.option_groups import with_option_groups
from clearhead.errors import ConfigError
from clearhead.files.output_format import format_of_file

if TYPE_CHECKING:
    from clearhead.explain.head_report import HeadReport
    from clearhead.formats.model_folder import ModelFolder

_FORMATS = ("html", "json", "csv", "markdown")  # of --output


class HeadForm(StrEnum):
    """The output format."""

    terminal = "terminal"
    markdown = "markdown"
    csv = "csv"
    json = "json"


class HeadColumn(StrEnum):
    """The column that a table is sorted by."""

    head = "head"
    kind = "kind"
    confidence = "confidence"
    offset = "offset"
    first = "first"
    end = "end"
    aer = "aer"
    importance = "importance"
    loss = "loss"
    alone = "alone"
    bleu = "bleu"


@dataclass(frozen=True)
class MeasureOptions:
    """What is measured."""

    gold_links: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Gold links between words, one line per sentence. Without it, links are counted."
        ),
    ] = None
    lines: Annotated[int | None, typer.Option(min=1, help="Use only this many lines of the files.")] = None
    bleu: Annotated[
        bool, typer.Option("--bleu", help="Also translate the sentences without each head, which takes longer.")
    ] = False
    beam: Annotated[int, typer.Option(min=1, max=4096, help="Beam size for --bleu; 1 is greedy search.")] = 1


@dataclass(frozen=True)
class TableOptions:
    """How the heads are shown."""

    form: Annotated[HeadForm, typer.Option("--format", help="The output format.")] = HeadForm.terminal
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format json: every value in full precision.")] = (
        False
    )
    sort: Annotated[
        HeadColumn,
        typer.Option(
            metavar="COLUMN",
            help="Sort by kind, confidence, offset, first, end, aer, importance, loss, alone or bleu, the largest "
            "value first (aer, alone and bleu: the smallest). A page has all heads and can be sorted itself.",
        ),
    ] = HeadColumn.head
    top: Annotated[int | None, typer.Option(min=1, help="Show only the first heads of the table.")] = None

    def format_of(self, output: Path) -> str:
        """Return the format of the output file."""
        chosen = None if self.form is HeadForm.terminal else self.form.value
        return format_of_file(output, _FORMATS, chosen, "html")


@dataclass(frozen=True)
class DirectionOptions:
    """The direction of a built-in model, or the target language of a model with several."""

    source_language: SourceLanguage = None
    language: TargetLanguage = None


@with_option_groups
def heads(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Two files: sentences, one per line, and their translations. For a language model, give one file."
        ),
    ],
    model: ModelOption = None,
    *,
    direction: DirectionOptions,
    measure: MeasureOptions,
    device: DeviceOption = Device.auto,
    table: TableOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write a page to explore in a browser (.html), JSON (.json), CSV (.csv) or Markdown (.md).",
        ),
    ] = None,
) -> None:
    """Measure every attention head of a model: what it looks at, its importance, and the loss without it."""
    if table.sort is HeadColumn.bleu and not measure.bleu:
        raise ConfigError("--sort bleu needs a measurement of BLEU. Add --bleu.")
    from clearhead.explain.checks import check_test_set, checked_config

    _check_output(output, files, table)
    chosen = translation_model(model, files, direction.source_language, direction.language)
    check_test_set(files, has_source=checked_config(chosen.path, "heads").shape == "encoder-decoder")
    _check_output(output, files, table, chosen.path)
    report = _measure(chosen, files, measure, device)
    if output is not None:
        _write(report, output, chosen.path, table)
    if output is None or table.as_json:
        _show(report, table)


def _measure(chosen: ModelChoice, files: list[str], measure: MeasureOptions, device: Device) -> "HeadReport":
    from clearhead.cli.progress_bar import progress_bar
    from clearhead.decoding.search.settings import SearchSettings
    from clearhead.explain.head_measurement import HeadRequest, report_heads

    search = SearchSettings(beam=measure.beam)
    request = HeadRequest(measure.gold_links, measure.lines, measure.bleu, search, chosen.language)
    with progress_bar() as progress:
        return report_heads(chosen.path, files, request, device=device.value, progress=progress)


def _check_output(
    output: Path | None, files: list[str], table: TableOptions, model: "Path | ModelFolder | None" = None
) -> None:
    """Raise an error if the output has another format, cannot be written, or belongs to the input or the model."""
    from clearhead.files.destination import Output, check_outputs
    from clearhead.formats.model_files import model_files
    from clearhead.formats.model_folder import find_model

    if output is None:
        return
    table.format_of(output)
    check_outputs([Output(output)], files, model_files=() if model is None else model_files(find_model(model)))


def _write(report: "HeadReport", output: Path, model: "Path | ModelFolder", table: TableOptions) -> None:
    """Write the file that was requested."""
    from clearhead.explain.page.heads_page import heads_page
    from clearhead.files.writing import write_file
    from clearhead.formats.model_folder import find_model

    form = table.format_of(output)
    if form == "html":
        text = heads_page(report, find_model(model).vocabularies.absolute().name)
    else:
        text = _text(report, HeadForm(form), table)
    write_file(output, text.encode())


def _show(report: "HeadReport", table: TableOptions) -> None:
    form = HeadForm.json if table.as_json else table.form
    if form is not HeadForm.terminal:
        typer.echo(_text(report, form, table), nl=False)
        return
    from clearhead.cli.evaluation_output import draw
    from clearhead.explain.head_tables import head_table, sorted_rows

    draw([head_table(report, sorted_rows(report, table.sort.value, table.top))])


def _text(report: "HeadReport", form: HeadForm, table: TableOptions) -> str:
    """Return the chosen rows as CSV, JSON or Markdown."""
    import json

    from clearhead.evaluation.tables import to_markdown
    from clearhead.explain.head_tables import head_table, sorted_rows, to_csv

    rows = sorted_rows(report, table.sort.value, table.top)
    if form is HeadForm.csv:
        return to_csv(rows)
    if form is HeadForm.markdown:
        return to_markdown([head_table(report, rows)])
    return json.dumps({**report.to_dict(), "heads": [row.to_dict() for row in rows]}, ensure_ascii=False) + "\n"
