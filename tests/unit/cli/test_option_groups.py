"""Options in typed groups: Typer sees one flat list, the verb gets one value per group."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from clearhead.cli.option_groups import with_option_groups


@dataclass(frozen=True)
class Search:
    """How translations are searched for."""

    text: Annotated[str, typer.Argument(help="What is translated.")]
    beam: Annotated[int, typer.Option("--beam", "-b", min=1, help="The width.")] = 5
    names: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None


@dataclass(frozen=True)
class Printing:
    """How they are printed."""

    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False


def call(*arguments: str) -> tuple[int, str]:
    app = typer.Typer()

    @app.command()
    @with_option_groups
    def translate(
        search: Search,
        *,
        seed: Annotated[int, typer.Option(help="Where random numbers start.")] = 7,
        printing: Printing,
    ) -> None:
        """Translate it."""
        typer.echo(f"{search} {seed} {printing}")

    outcome = CliRunner().invoke(app, arguments)
    return outcome.exit_code, outcome.output


def test_a_group_is_filled_from_its_options_and_defaults() -> None:
    assert call("hola") == (0, f"{Search('hola')} 7 {Printing()}\n")
    names = ("--names", "one", "--names", "two")
    line = ("hola", "-b", "3", *names, "--seed", "11", "--json")
    assert call(*line) == (0, f"{Search('hola', 3, ['one', 'two'])} 11 {Printing(True)}\n")


def test_options_keep_their_checks_and_their_help() -> None:
    assert call()[0] == 2
    assert call("hola", "--beam", "0")[0] == 2
    code, text = call("--help")
    assert code == 0
    assert "Translate it." in text
    places = [text.index(word) for word in ("--beam", "--names", "--seed", "--json")]
    assert places == sorted(places), "options stand in the order of the parameters"
