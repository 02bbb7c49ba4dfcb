"""Print results, or write them to a file: JSON, bytes, and what is drawn with colours in a terminal."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 120  # characters of a drawing in a file


def print_json(data: Any) -> None:
    """Print data as JSON on one line."""
    import json

    typer.echo(json.dumps(data, ensure_ascii=False))


def deliver(content: bytes, output: Path | None) -> None:
    """Write a result to a file, or to standard output."""
    if output is not None:
        from clearhead.files.writing import write_file

        write_file(output, content)
        return
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def print_drawing(draw: "Callable[[Console], None]") -> None:
    """Print what a function draws, all at once, so that an error leaves no half of it."""
    from rich.console import Console

    console = Console(highlight=False)
    with console.capture() as shown:
        draw(console)
    typer.echo(shown.get(), nl=False, color=True)


def drawing(draw: "Callable[[Console], None]") -> bytes:
    """Return what a function draws as the text of a file."""
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    draw(Console(file=text, highlight=False, width=_WIDTH))
    return text.getvalue().encode()
