"""The suffix of an output file chooses its format."""

from enum import StrEnum
from pathlib import Path

from clearhead.cli.output_format import format_of_file


class Format(StrEnum):
    """The formats of some verb, which has no LaTeX."""

    terminal = "terminal"
    html = "html"
    json = "json"


def test_a_suffix_names_a_format_of_the_verb() -> None:
    assert format_of_file(Path("out/report.html"), Format) is Format.html
    assert format_of_file(Path("REPORT.JSON"), Format) is Format.json
    assert format_of_file(Path("report.v2.txt"), Format) is Format.terminal


def test_any_other_name_chooses_nothing() -> None:
    for output in (None, Path("report"), Path("report.tex"), Path("report.docx"), Path(".html")):
        assert format_of_file(output, Format) is None
