"""`clearhead models`: list the built-in models, or pack a trained model as one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearhead.cli.output import print_json
from clearhead.errors import ConfigError

if TYPE_CHECKING:
    from clearhead.formats.built_in import BuiltInModel

_NONE = (
    "clearhead: no built-in model is installed. Train one with `clearhead train`, and translate with "
    "`clearhead translate --model RUN`."
)


def models(
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
    pack: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Write the model of this run in the form of a built-in one, with int8 weights."
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="With --pack: the folder to write.")] = None,
    about: Annotated[
        Path | None, typer.Option(help="With --pack: a model.json with the directions, scores and licence.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option(help="With --pack: the model card. \\[default: README.md of the run]")
    ] = None,
) -> None:
    """List the built-in models: languages, size, scores and licence."""
    if pack is not None:
        _pack(pack, output, about, card)
        return
    if output is not None or about is not None or card is not None:
        raise ConfigError("--output, --about and --card only apply to --pack RUN. Give it too.")
    from clearhead.formats.built_in import built_in_models

    installed = built_in_models()
    if as_json:
        print_json([_record(model) for model in installed])
    elif not installed:
        typer.echo(_NONE, err=True)
    else:
        _print(installed)


def _record(model: "BuiltInModel") -> dict[str, Any]:
    from clearhead.formats.built_in import LANGUAGES
    from clearhead.formats.files import WEIGHTS
    from clearhead.formats.model_folder import find_model, load_config
    from clearhead.formats.shapes import num_parameters

    description = model.description
    return {
        "name": model.name,
        "summary": description.summary,
        "directions": [
            {
                **direction.model_dump(),
                "languages": [LANGUAGES.get(code, code) for code in direction.name.split("-", 1)],
            }
            for direction in description.directions
        ],
        "parameters": num_parameters(load_config(find_model(model.folder))),
        "bytes": (model.folder / WEIGHTS).stat().st_size,
        "licence": description.licence,
        "attribution": description.attribution,
        "card": str(model.folder / "README.md"),
    }


def _print(installed: "list[BuiltInModel]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("name", "from", "to"):
        table.add_column(heading, no_wrap=True)
    for heading in ("BLEU", "chrF", "size"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("licence of the weights")
    for model in installed:
        record = _record(model)
        for number, direction in enumerate(record["directions"]):
            scores = ("" if direction[name] is None else f"{direction[name]:.1f}" for name in ("bleu", "chrf"))
            is_first = number == 0
            table.add_row(
                model.name if is_first else "",
                *(
                    f"{name} ({direction[side]})"
                    for side, name in zip(("source", "target"), direction["languages"], strict=True)
                ),
                *scores,
                f"{record['bytes'] / 1e6:.1f} MB" if is_first else "",
                record["licence"] if is_first else "",
            )
    Console(highlight=False).print(table)


def _pack(run: Path, output: Path | None, about: Path | None, card: Path | None) -> None:
    from clearhead.formats.packing import pack_model

    if output is None or about is None:
        raise ConfigError("--pack needs the folder to write (--output) and a description (--about). Give both.")
    folder = pack_model(run, output, about, card)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    typer.echo(f"clearhead: wrote {folder}, {size / 1e6:.1f} MB.", err=True)
