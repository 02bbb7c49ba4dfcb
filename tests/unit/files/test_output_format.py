"""The suffix of an output file chooses its format; a name that says something else is an error."""

from enum import StrEnum
from pathlib import Path

import pytest

from clearhead.errors import ConfigError
from clearhead.files.output_format import format_of_file


class Format(StrEnum):
    """The formats of some verb."""

    terminal = "terminal"
    html = "html"
    latex = "latex"
    fragment = "latex-fragment"
    json = "json"


@pytest.mark.parametrize(
    ("output", "chosen", "form"),
    [
        ("out/report.html", None, Format.html),
        ("out/report.htm", Format.html, Format.html),
        ("REPORT.JSON", None, Format.json),
        ("report.v2.txt", None, Format.terminal),
        ("sheet.tex", None, Format.latex),
        ("sheet.tex", Format.fragment, Format.fragment),
        ("report.out", Format.html, Format.html),  # a suffix that says nothing
        ("report", Format.html, Format.html),
        ("report", None, Format.terminal),
        (".html", None, Format.terminal),  # a hidden file without a suffix
        ("-", None, Format.terminal),
        ("/dev/stdout", Format.json, Format.json),
        (None, None, Format.terminal),
        (None, Format.json, Format.json),
    ],
)
def test_the_format_follows_the_suffix(output: str | None, chosen: Format | None, form: Format) -> None:
    path = None if output is None else Path(output)
    assert format_of_file(path, Format, chosen, Format.terminal) is form


def test_a_suffix_that_no_format_has_is_an_error_that_lists_the_formats() -> None:
    with pytest.raises(ConfigError) as error:
        format_of_file(Path("a.docx"), Format, default=Format.terminal)
    assert str(error.value) == (
        "a.docx: .docx is not the suffix of a format that can be written here. "
        "Use a name that ends in .txt, .html, .tex or .json."
    )
    assert error.value.options == ("output",)


def test_a_format_of_another_verb_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"grades\.xlsx: \.xlsx is not .* Use a name that ends in \.csv\.$") as error:
        format_of_file("grades.xlsx", ["csv"], default="csv", option="csv")
    assert error.value.options == ("csv",)


@pytest.mark.parametrize("name", ["a.json", "a.ipynb", "a.svg"])
def test_a_format_that_contradicts_the_name_is_an_error_that_names_both(name: str) -> None:
    with pytest.raises(ConfigError) as error:
        format_of_file(Path(name), Format, Format.html)
    assert str(error.value) == (
        f"the format html contradicts the name {name}, which ends in {Path(name).suffix}. Use a name that ends in "
        ".html, or choose no format."
    )


def test_who_asks_for_a_pdf_is_told_how_to_make_one() -> None:
    with pytest.raises(ConfigError, match=r"For a PDF, write \.tex and compile it with pdflatex\.$"):
        format_of_file("a.pdf", Format)
    with pytest.raises(ConfigError, match=r"For a PDF, write \.html and print the page\.$"):
        format_of_file("a.pdf", ["html", "json"])
    with pytest.raises(ConfigError, match=r"Use a name that ends in \.svg or \.png\.$"):
        format_of_file("a.pdf", ["svg", "png"])


def test_a_name_without_a_suffix_needs_a_default() -> None:
    with pytest.raises(ConfigError, match=r"^page: it has no suffix\. Use a name that ends in \.html\.$"):
        format_of_file("page", ["html"])
