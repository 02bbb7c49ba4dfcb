"""`clearhead practise`: work exercises in the terminal, one step at a time, marked at once."""

import io
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from clearhead.cli.option_groups import with_option_groups


class DecimalSign(StrEnum):
    """The decimal sign of numbers that are shown and typed."""

    point = "point"
    comma = "comma"


@dataclass(frozen=True)
class ExerciseOptions:
    """Which exercises are practised, and how numbers are written."""

    difficulty: Annotated[
        int, typer.Option(help="1: integers, one step; 2: a whole layer; 3: heads, masks, norms.")
    ] = 1
    seed: Annotated[int, typer.Option(help="Another seed gives other exercises.")] = 0
    decimal: Annotated[DecimalSign, typer.Option(help="Decimal point or decimal comma.")] = DecimalSign.point


@dataclass(frozen=True)
class ProgressOptions:
    """The file that remembers what was practised."""

    progress: Annotated[
        Path | None,
        typer.Option(
            help="The file with your progress (JSON). \\[default: clearhead/practice.json in your folder for data of "
            "programs, on Linux ~/.local/share]"
        ),
    ] = None
    forget: Annotated[bool, typer.Option("--forget", help="Delete the file with your progress, and stop.")] = False


@with_option_groups
def practise(
    *,
    kind: Annotated[
        str | None,
        typer.Argument(
            help="A kind of exercise, such as self-attention. \\[default: what is due according to your progress]"
        ),
    ] = None,
    exercises: ExerciseOptions,
    memory: ProgressOptions,
) -> None:
    """Practise in the terminal: one step at a time, marked at once."""
    from clearhead.quiz.practice.progress import default_progress_file, forget_progress, locked_progress
    from clearhead.quiz.practice.session import PracticeOptions, PracticeSession

    path = memory.progress or default_progress_file()
    if memory.forget:
        typer.echo(forget_progress(path))
        return
    options = PracticeOptions(
        kind, exercises.difficulty, exercises.seed, has_decimal_comma=exercises.decimal is DecimalSign.comma
    )
    session = PracticeSession(_Terminal(), path, options)
    with locked_progress(path):
        try:
            session.run()
        except KeyboardInterrupt:
            typer.echo("\nSaved. Start again at any time to continue.")
            raise


class _Terminal:
    """Standard input and output; without a terminal, a typed line is repeated so that the output can be read."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdin.isatty()
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")  # other bytes than text are not numbers, and no fault of ours
        if self._is_terminal:
            with suppress(ImportError):  # Windows has no readline
                import_module("readline")  # lets `input` edit and recall lines

    def ask(self, prompt: str) -> str:
        """Return a line of standard input."""
        if self._is_terminal and sys.stdout.isatty():
            return input(prompt)
        typer.echo(prompt, nl=False)
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            typer.echo()
            raise EOFError
        if not self._is_terminal:
            typer.echo(line.rstrip("\r\n"))
        return line

    def tell(self, text: str) -> None:
        """Show a text."""
        typer.echo(text)
