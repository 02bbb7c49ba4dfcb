"""`clearhead film`: a page that shows how the translations of pinned sentences changed during a training."""

from pathlib import Path
from typing import Annotated

import typer

from clearhead.errors import ConfigError, printable

_STREAMS = ("-", "/dev/stdout")


def film(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run whose config has pinned sentences.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page to write. \\[default: RUN/film.html]")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the translations, probabilities and metrics as JSON instead.")
    ] = False,
) -> None:
    """Write the film of a training: pinned sentences, their attention and the curves, update by update."""
    import json

    from clearhead.explain.film.data import film_data
    from clearhead.explain.film.page import film_page
    from clearhead.explain.film.scenes import read_film
    from clearhead.files.destination import Output, check_outputs
    from clearhead.files.writing import write_file
    from clearhead.formats.model_files import run_files

    if output is not None and str(output) not in _STREAMS and output.suffix.lower() != ".html":
        raise ConfigError(
            f"--output {printable(str(output))} is not a page. Use a name that ends in .html, or --json for the data."
        )
    frames = read_film(run)
    if as_json:
        typer.echo(json.dumps(film_data(frames), ensure_ascii=False))
        if output is None:
            return
    page = output or run / "film.html"
    check_outputs([Output(page)], model_files=run_files(run))
    write_file(page, film_page(frames).encode())
    if str(page) != "-":
        typer.echo(f"Wrote {page}: {len(frames.frames)} frames.", err=True)
