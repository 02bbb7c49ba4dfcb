"""Run a function in a forked copy of this process: it may be killed, crash or hang, and takes milliseconds to start.

The parent must have one thread. It imports what the children need, so that they do not have to.
"""

import io
import os
import pickle
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from clearhead.errors import ClearheadError

_SECONDS = 120  # after which a child is considered to hang
_REFUSED, _BUG = 2, 3  # the exit codes of the command line


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code (minus the number of a signal), everything it printed, and its result."""

    code: int
    output: str
    value: Any = None

    @property
    def is_refusal(self) -> bool:
        """Whether it ended with a sentence for the user."""
        return self.code == _REFUSED and "Traceback" not in self.output and bool(self.output.strip())

    @property
    def is_fault(self) -> bool:
        """Whether it ended with a traceback, by a signal that it did not send itself, or as a bug."""
        return self.code not in (0, _REFUSED, -signal.SIGKILL) or "Traceback" in self.output


def in_child(action: Callable[[], Any], seconds: int = _SECONDS) -> Ended:
    """Run a function in a forked process, as the command line would: a ClearheadError is exit code 2."""
    with tempfile.TemporaryDirectory() as folder:
        log, result = Path(folder) / "log", Path(folder) / "result"
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if not process:
            _run(action, log, result, seconds)
        _, status = os.waitpid(process, 0)
        value = pickle.loads(result.read_bytes()) if result.is_file() else None
        return Ended(os.waitstatus_to_exitcode(status), log.read_text(encoding="utf-8", errors="replace"), value)


def _run(action: Callable[[], Any], log: Path, result: Path, seconds: int) -> NoReturn:
    code = _BUG
    leave, write = os._exit, result.write_bytes
    try:
        signal.alarm(seconds)
        with log.open("wb") as file, open(os.devnull, "rb") as nothing:  # noqa: PTH123
            os.dup2(nothing.fileno(), 0)
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(number, "w", closefd=False), "utf-8") for number in (1, 2))
        try:
            write(pickle.dumps(action()))
            code = 0
        except ClearheadError as problem:
            print(problem, file=sys.stderr)
            code = _REFUSED
        except SystemExit as ending:
            code = int(ending.code or 0)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        leave(code)


def command(*arguments: str) -> None:
    """Call the command line in this process; its exit code is raised as SystemExit."""
    from clearhead.cli.main import main

    sys.argv = ["clearhead", *arguments]
    main()
