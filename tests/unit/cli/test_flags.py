"""The command line adds flags to messages of the library, which name parameters only."""

from typing import Annotated

import pytest
import typer
from typer.core import TyperCommand

from clearhead.cli.flags import with_flags
from clearhead.cli.main import main
from clearhead.errors import RunError

walking = typer.Typer(add_completion=False)


@walking.command()
def walk(
    path: str,
    run: Annotated[str, typer.Option("-r", "--run")] = "",
    resume: bool = False,
    changes: Annotated[str, typer.Option("--set", "--change")] = "",
) -> None:
    """Walk."""


def command() -> TyperCommand:
    verb = typer.main.get_command(walking)
    assert isinstance(verb, TyperCommand)
    return verb


CASES = [
    (("run", "resume"), "Choose another folder, or resume that run (--run, --resume)."),
    (("changes",), "Choose another folder, or resume that run (--set)."),
    (("path", "speed"), "Choose another folder, or resume that run."),
    (("speed", "run"), "Choose another folder, or resume that run (--run)."),
    ((), "Choose another folder, or resume that run."),
    (
        {"resume": "", "run": "runs/my", "speed": "3", "changes": "a.b=3"},
        "Choose another folder, or resume that run (--resume --run runs/my --set a.b=3).",
    ),
]


@pytest.mark.parametrize(("options", "message"), CASES)
def test_flags_come_from_the_parameters_of_the_verb(options: tuple[str, ...] | dict[str, str], message: str) -> None:
    assert with_flags("Choose another folder, or resume that run.", options, command()) == message


def test_flags_are_added_after_a_message_that_does_not_end_with_a_full_stop() -> None:
    assert with_flags("Did you mean 'x'?", ("run",), command()) == "Did you mean 'x'? (--run)"


@pytest.mark.parametrize("arguments", [("train", "a.yaml"), ("--version", "train", "--resume")])
def test_an_error_is_printed_with_the_flags_of_the_verb_that_was_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    def fail() -> None:
        raise RunError("One.\nChoose another folder.", options=("run", "changes", "column"))

    monkeypatch.setattr("sys.argv", ["clearhead", *arguments])
    monkeypatch.setattr(typer.Typer, "__call__", lambda _: fail())
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr().err == "clearhead: One.\nChoose another folder (--run, --set).\n"
