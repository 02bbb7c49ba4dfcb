"""The input and output options of the verbs `classify` and `generate`, which take texts line for line."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.translate_options import FaultyLines
from clearhead.errors import ConfigError, printable

if TYPE_CHECKING:
    from clearhead.decoding.unknown_words import UnknownWordCounter
    from clearhead.files.line_input import LineSource


@dataclass(frozen=True)
class TextLineOptions:
    """Where texts come from, and where the results go."""

    input: Annotated[
        str | None, typer.Option("--input", "-i", help="Input file, also .gz or .xz. \\[default: standard input]")
    ] = None
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file. \\[default: standard output]")] = (
        None
    )
    on_fault: Annotated[
        FaultyLines,
        typer.Option(
            help="For lines that are empty, too long for the model or not UTF-8: stop with an error (refuse), or write "
            "an empty line for them (skip)."
        ),
    ] = FaultyLines.refuse

    def source(self, texts: Sequence[str], verb: str) -> "LineSource":
        """Return the source of the lines."""
        from clearhead.files.line_input import LineSource

        if texts and self.input is not None:
            raise ConfigError("both a text and a file (--input) are given. Give only one of them.")
        refuse_files(texts, verb)
        text = "\n".join(text.removesuffix("\n") for text in texts) if texts else None
        return LineSource.of(self.input, "text", None, text, self.on_fault.value)

    def is_typed(self, texts: Sequence[str]) -> bool:
        """Return whether lines are read from a terminal, with a hint how to end."""
        from clearhead.files.line_input import is_interactive

        if texts or self.input not in (None, "-") or not is_interactive():
            return False
        typer.echo("clearhead: type a text and press Enter; Ctrl-D ends.", err=True)
        return True

    def check_outputs(self, model: Path, inputs: Sequence[str]) -> None:
        """Raise an error, before the model is loaded, if the output cannot be written or would overwrite an input."""
        from clearhead.files.destination import Output, check_outputs, check_standard_output
        from clearhead.formats.model_files import model_files
        from clearhead.formats.model_folder import find_model

        if self.output is None:
            check_standard_output(inputs)
        else:
            check_outputs([Output(self.output)], inputs, model_files=model_files(find_model(model)))

    def write(self, lines: Iterator[str]) -> None:
        """Write lines to the output file, or print each of them at once."""
        if self.output is None:
            for line in lines:
                typer.echo(line)
            return
        from clearhead.files.writing import write_file

        write_file(self.output, "".join(f"{line}\n" for line in lines).encode())


class UnknownWordNotes:
    """Prints a note about the words that a vocabulary does not have: for all lines, or for each line that is typed."""

    def __init__(self, consequence: str, *, is_typed: bool) -> None:
        self._consequence, self._is_typed = consequence, is_typed
        self._counter = self._new_counter()

    def _new_counter(self) -> "UnknownWordCounter":
        from clearhead.decoding.unknown_words import UnknownWordCounter

        return UnknownWordCounter(self._consequence)

    def count(self, number: int, text: str, words: Sequence[str]) -> None:
        """Count a line with its number, its text and its unknown words."""
        self._counter.count(number, text, words)
        if self._is_typed:
            self.show()
            self._counter = self._new_counter()

    def show(self) -> None:
        """Print the note about all lines that were counted, if there is anything to say."""
        note = self._counter.note()
        if note is not None:
            typer.echo(f"clearhead: {note}", err=True)


def hint_at_page(model: str, architecture: str) -> None:
    """Say how to get the page of an explanation, and what is on it."""
    contents = "every head and layer" if architecture == "transformer" else "these numbers"
    typer.echo(
        f"clearhead: clearhead explain -m {printable(model)} TEXT -o page.html makes a page with {contents}.", err=True
    )


def refuse_files(texts: Sequence[str], verb: str) -> None:
    """Raise ConfigError if a text is the name of a file: its lines were meant, not its name."""
    for text in texts:
        # A text can be longer than a file name may be, and then the system raises an error.
        with suppress(OSError, ValueError):
            if Path(text).is_file():
                shown = printable(text)
                raise ConfigError(
                    f"'{shown}' is a file, but a text is expected here. To {verb} its lines, use --input {shown}."
                )
