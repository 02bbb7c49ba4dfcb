"""Processes of the command that start at once: forked from one that has imported torch, which takes three seconds.

A forked process has its own memory, files and signals. It shares with its siblings what a process draws when it starts,
such as the order of sets: compare it with a process that was started separately.
"""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

# What takes long to import: the optimisers of torch load its compiler.
_IMPORTED = ("clearhead.cli.train", "clearhead.training.loop", "torch._dynamo", "torch.utils.tensorboard", "sacrebleu")


class ForkServer:
    """Starts one process of the command at a time."""

    def __init__(self, server: subprocess.Popen[bytes], log: Path) -> None:
        self._server, self._log, self._pid = server, log, 0

    def start(self, *arguments: str) -> None:
        """Start `clearhead *arguments`."""
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps([str(self._log), *arguments]).encode() + b"\n")
        self._pid = self._answer()

    def is_running(self, seconds: float = 0.0) -> bool:
        """Wait up to `seconds` for the end of the process, and return whether it is still running."""
        return not select.select([self._server.stdout], [], [], seconds)[0]

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the process, if it is still there."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, number)

    def wait(self) -> tuple[int, str]:
        """Return the exit code (minus the signal that ended the process, if any) and everything that it printed."""
        return self._answer(), self._log.read_text(encoding="utf-8")

    def _answer(self) -> int:
        assert self._server.stdout is not None
        return int(self._server.stdout.readline())


@contextmanager
def fork_server(folder: Path) -> Iterator[ForkServer]:
    """Start a process that has imported what training needs; end it afterwards."""
    command = [sys.executable, "-m", "tests.system.forked"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root) as server:
        yield ForkServer(server, folder / "forked.log")


def serve() -> None:
    """Fork a process for each line of standard input; print its process id and, at its end, its exit code."""
    from clearhead.cli.main import main

    for name in _IMPORTED:
        import_module(name)
    for line in sys.stdin:
        log, *arguments = json.loads(line)
        process = os.fork()
        if not process:
            with open(os.devnull) as nothing, open(log, "w") as file:  # noqa: PTH123
                os.dup2(nothing.fileno(), 0)
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            sys.argv = ["clearhead", *arguments]
            main()
            return
        print(process, flush=True)
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve()
