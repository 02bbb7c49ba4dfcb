"""The progress bar of `clearhead translate` in a real pseudo-terminal, drawn on a screen by pyte."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyte
import pytest

from tests.command import run
from tests.small_run import make_run

SHORT = ("--max-length", "9")
# the command, with a bar that appears at once and a test that need not take seconds
COMMAND = """
import sys
import clearhead.cli.translate_progress as progress
progress.DELAY, progress.INTERVAL = 0.0, 0.01
sys.argv[0] = "clearhead"
from clearhead.cli.main import main
main()
"""


class Terminal:
    """A pseudo-terminal of a given size that a command writes its standard error to."""

    def __init__(self, arguments: Sequence[str], *, width: int = 100, code: str = COMMAND) -> None:
        self.screen = pyte.Screen(width, 20)
        self.stream = pyte.ByteStream(self.screen)
        self.content = b""
        self.handle, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 20, width, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=terminal,
            stdout=subprocess.DEVNULL,
            stderr=terminal,
            env={**environment, "TERM": "xterm-256color"},
        )
        os.close(terminal)

    def read(self, until: Callable[[], bool] = lambda: False) -> None:
        """Draw what the command writes until a condition holds, or until it ends."""
        deadline = time.monotonic() + 60
        while not until() and time.monotonic() < deadline:
            try:
                block = os.read(self.handle, 4096)
            except OSError:  # Linux reports the end of a terminal as an error
                break
            if not block:
                break
            self.content += block
            self.stream.feed(block)

    @property
    def lines(self) -> list[str]:
        """The lines of the screen that are not empty."""
        return [line.rstrip() for line in self.screen.display if line.strip()]

    def close(self) -> int:
        """Read to the end, and return the exit code."""
        self.read()
        os.close(self.handle)
        return self.process.wait(timeout=60)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_run(tmp_path_factory.mktemp("run")))


@pytest.fixture
def arguments(model: str, tmp_path: Path) -> list[str]:
    (tmp_path / "in.txt").write_text("".join(f"a dog {number}\n" for number in range(37)))
    files = ("-i", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.txt"))
    return ["translate", "--quiet", "-m", model, *files, *SHORT, "--window", "2"]


@pytest.mark.parametrize("width", [100, 60])
def test_the_bar_shows_lines_rate_and_time_and_the_output_is_the_same(
    arguments: list[str], tmp_path: Path, width: int
) -> None:
    terminal = Terminal(arguments, width=width)
    assert terminal.close() == 0
    (line,) = terminal.lines
    assert "37 of 37 lines, " in line
    assert "lines/s, 0:0" in line
    assert " left" in terminal.content.decode()
    assert not terminal.screen.cursor.hidden
    assert terminal.screen.cursor.x == 0
    expected = run(*arguments[:6], *SHORT, "--window", "2")
    assert (tmp_path / "out.txt").read_text() == expected.stdout
    assert expected.stderr == ""


def test_only_the_lines_done_are_shown_where_the_total_is_not_known(model: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "in.txt")
    files = ("-i", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.txt"))
    terminal = Terminal(["translate", "-m", model, *files, *SHORT, "--window", "1"])
    with (tmp_path / "in.txt").open("w") as pipe:
        pipe.write("a dog\n" * 3)
        pipe.flush()
        terminal.read(until=lambda: any("3 lines, " in line for line in terminal.lines))
    assert terminal.close() == 0
    assert "3 lines, " in terminal.lines[0]


def test_signals_restore_the_terminal_and_a_resumed_bar_starts_where_it_stopped(model: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "in.txt")
    files = ("-i", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.txt"))
    arguments = ["translate", "-m", model, *files, *SHORT, "--window", "1"]
    terminal = Terminal(arguments)
    with (tmp_path / "in.txt").open("w") as pipe:
        pipe.write("a dog\na cat\n")
        pipe.flush()
        terminal.read(until=lambda: any("2 lines, " in line for line in terminal.lines))
        deadline = time.monotonic() + 60
        while (tmp_path / "out.txt.part").read_bytes().count(b"\n") < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.2)  # for the journal, which is written after the lines
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.close() == 130
    assert (
        terminal.lines[-1]
        == "clearhead: interrupted. 2 lines are done. To continue, run the same command with --resume."
    )
    assert "2 lines, " in terminal.lines[0]
    assert not terminal.screen.cursor.hidden
    resumed = Terminal([*arguments, "--resume"])
    with (tmp_path / "in.txt").open("w") as pipe:
        pipe.write("a dog\na cat\n")
        pipe.flush()
        resumed.read(until=lambda: any("2 lines, 0:" in line for line in resumed.lines))
        assert any("2 lines, 0:" in line for line in resumed.lines), "no line of this run, so no rate"
        pipe.write("a bird\n" * 5)
        pipe.flush()
        resumed.read(until=lambda: any("7 lines, " in line for line in resumed.lines))
        assert "lines/s" in resumed.lines[0]
        assert resumed.screen.cursor.hidden
        time.sleep(0.2)
        resumed.process.send_signal(signal.SIGTERM)
        assert resumed.close() == 143
    assert not resumed.screen.cursor.hidden
    assert resumed.lines[-1].startswith("clearhead: interrupted. 7 lines are done.")


def test_a_remark_is_printed_above_the_bar(tmp_path: Path) -> None:
    tagged = str(make_run(tmp_path / "run", ("de", "hi")))
    (tmp_path / "in.txt").write_text("a dog\n" * 29)
    files = ("-i", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.txt"))
    terminal = Terminal(["translate", "-m", tagged, *files, *SHORT, "--window", "1", "--quiet"], width=120)
    assert terminal.close() == 0
    assert terminal.lines[0] == (
        "clearhead: This model translates into several languages (de, hi). Choose one of them (--to)."
    )
    assert "29 of 29 lines, " in terminal.lines[1]
    assert len(terminal.lines) == 2


def test_a_job_of_less_than_two_seconds_shows_no_bar(arguments: list[str]) -> None:
    terminal = Terminal(
        arguments[:-2], code="import sys; sys.argv[0] = 'clearhead'; from clearhead.cli.main import main; main()"
    )
    assert terminal.close() == 0
    assert terminal.content == b""
