"""The output format given by the name of an output file: `-o sheet.html` writes HTML without `--format html`."""

from enum import StrEnum
from pathlib import Path
from typing import TypeVar

Format = TypeVar("Format", bound=StrEnum)

# The name of a format, as in `--format`, by the suffix of the file.
_FORMATS = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".tex": "latex",
    ".json": "json",
    ".txt": "terminal",
    ".ipynb": "notebook",
    ".xml": "moodle",
    ".zip": "qti",
}


def format_of_file(output: Path | None, formats: type[Format]) -> Format | None:
    """Return the format of `formats` that the suffix of `output` means, or None for any other suffix."""
    name = "" if output is None else _FORMATS.get(output.suffix.lower(), "")
    return next((choice for choice in formats if choice.value == name), None)
