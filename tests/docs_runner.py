"""Run the commands and the Python of a documentation page, and compare what they print with what the page shows.

`clearhead` is called in this process where the line is a plain command; with pipes, redirections or other programs bash runs it.
"""

import contextlib
import io
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.command import run
from tests.docs_page import Block, Command, PageError, block_faults, commands, difference, matches, parse

ROOT = Path(__file__).parents[1]
# Commands that install or fetch something, or that run for minutes: other targets of the Makefile run these.
NOT_RUN = ("pip install", "python -m pip", "python -m venv", "python3 -m venv", "python -m build", "git clone", "make ")
SHELL_CHARACTERS = frozenset("|&;<>()$`*?[~\\")  # outside quotes, they need a shell
TIMEOUT = 120  # seconds for one command


def run_page(page: Path, folder: Path) -> list[str]:
    """Run every block of a page in a folder; return the failures, each with its line, command and difference."""
    try:
        blocks = parse(page.read_text(encoding="utf-8"))
        faults = block_faults(blocks)
    except PageError as error:
        return [f"{page.name}, {error}"]
    if faults:
        return [f"{page.name}, {fault}" for fault in faults]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "80")
        patch.setenv("MPLBACKEND", "agg")
        for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
            patch.delenv(name, raising=False)
        runner = _PageRunner(page, folder)
        for block in blocks:
            runner.run(block)
        return runner.failures


def fill_folder(folder: Path, model: Path | None = None) -> None:
    """Copy what every page can use into a folder: examples, configs, docs/inside and, where there is one, runs/phrasebook."""
    for name in ("examples", "configs", "docs/inside"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    if model is not None:
        shutil.copytree(model, folder / "runs" / "phrasebook", ignore=shutil.ignore_patterns(".lock"))


class _PageRunner:
    """The state of a page while it runs: its folder, its Python namespace, the failures so far."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.namespace: dict[str, Any] = {"__name__": "__main__"}
        self.printed: list[str] | None = None  # by the Python block just before this one
        self.failures: list[str] = []

    def run(self, block: Block) -> None:
        printed, self.printed = self.printed, None
        if block.directives.skip_reason:
            return
        if block.directives.file:
            self._write_file(block)
        elif block.language == "console":
            self._run_commands(block)
        elif block.language == "python":
            self._run_python(block)
        elif block.language == "text" and block.is_directly_after and printed is not None:
            self._compare(block.line, "the Python block above", block.lines, printed)

    def _write_file(self, block: Block) -> None:
        path = self.folder / block.directives.file
        if not path.resolve().is_relative_to(self.folder.resolve()):
            self._fail(block.line, block.directives.file, "the file is not in the folder of the page")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def _run_commands(self, block: Block) -> None:
        page_commands = commands(block)
        codes = block.directives.exit_codes
        codes = codes * len(page_commands) if len(codes) == 1 else codes
        for command, expected_code in zip(page_commands, codes, strict=True):
            if command.text.startswith(NOT_RUN):
                continue
            code, output = self._call(command, block.directives.added_arguments)
            if code != expected_code:
                last_lines = "\n".join(output[-20:])
                self._fail(command.line, f"$ {command.text}", f"exit code {code}, not {expected_code}:\n{last_lines}")
            elif command.output:
                self._compare(command.line, f"$ {command.text}", command.output, output)

    def _call(self, command: Command, added_arguments: str) -> tuple[int, list[str]]:
        text = f"{without_comment(command.text)} {added_arguments}".strip()
        words = plain_words(text)
        if words is not None and words[0] == "clearhead":
            completed = run(*words[1:], cwd=self.folder, is_merged=True)
            return completed.returncode, completed.stdout.splitlines()
        return run_in_bash(text, self.folder)

    def _run_python(self, block: Block) -> None:
        output = io.StringIO()
        source = "\n" * (block.line - 1) + block.text  # so that a traceback has the lines of the page
        try:
            with contextlib.redirect_stdout(output):
                exec(compile(source, str(self.page), "exec"), self.namespace)
        except Exception as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(self.page)]
            line = (frames[-1].lineno if frames else getattr(error, "lineno", None)) or block.line
            text = block.lines[line - block.line].strip() if line - block.line < len(block.lines) else ""
            self._fail(line, text, f"{type(error).__name__}: {error}")
            return
        self.printed = output.getvalue().splitlines()

    def _compare(self, line: int, command: str, expected: Sequence[str], actual: Sequence[str]) -> None:
        if not matches(expected, actual):
            self._fail(line, command, difference(expected, actual))

    def _fail(self, line: int, command: str, message: str) -> None:
        self.failures.append(f"{self.page.name}, line {line}: {command}\n{message}\n")


def without_comment(command: str) -> str:
    """Return a command without the comment at its end."""
    quote = ""
    for place, letter in enumerate(command):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "#" and (place == 0 or command[place - 1].isspace()):
            return command[:place].rstrip()
    return command


def plain_words(command: str) -> list[str] | None:
    """Return the words of a command that needs no shell; None for one that does."""
    joined = command.replace("\\\n", " ")
    quote = ""
    for letter in joined:
        if quote:
            if quote == '"' and letter in "$`\\":
                return None
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in SHELL_CHARACTERS or letter == "\n":
            return None
    words = shlex.split(joined)
    return None if not words or "=" in words[0] else words


def run_in_bash(command: str, folder: Path) -> tuple[int, list[str]]:
    """Run a line in bash, with this Python and its `clearhead` first on the path; return exit code and output.

    The exit code is that of the last command in a pipe, as in a terminal, except where an earlier one could not run.
    """
    with tempfile.TemporaryDirectory() as programs:
        for name, arguments in {"python": "", "python3": "", "clearhead": "-m clearhead.cli.main "}.items():
            program = Path(programs) / name
            program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments}"$@"\n')
            program.chmod(0o755)
        codes = Path(programs) / "codes"
        script = f'{command}\necho "${{PIPESTATUS[@]}}" > {shlex.quote(str(codes))}'
        environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        completed = subprocess.run(
            ["bash", "-c", script],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT,
            check=False,
        )
        stages = [int(code) for code in codes.read_text().split()] if codes.exists() else [completed.returncode]
    code = next((stage for stage in stages[:-1] if stage not in (0, 1, 141)), stages[-1])  # 141: `| head` was content
    return code, completed.stdout.decode("utf-8").splitlines()
