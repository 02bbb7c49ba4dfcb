"""The input and output of verbs that take texts: one source, lines at once, a file that is complete."""

from pathlib import Path

import pytest

from clearhead.cli.text_lines import TextLineOptions, hint_at_page, refuse_files
from clearhead.errors import ConfigError


def test_texts_are_lines_and_a_file_is_not_given_as_well(tmp_path: Path) -> None:
    source = TextLineOptions().source(["one", "two words\n"], "classify")
    assert [line.text for line in source.records()] == ["one", "two words"]
    with pytest.raises(ConfigError, match="both a text and a file"):
        TextLineOptions(input=str(tmp_path / "lines")).source(["one"], "classify")


def test_the_name_of_a_file_is_not_a_text(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\n")
    refuse_files(["a text", "x" * 5000, "nul \0"], "classify")
    with pytest.raises(ConfigError, match="To continue its lines, use --input"):
        refuse_files([str(tmp_path / "lines")], "continue")


def test_lines_go_to_the_file_or_to_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TextLineOptions().write(iter(["one", "two"]))
    assert capsys.readouterr().out == "one\ntwo\n"
    TextLineOptions(output=tmp_path / "out").write(iter(["one", "", "two"]))
    assert (tmp_path / "out").read_text() == "one\n\ntwo\n"


def test_the_page_is_promised_with_what_is_on_it(capsys: pytest.CaptureFixture[str]) -> None:
    hint_at_page("runs/my", "convolutional")
    sentence = "clearhead: clearhead explain -m runs/my TEXT -o page.html makes a page with these numbers.\n"
    assert capsys.readouterr().err == sentence
    hint_at_page("runs/my", "transformer")
    assert capsys.readouterr().err == sentence.replace("these numbers", "every head and layer")
