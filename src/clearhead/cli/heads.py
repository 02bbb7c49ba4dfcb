"""`clearhead heads`: what every attention head of a model looks at, and what it is worth."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.model_option import Device, ModelOption, translation_model
from clearhead.cli.option_groups import with_option_groups
from clearhead.errors import ClearheadError, ConfigError, not_installed

if TYPE_CHECKING:
    from clearhead.explain.head_report import HeadReport

_EXTRA = {"torch", "safetensors", "sentencepiece", "sacrebleu"}


class HeadForm(StrEnum):
    """The output format."""

    terminal = "terminal"
    markdown = "markdown"
    csv = "csv"
    json = "json"


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
class DirectionOptions:
    """The direction of a built-in model, or the target language of a model with several."""

    source_language: Annotated[
        str | None, typer.Option("--from", help="Source language, to choose a built-in model. \\[default: en]")
    ] = None
    language: Annotated[
        str | None,
        typer.Option("--to", help="Target language: of a built-in model, or for a model with several. \\[default: es]"),
    ] = None


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
    device: Annotated[Device, typer.Option(help="Device to run on.")] = Device.auto,
    form: Annotated[HeadForm, typer.Option("--format", help="The output format.")] = HeadForm.terminal,
    as_json: Annotated[
        bool, typer.Option("--json", help="Same as --format json: every value in full precision.")
    ] = False,
) -> None:
    """Measure every attention head of a model: what it looks at, its importance, and the loss without it."""
    try:
        from clearhead.cli.progress_bar import progress_bar
        from clearhead.decoding.search.settings import SearchSettings
        from clearhead.explain.head_measurement import HeadRequest, report_heads

        chosen = translation_model(model, files, direction.source_language, direction.language)
        if files.count("-") > 1:
            raise ConfigError("standard input can only be read once. Give a file for one of them.")
        search = SearchSettings(beam=measure.beam)
        request = HeadRequest(measure.gold_links, measure.lines, measure.bleu, search, chosen.language)
        with progress_bar() as progress:
            report = report_heads(chosen.path, files, request, device=device.value, progress=progress)
    except ModuleNotFoundError as missing:
        if missing.name in _EXTRA:
            raise ClearheadError(not_installed("heads", missing.name, "translate")) from None
        raise
    _show(report, HeadForm.json if as_json else form)


def _show(report: "HeadReport", form: HeadForm) -> None:
    from clearhead.explain.head_tables import head_table, to_csv

    if form is HeadForm.json:
        import json

        typer.echo(json.dumps(report.to_dict(), ensure_ascii=False))
    elif form is HeadForm.csv:
        typer.echo(to_csv(report), nl=False)
    elif form is HeadForm.markdown:
        from clearhead.evaluation.tables import to_markdown

        typer.echo(to_markdown([head_table(report)]), nl=False)
    else:
        from clearhead.cli.evaluation_output import draw

        draw([head_table(report)])
