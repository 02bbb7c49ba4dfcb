"""The progress bar of `clearhead translate`: its text, the number of lines in the input, and when it is shown."""

import gzip
import io
import sys
from pathlib import Path

import pytest

from clearhead.cli.translate import _advancing
from clearhead.cli.translate_options import LineOptions
from clearhead.cli.translate_progress import TranslationProgress, can_show_progress, describe
from clearhead.decoding.engines import opening
from clearhead.files.line_input import LineSource


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((0, 10_000, 0.0, 2.0), "0 of 10,000 lines, 0:02"),
        ((2048, 10_000, 512.0, 4.0), "2,048 of 10,000 lines, 512 lines/s, 0:16 left"),  # 7,952 / 512 = 15.5
        ((9, 43_209, 1.5, 6.0), "9 of 43,209 lines, 1.5 lines/s, 8:00:00 left"),  # 43,200 / 1.5 = 28,800
        ((10_000, 10_000, 512.0, 19.6), "10,000 of 10,000 lines, 512 lines/s, 0:20"),
        ((2048, None, 1234.5, 61.0), "2,048 lines, 1,234 lines/s, 1:01"),
    ],
)
def test_the_text_has_lines_rate_and_time(arguments: tuple[int, int | None, float, float], text: str) -> None:
    assert describe(*arguments) == text


@pytest.mark.parametrize(
    ("content", "number"), [(b"", 0), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2), (b"x" * 2**20 + b"\n" + b"y", 2)]
)
def test_lines_of_a_plain_file_are_counted(tmp_path: Path, content: bytes, number: int) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(content)
    source = LineSource(str(path))
    assert TranslationProgress(source, is_shown=False)._count_lines() == number == len(list(source.records()))


def test_lines_of_other_inputs_are_not_counted(tmp_path: Path) -> None:
    packed = tmp_path / "in.txt.gz"
    packed.write_bytes(gzip.compress(b"a\nb\n"))
    for source in (LineSource(str(packed)), LineSource("-"), LineSource(text="a"), LineSource(str(tmp_path / "none"))):
        assert TranslationProgress(source, is_shown=False)._count_lines() is None


class Screen(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


@pytest.mark.parametrize(
    ("stderr", "stdout", "output", "is_typed", "is_shown"),
    [
        (Screen, io.StringIO, None, False, True),
        (Screen, Screen, None, False, False),
        (Screen, Screen, Path("out.txt"), False, True),
        (Screen, Screen, Path("/dev/null"), False, False),
        (io.StringIO, io.StringIO, Path("out.txt"), False, False),
        (Screen, io.StringIO, None, True, False),
    ],
    ids=["piped output", "output in the terminal", "output file", "device", "no terminal", "typed input"],
)
def test_it_is_shown_in_a_terminal_that_has_no_other_output(
    monkeypatch: pytest.MonkeyPatch,
    stderr: type[io.StringIO],
    stdout: type[io.StringIO],
    output: Path | None,
    is_typed: bool,
    is_shown: bool,
) -> None:
    monkeypatch.setattr(sys, "stderr", stderr())
    monkeypatch.setattr(sys, "stdout", stdout())
    assert can_show_progress(output, is_typed=is_typed) == is_shown


def test_a_short_job_draws_nothing_and_its_messages_are_plain(capsys: pytest.CaptureFixture[str]) -> None:
    with TranslationProgress(LineSource(text="a"), is_shown=True) as progress:
        progress.advance(1)
        progress.print("clearhead: a [bold] message")
    assert capsys.readouterr().err == "clearhead: a [bold] message\n"


@pytest.mark.parametrize(("is_slow", "installed", "num_hints"), [(True, False, 1), (False, False, 0), (True, True, 0)])
def test_a_faster_engine_is_named_once_for_many_lines(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_slow: bool,
    installed: bool,
    num_hints: int,
) -> None:
    monkeypatch.setattr(opening, "is_installed", lambda package: installed)
    advance = _advancing(TranslationProgress(LineSource(text="a\n"), is_shown=False), is_slow=is_slow)
    advance(499)
    assert capsys.readouterr().err == ""
    for number in (500, 1000):
        advance(number)
    assert capsys.readouterr().err.count("CTranslate2 is faster: run pip install '.[fast]'") == num_hints


def test_numpy_translates_few_lines_together_so_that_progress_is_visible() -> None:
    assert LineOptions().window_size("numpy", is_typed=False) == 128
    assert LineOptions().window_size("torch", is_typed=False) == 1024
    assert LineOptions(window=7).window_size("numpy", is_typed=False) == 7
