"""`clearhead prune`: remove attention heads from a model, or measure how many it needs."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.heads import HeadForm
from clearhead.cli.model_option import Device, DeviceOption, ModelOption, chosen_model
from clearhead.cli.option_groups import with_option_groups
from clearhead.cli.output import print_json
from clearhead.errors import ConfigError, printable

if TYPE_CHECKING:
    from clearhead.explain.pruning import PruningReport, PruningRow


class PrunedPart(StrEnum):
    """The attention that heads are removed from."""

    all = "all"
    encoder = "encoder"
    decoder = "decoder"
    cross = "cross"


@dataclass(frozen=True)
class RemovalOptions:
    """Which heads are removed."""

    keep: Annotated[
        float | None, typer.Option(help="Share of the heads to keep, such as 0.5: the most important ones.")
    ] = None
    part: Annotated[PrunedPart, typer.Option(help="The attention that heads are removed from.")] = PrunedPart.all
    remove: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HEAD",
            help="Remove this head: encoder.2.*.head.5, counted from 0; * matches anything. Can be repeated.",
        ),
    ] = None
    sweep: Annotated[
        bool,
        typer.Option(
            "--sweep", help="Write no model: measure all numbers of heads down to none, for each kind of attention."
        ),
    ] = False
    steps: Annotated[int, typer.Option(min=1, help="Number of steps; importance is measured again in each.")] = 8


@dataclass(frozen=True)
class MeasuringOptions:
    """How models are measured."""

    lines: Annotated[int | None, typer.Option(min=1, help="Use only this many lines of the text.")] = None
    beam: Annotated[int, typer.Option(min=1, max=4096, help="Beam size for BLEU; 1 is greedy search.")] = 1
    bleu: Annotated[bool, typer.Option("--bleu/--no-bleu", help="Translate the text after every step.")] = True


@dataclass(frozen=True)
class PrunedOutputOptions:
    """What is written."""

    output: Annotated[Path | None, typer.Option("--output", "-o", help="New folder for the smaller model.")] = None
    fine_tune: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="UPDATES",
            help="Then train the smaller model for this many updates, in the run OUTPUT-tuned.",
        ),
    ] = None
    form: Annotated[HeadForm, typer.Option("--format", help="The output format.")] = HeadForm.terminal
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format json.")] = False


@with_option_groups
def prune(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE TARGET]",
            help="Sentences, one per line, and their translations. Default: the validation text of the run.",
        ),
    ] = None,
    model: ModelOption = None,
    *,
    removal: RemovalOptions,
    measuring: MeasuringOptions,
    result: PrunedOutputOptions,
    device: DeviceOption = Device.auto,
) -> None:
    """Remove attention heads from a model, least important first, and write the smaller model to a new folder."""
    _check_options(removal, result)
    folder = chosen_model(model, files or [])
    from clearhead.explain.checks import check_pruning

    check_pruning(folder, files or [], removal.remove or (), result.output)
    report = _run(folder, files or [], removal, measuring, result, device.value)
    _show(report, HeadForm.json if result.as_json else result.form)


def _check_options(removal: RemovalOptions, result: PrunedOutputOptions) -> None:
    """Raise ConfigError before anything is loaded if the options contradict each other."""
    choices = [removal.keep is not None, bool(removal.remove), removal.sweep]
    if not any(choices):
        raise ConfigError("say what to remove: give one of --keep SHARE, --remove HEAD or --sweep.")
    if sum(choices) > 1:
        names = ("--keep", "--remove", "--sweep")
        both = " and ".join(name for name, is_chosen in zip(names, choices, strict=True) if is_chosen)
        raise ConfigError(f"{both} cannot be combined. Give one of them.")
    if removal.sweep and (result.output is not None or result.fine_tune is not None):
        raise ConfigError("--sweep only measures and writes no model. Remove --output and --fine-tune, or use --keep.")
    if not removal.sweep and result.output is None:
        raise ConfigError("the smaller model needs a folder, which must be new. Give it with --output FOLDER.")


def _run(
    folder: Path,
    files: list[str],
    removal: RemovalOptions,
    measuring: MeasuringOptions,
    result: PrunedOutputOptions,
    device: str,
) -> "PruningReport":
    from clearhead.decoding.search.settings import SearchSettings
    from clearhead.explain import pruned_model
    from clearhead.explain.pruning import sweep

    search = SearchSettings(beam=measuring.beam) if measuring.bleu else None
    keep = 1.0 if removal.keep is None else removal.keep
    heads = tuple(removal.remove or ())
    request = pruned_model.PruneRequest(keep, removal.part.value, heads, removal.steps, search, measuring.lines)
    opened = pruned_model.open_for_pruning(folder, files, request, device)
    if removal.sweep:
        return sweep(opened.model, opened.text, removal.steps, _progress)
    assert result.output is not None
    config = None if result.fine_tune is None else pruned_model.check_fine_tuning(opened.folder)
    report = pruned_model.prune(opened, result.output, request, _progress)
    typer.echo(f"The smaller model is in {printable(str(result.output))}.", err=True)
    if config is not None and result.fine_tune is not None:
        run = result.output.with_name(f"{result.output.name}-tuned")
        outcome = pruned_model.fine_tune(config, result.output, run, result.fine_tune)
        scores = ", ".join(f"{score.name} {score.value:.4g}" for score in outcome.scores.values())
        typer.echo(f"Trained for {outcome.steps:,} updates: {scores}. The run is {printable(str(run))}.", err=True)
    return report


def _progress(row: "PruningRow") -> None:
    """Print a row as soon as it is measured, to a terminal only."""
    import sys

    if not sys.stderr.isatty():
        return
    score = "" if row.bleu is None else f", BLEU {row.bleu.value:.2f}"
    typer.echo(f"{row.part}: {row.total} heads, loss {row.loss.value:.4f}{score}", err=True)


def _show(report: "PruningReport", form: HeadForm) -> None:
    from clearhead.explain.head_tables import pruning_table, to_csv

    if form is HeadForm.json:
        print_json(report.to_dict())
    elif form is HeadForm.csv:
        typer.echo(to_csv(report.rows), nl=False)
    elif form is HeadForm.markdown:
        from clearhead.evaluation.tables import to_markdown

        typer.echo(to_markdown([pruning_table(report)]), nl=False)
    else:
        from clearhead.cli.evaluation_output import draw

        draw([pruning_table(report)])
