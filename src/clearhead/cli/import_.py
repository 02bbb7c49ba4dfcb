"""`clearhead import`: read a model of another program into a model folder."""

from pathlib import Path
from typing import Annotated

import typer

from clearhead.cli.output import print_json
from clearhead.errors import printable


def import_(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="A MarianMT folder of transformers with model.safetensors, or an export of clearhead to ONNX or to a "
            "hub-folder.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="New folder for the model. \\[default: FOLDER-imported]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Read a model of another program, and write it as a model folder of clearhead."""
    target = output if output is not None else Path(f"{folder.resolve().name}-imported")
    from clearhead.export.importing import import_model

    result = import_model(folder, target)
    if as_json:
        data = {"kind": result.kind, "parameters": result.parameters, "folder": str(result.folder)}
        print_json(data)
    typer.echo(
        f"clearhead: imported {result.kind} with {result.parameters:,} parameters into {printable(str(target))}.",
        err=True,
    )
