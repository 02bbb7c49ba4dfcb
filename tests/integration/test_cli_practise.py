"""`clearhead practise` as a student uses it: with piped input, and in a real pseudo-terminal."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clearhead.quiz.practice.progress import load_progress
from tests.command import run
from tests.unit.quiz.practice.test_session import current, rows

SOFTMAX = ("practise", "softmax", "--seed", "7", "--progress", "p.json")
PATIENCE = 300  # seconds that a slow machine may take
# the command in a session whose terminal is standard input, so that Ctrl-C is a signal
COMMAND = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.argv[0] = "clearhead"
from clearhead.cli.main import main
main()
"""


class Terminal:
    """A pseudo-terminal in which the command runs, with what it has written so far."""

    def __init__(self, *arguments: str, cwd: Path) -> None:
        self.handle, terminal = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=cwd,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
            start_new_session=True,
        )
        os.close(terminal)

    def read(self, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Read until there is enough, or until the command ends."""
        deadline = time.monotonic() + PATIENCE
        while not is_enough() and time.monotonic() < deadline:
            if not select.select([self.handle], [], [], 1.0)[0]:
                continue
            try:
                block = os.read(self.handle, 4096)
            except OSError:  # Linux reports the end of a terminal as an error
                return
            self.text += block.decode("utf-8", "replace")

    def wait_for(self, text: str, count: int = 1) -> None:
        """Read until a text was written, some number of times."""
        self.read(lambda: self.text.count(text) >= count)
        assert self.text.count(text) >= count, self.text

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self.handle, text.encode())

    def end(self) -> int:
        """Read to the end, and return the exit code."""
        self.read()
        code = self.process.wait(timeout=PATIENCE)
        os.close(self.handle)
        return code


def start(folder: Path) -> Terminal:
    return Terminal(*SOFTMAX, cwd=folder)


def test_piped_numbers_are_marked_and_shown(tmp_path: Path) -> None:
    first = run(*SOFTMAX, cwd=tmp_path)
    assert first.returncode == 0
    assert "Your progress is saved in p.json. Type ? for help." in first.stdout
    assert "Saved. Start again at any time to continue." in first.stdout
    work = current(tmp_path / "p.json")
    lines = rows(work, work.steps[0])
    second = run(*SOFTMAX, text="\n".join([*lines, "quit", ""]), cwd=tmp_path)
    assert (second.returncode, second.stderr) == (0, "")
    assert f": {lines[0]}\n" in second.stdout  # what was typed is part of the output
    assert "✓ Right." in second.stdout
    assert load_progress(tmp_path / "p.json").num_finished == 1


def test_bytes_that_are_not_text_are_no_numbers(tmp_path: Path) -> None:
    done = run(*SOFTMAX, text=b"\xff\x00 1 2\nquit\n", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "cannot be used: it is not a number." in done.stdout


def test_the_progress_can_be_forgotten(tmp_path: Path) -> None:
    run(*SOFTMAX, cwd=tmp_path)
    assert (tmp_path / "p.json").exists()
    done = run("practise", "--forget", "--progress", "p.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Deleted p.json.\n")
    assert list(tmp_path.iterdir()) == []
    again = run("practise", "--forget", "--progress", "p.json", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (0, "There is no progress in p.json.\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("self-atention",), "clearhead: 'self-atention' is not a kind of exercise. Did you mean 'self-attention'? "),
        (
            ("softmax", "--difficulty", "5"),
            "clearhead: difficulty = 5 is not possible. Choose 1, 2 or 3 (--difficulty).\n",
        ),
        (("softmax", "--seed", "-1"), "clearhead: seed = -1 is out of range. "),
        (
            ("--progress", "thesis.json"),
            "clearhead: thesis.json is not a file of clearhead practise. The file was not changed",
        ),
        (
            ("--forget", "--progress", "thesis.json"),
            "clearhead: thesis.json is not a file of clearhead practise. The file was not changed. Name another file, or "
            "move this one away (--progress).\n",
        ),
        (("--progress", "."), "clearhead: . "),
        (("--progress", "thesis.json/p.json"), "clearhead: thesis.json/p.json cannot be written: "),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    (tmp_path / "thesis.json").write_text('{"title": "mine"}')
    done = run("practise", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "thesis.json").read_text() == '{"title": "mine"}'
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.json"]


def test_decimal_commas_are_shown_and_read(tmp_path: Path) -> None:
    run("practise", "positions", "--progress", "p.json", cwd=tmp_path)
    work = current(tmp_path / "p.json", "positions 1")
    lines = [row.replace(".", ",") for row in rows(work, work.steps[0])]
    comma = ("practise", "positions", "--progress", "p.json", "--decimal", "comma")
    done = run(*comma, text="\n".join([*lines, "quit", ""]), cwd=tmp_path)
    assert "✓ Right." in done.stdout


def test_control_c_and_control_d_lose_nothing(tmp_path: Path) -> None:
    terminal = start(tmp_path)
    terminal.wait_for("): ")
    work = current(tmp_path / "p.json")
    number = work.sheet.number
    terminal.type("sum\n")
    terminal.wait_for("): ", 2)
    terminal.type("\x03")
    assert terminal.end() == 128 + signal.SIGINT
    assert "Saved. Start again at any time to continue." in terminal.text
    assert "Traceback" not in terminal.text
    state = load_progress(tmp_path / "p.json").open_sheets["softmax 1"]
    assert (state.number, state.is_helped) == (number, True)

    terminal = start(tmp_path)
    terminal.wait_for("): ")
    assert number in terminal.text
    terminal.type("\x04")
    assert terminal.end() == 0
    assert "Saved. Start again at any time to continue." in terminal.text
    assert load_progress(tmp_path / "p.json").open_sheets["softmax 1"] == state


def test_a_whole_exercise_in_a_terminal(tmp_path: Path) -> None:
    run(*SOFTMAX, cwd=tmp_path)
    work = current(tmp_path / "p.json")
    terminal = start(tmp_path)
    for number, line in enumerate(rows(work, work.steps[0]), 1):
        terminal.wait_for("): ", number)
        terminal.type(f"{line}\n")
    terminal.wait_for("Press Enter for the next exercise")
    terminal.type("\n")
    terminal.wait_for("\u0020· sheet ", 2)
    terminal.wait_for("): ", len(rows(work, work.steps[0])) + 1)
    terminal.type("quit\n")
    assert terminal.end() == 0
    assert "✓ Right." in terminal.text
    assert load_progress(tmp_path / "p.json").num_finished == 1
