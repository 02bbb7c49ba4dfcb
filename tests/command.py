"""The command line for tests: called in this process, where everything is imported already, or as a separate process.

A process costs half a second, and with torch three; one is needed only where signals, pipes, imports or memory are tested.
"""

import io
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from clearhead.cli.main import main


def run(
    *arguments: str, text: str | bytes = b"", cwd: Path | None = None, is_merged: bool = False
) -> subprocess.CompletedProcess[str]:
    """Call the command in this process, with its own streams; return its exit code and its output.

    With is_merged, standard error is part of standard output, in the order in which a terminal shows the two.
    """
    output, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=is_merged) for _ in range(2))
    code: int | str | None = 0
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryFile() as stdin:
        stdin.write(text.encode() if isinstance(text, str) else text)
        stdin.seek(0)
        patch.setenv("COLUMNS", "80")  # the width that is used without a terminal
        if cwd is not None:
            patch.chdir(cwd)
        patch.setattr(sys, "argv", ["clearhead", *arguments])
        streams = {
            "stdin": io.TextIOWrapper(stdin, encoding="utf-8"),
            "stdout": output,
            "stderr": output if is_merged else errors,
        }
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code
    return subprocess.CompletedProcess(list(arguments), int(code or 0), _content(output), _content(errors))


def run_process(*arguments: str, text: str | bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command as a separate process."""
    command = [sys.executable, "-m", "clearhead.cli.main", *arguments]
    stdin = text.encode() if isinstance(text, str) else text
    process = subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, timeout=60, check=False)
    return subprocess.CompletedProcess(
        command, process.returncode, process.stdout.decode("utf-8"), process.stderr.decode("utf-8")
    )


def _content(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8")
