"""`clearhead plot`: draw the curves of runs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class PlotAxis(StrEnum):
    """What the curves are drawn against."""

    updates = "updates"
    seconds = "seconds"
    epochs = "epochs"


def plot(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="The folders of one or more runs.")],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="A metric to draw, such as loss, bleu or rate. Can be given several times. \\[default: losses, "
            "scores, learning rate and speed]"
        ),
    ] = None,
    x: Annotated[PlotAxis, typer.Option("--x", help="What the curves are drawn against.")] = PlotAxis.updates,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The picture to write (.svg or .png). Needs Matplotlib. \\[default: RUN/curves.svg, or curves.svg for "
            "several runs]",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the points as JSON; a picture is then only drawn with --output.")
    ] = False,
) -> None:
    """Draw the curves of runs: loss, validation metrics, learning rate and speed."""
    import json

    from clearhead.explain.curve_picture import check_curve_file, save_curves
    from clearhead.explain.curves import check_axis, choose_metrics, curves_data, read_runs
    from clearhead.files.destination import Output, check_outputs
    from clearhead.formats.model_files import run_files

    if output is not None or not as_json:
        check_curve_file(output or Path("curves.svg"))
    curves = read_runs(runs)
    metrics = choose_metrics(curves, metric or [])
    check_axis(curves, x.value)
    if output is None and not as_json:
        output = curves[0].folder / "curves.svg" if len(curves) == 1 else Path("curves.svg")
    if output is not None:
        check_outputs([Output(output)], model_files=[path for run in curves for path in run_files(run.folder)])
    for name in metrics if metric else []:
        for run in curves:
            if name not in run.curves:
                typer.echo(f"clearhead: {run.name} has no {name}.", err=True)
    if output is not None:
        save_curves(curves, metrics, x.value, output)
        if str(output) != "-":
            typer.echo(f"Wrote {output}.", err=True)
    if as_json:
        typer.echo(json.dumps(curves_data(curves, metrics, x.value)))
