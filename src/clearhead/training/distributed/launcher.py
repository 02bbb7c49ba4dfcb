"""Start the ranks of a run on this machine by torch's launcher, and name the rank that failed first.

When one rank ends, the others lose their connection to it and fail too, so each rank leaves its error in the file that
torch's launcher (ours, or torchrun) names, and a lost connection is never the cause if there is another error.
"""

import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from clearhead.errors import ClearheadError, is_out_of_memory, printable
from clearhead.training.distributed.membership import LAUNCHER

INTERRUPTED = 130
_ERROR_FILE = "TORCHELASTIC_ERROR_FILE"
_WATCH = 1.0  # seconds between two looks at the launcher
# In the messages of gloo, NCCL, the stores of torch and the kernel about a process that does not answer any more.
_CONNECTION_CLUES = (
    "gloo", "nccl", "connection closed", "connection reset", "connection refused", "broken pipe", "tcpstore",
    "processgroup", "socket timeout", "timed out waiting", "timeout caused pair closure",
)  # fmt: skip
_CONNECTION_ERRORS = ("DistBackendError", "DistNetworkError", "DistStoreError", "DistError")
_MAX_CHARACTERS = 2000  # of an error that is reported


@dataclass(frozen=True)
class RankError:
    """The error of a rank. With `is_of_connection`, another rank did not answer, and may have failed."""

    sentence: str
    code: int  # exit code of the process
    is_of_connection: bool = False
    options: Any = ()  # what the user can change, as in ClearheadError

    @staticmethod
    def of(error: BaseException) -> "RankError":
        """Describe an error."""
        if isinstance(error, ClearheadError):
            return RankError(str(error), 2, options=error.options)
        if isinstance(error, KeyboardInterrupt):
            return RankError("it was interrupted.", INTERRUPTED)
        if is_out_of_memory(error):
            return RankError("there is not enough memory. Lower training.batch_tokens, or use a smaller model.", 2)
        if is_connection_error(error):
            first = (str(error).splitlines() or [""])[0]
            return RankError(f"it lost the connection to another rank ({first}).", 2, is_of_connection=True)
        if isinstance(error, OSError):
            return RankError(f"{error.filename or 'a file'} cannot be used: {error.strerror or error}.", 2)
        return RankError(f"this is a bug in clearhead, not a mistake of yours: {type(error).__name__}: {error}", 3)

    def write(self) -> None:
        """Write it to the file that torch's launcher reads, if one has started this process."""
        if name := os.environ.get(_ERROR_FILE):
            entry = {"message": self.sentence[:_MAX_CHARACTERS], "timestamp": int(time.time())}
            others = {"code": self.code, "is_of_connection": self.is_of_connection, "options": self.options}
            Path(name).write_text(json.dumps({**entry, **others}), encoding="utf-8")


class Failure(Protocol):
    """How the process of a rank ended: torch's ProcessFailure. A negative code is the signal that ended it."""

    local_rank: int
    exitcode: int
    timestamp: int
    error_file_data: dict[str, Any]


def is_connection_error(error: BaseException) -> bool:
    """Return whether an error says that another rank did not answer, or the cause of the error does."""
    if is_out_of_memory(error):
        return False
    if type(error).__name__ in _CONNECTION_ERRORS:
        return True
    text = str(error).lower()
    if isinstance(error, RuntimeError | ConnectionError) and any(clue in text for clue in _CONNECTION_CLUES):
        return True
    return error.__cause__ is not None and is_connection_error(error.__cause__)


def run_ranks(arguments: Sequence[str], size: int) -> RankError | None:
    """Run this program as `size` ranks with the same arguments; return how they failed, or None if they did not."""
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // size)))
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # gloo's warnings about closed connections
    os.environ[LAUNCHER] = str(os.getpid())
    logging.disable(logging.CRITICAL)  # the launcher's tables and traces, in this process
    config = LaunchConfig(
        1, 1, size, max_restarts=0, rdzv_backend="c10d", rdzv_endpoint="localhost:0", local_addr="localhost"
    )
    try:
        elastic_launch(config, sys.executable)("-m", "clearhead", *arguments)
    except SignalException:  # it has passed the signal on, and the ranks have saved and stopped
        return RankError("it was interrupted.", INTERRUPTED)
    except ChildFailedError as error:
        return describe_failure(error.failures.values(), size)
    return None


def describe_failure(failures: Iterable[Failure], size: int) -> RankError:
    """Return the failure that made the others fail.

    A rank is more likely to be the cause, in this order: an error of its own, or a signal that the launcher does not
    send at once; ended by SIGTERM or an abort, as C++ code does when a connection is lost; a lost connection. Between
    equals, the earlier one decides.
    """
    cause = min(failures, key=lambda failure: (_kind(failure), failure.timestamp, failure.local_rank))
    entry = cause.error_file_data
    others = "the other processes were ended" if size > 2 else "the other process was ended"
    start = f"rank {cause.local_rank} failed, and {others}"
    if "code" in entry:
        return RankError(f"{start}: {printable(entry['message'])}", entry["code"], options=entry["options"])
    if cause.exitcode == INTERRUPTED:
        return RankError("it was interrupted.", INTERRUPTED)
    if cause.exitcode < 0:
        number = -cause.exitcode
        reason = f"it was ended by the signal {number} ({signal.Signals(number).name})."
        reason += " Was the memory of the machine full?" if number == signal.SIGKILL else ""
    else:
        reason = f"it ended with the exit code {cause.exitcode}."
    return RankError(f"{start}: {reason} Resume the run from its last checkpoint.", 2, options=("resume",))


def _kind(failure: Failure) -> int:
    if failure.error_file_data.get("is_of_connection"):
        return 2
    return int(failure.exitcode in (-signal.SIGTERM, -signal.SIGABRT, INTERRUPTED))


def watch_launcher() -> None:
    """Stop this rank, as SIGTERM does, when our launcher has disappeared: SIGKILL gives it no time to end its ranks."""
    if LAUNCHER not in os.environ:
        return
    launcher = int(os.environ[LAUNCHER])

    def watch() -> None:
        while os.getppid() == launcher:
            time.sleep(_WATCH)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="watch-launcher", daemon=True).start()
