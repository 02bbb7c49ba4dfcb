"""How results are printed or written."""

from pathlib import Path

import pytest
from rich.console import Console

from clearhead.cli.output import deliver, drawing, print_drawing, print_json


def draw(console: Console) -> None:
    console.print("[bold]a sheet[/bold] " + "x" * 100)


def test_json_is_one_line_with_its_letters_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"translation": "El río"})
    assert capsys.readouterr().out == '{"translation": "El río"}\n'


def test_bytes_go_to_a_file_or_to_standard_output(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    deliver(b"one\n", tmp_path / "result")
    deliver(b"two\n", None)
    assert (tmp_path / "result").read_bytes() == b"one\n"
    assert capfdbinary.readouterr().out == b"two\n"


def test_a_drawing_is_plain_text_in_a_file_and_incomplete_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert drawing(draw) == b"a sheet " + b"x" * 100 + b"\n"

    def fail(console: Console) -> None:
        draw(console)
        raise ValueError("a fault")

    with pytest.raises(ValueError, match="a fault"):
        print_drawing(fail)
    assert capsys.readouterr().out == ""
