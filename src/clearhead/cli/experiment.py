"""`clearhead experiment`: run one of the experiments, print its tables and draw its plot."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.output import print_json

if TYPE_CHECKING:
    from clearhead.studies import Experiment

_HEADING_WIDTH = 12  # longer headings are wrapped
_WIDE = 400  # a narrow terminal can wrap a line of a table, but no number is truncated


def experiment(
    name: Annotated[
        str | None, typer.Argument(help="The experiment to run. Without a name, clearhead lists the experiments.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the random numbers. The same seed gives the same numbers.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON with all digits of every number.")] = False,
    picture: Annotated[
        Path | None, typer.Option(help="Also draw the plot and write it to this file (.svg or .png). Needs Matplotlib.")
    ] = None,
    list_all: Annotated[
        bool, typer.Option("--list", help="List the experiments, with the time that they take.")
    ] = False,
) -> None:
    """Measure a claim of lecture notes about attention: scaling, positions, order, norms, context, masks, cost.

    Most experiments take seconds. Those that train models need PyTorch and take up to a few minutes on two cores: see
    --list.
    """
    if list_all or name is None:
        _list_experiments(as_json)
        return

    from clearhead.studies.picture import check_picture, save_picture

    if picture is not None:
        from clearhead.files.destination import Output, check_outputs

        check_outputs([Output(picture, "picture")])
        check_picture(picture)
    result = _measure(name, seed)
    if picture is not None:
        save_picture(result, picture)
        typer.echo(f"Wrote {picture}.", err=True)
    if as_json:
        typer.echo(result.to_json())
    else:
        _show(result)


def _measure(name: str, seed: int) -> "Experiment":
    """Run a study, with a progress bar if it trains models."""
    from clearhead.studies import STUDIES, run_study

    if name not in STUDIES or not STUDIES[name].trains_models:
        return run_study(name, seed)
    from clearhead.cli.progress_bar import progress_bar

    with progress_bar("loading PyTorch") as show:
        return run_study(name, seed, show=show)


def _show(result: "Experiment") -> None:
    from textwrap import wrap

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from clearhead.studies.experiment import format_cell

    console = Console(highlight=False)
    wide = Console(highlight=False, width=_WIDE)
    console.print(Text(result.title, style="bold"))
    console.print(Text(f"Claim: {result.claim}"))
    for result_table in result.tables:
        console.print()
        console.print(Text(result_table.title))
        table = Table(pad_edge=False, show_edge=False)
        for index, heading in enumerate(result_table.columns):
            cells = [row[index] for row in result_table.rows]
            width = max(_HEADING_WIDTH, *(len(format_cell(cell)) for cell in cells))
            is_word = isinstance(cells[0], str)
            lines = Text("\n".join(wrap(heading, width)))
            table.add_column(lines, justify="left" if is_word else "right", no_wrap=True)
        for row in result_table.rows:
            table.add_row(*(Text(format_cell(cell)) for cell in row))
        wide.print(table)
    console.print()
    if result.finding:
        console.print(Text(f"Finding: {result.finding}"))
    console.print(Text(f"Seed {result.seed}. Use --json for all digits."), style="dim")


def _list_experiments(as_json: bool) -> None:
    from clearhead.studies import STUDIES

    listed = [(name, study.title, study.duration) for name, study in STUDIES.items()]
    if as_json:
        entries = [{"name": name, "title": title, "duration": duration} for name, title, duration in listed]
        print_json(entries)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("what it measures")
    table.add_column("time", no_wrap=True)
    for row in listed:
        table.add_row(*row)
    Console(highlight=False).print(table)
