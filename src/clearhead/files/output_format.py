"""The format of an output follows from the suffix of its name, so that no file has a name that says something else.

Every verb that writes sheets, reports, pages or pictures asks here, before any work is done. Lines of text, such as
translations, are written under any name.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from clearhead.errors import ConfigError, printable

Format = TypeVar("Format", bound=str)

# The suffixes of a format, by its name in `--format`. A name without a suffix, or a stream, has the verb's default.
_SUFFIXES = {
    "html": (".html", ".htm"),
    "markdown": (".md", ".markdown"),
    "latex": (".tex",),
    "latex-fragment": (".tex",),
    "json": (".json",),
    "terminal": (".txt",),
    "csv": (".csv",),
    "xlsx": (".xlsx",),
    "notebook": (".ipynb",),
    "moodle": (".xml",),
    "svg": (".svg",),
    "png": (".png",),
    "npz": (".npz",),
}


def format_of_file(
    output: str | Path | None,
    formats: Iterable[Format],
    chosen: Format | None = None,
    default: Format | None = None,
    option: str = "output",
) -> Format:
    """Return the one of `formats` that an output is written in: the format of its suffix, `chosen`, or `default`.

    ConfigError if the suffix is that of another format than the `chosen` one, or says nothing and none is chosen.
    """
    formats = list(formats)
    suffix = "" if output is None else Path(output).suffix.lower()
    if not suffix and (form := chosen or default) is not None:
        return form
    meant = [form for form in formats if suffix in _SUFFIXES[form]]
    if chosen is None:
        if meant:
            return meant[0]
        raise ConfigError(_unknown(str(output), suffix, formats), options=(option,))
    if chosen not in meant and any(suffix in suffixes for suffixes in _SUFFIXES.values()):
        raise ConfigError(
            f"the format {chosen} contradicts the name {printable(str(output))}, which ends in {suffix}. Use a name "
            f"that ends in {_SUFFIXES[chosen][0]}, or choose no format.",
            options=(option,),
        )
    return chosen


def _unknown(output: str, suffix: str, formats: Iterable[str]) -> str:
    """Return the sentence about a suffix that means no format of a verb."""
    first, *others = dict.fromkeys(_SUFFIXES[form][0] for form in formats)
    suffixes = f"{', '.join([first, *others[:-1]])} or {others[-1]}" if others else first
    fact = f"{suffix} is not the suffix of a format that can be written here" if suffix else "it has no suffix"
    advice = ""
    if suffix == ".pdf" and ".tex" in others:
        advice = " For a PDF, write .tex and compile it with pdflatex."
    elif suffix == ".pdf" and ".html" in (first, *others):
        advice = " For a PDF, write .html and print the page."
    return f"{printable(output)}: {fact}. Use a name that ends in {suffixes}.{advice}"
