"""Which rank failed first: when one rank ends, the others lose their connection to it and fail too.

The rank that caused it is found from the exit codes of all ranks and the errors that they recorded, not from the order
in which they ended: the kernel closes the connections of a killed process before its parent learns that it was killed.
"""

import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clearhead.errors import ClearheadError, is_out_of_memory, printable
from clearhead.files.json_file import parse_object
from clearhead.files.writing import replace_file

INTERRUPTED = 130
_INTERRUPTIONS = (INTERRUPTED, 128 + signal.SIGTERM)
# In the messages of gloo, NCCL, the stores of torch and the kernel about a process that does not answer any more.
_CONNECTION_CLUES = (
    "gloo", "nccl", "connection closed", "connection reset", "connection refused", "broken pipe", "tcpstore",
    "processgroup", "socket timeout", "timed out waiting", "timeout caused pair closure",
)  # fmt: skip
_CONNECTION_ERRORS = ("DistBackendError", "DistNetworkError", "DistStoreError", "DistError")
_MAX_CHARACTERS = 2000  # of an error that is reported


@dataclass(frozen=True)
class FailureRecord:
    """An error as its rank recorded it. With `is_of_connection`, another rank did not answer, and may have failed."""

    rank: int
    sentence: str
    is_of_connection: bool
    code: int  # exit code of the process
    time: float  # seconds since 1970
    options: Any = ()  # what the user can change, as in ClearheadError


@dataclass(frozen=True)
class RankEnd:
    """How the process of a rank ended. A negative code is the signal that ended it, as in `subprocess`."""

    rank: int
    code: int
    was_ended: bool = False  # the launcher ended it, because another rank had failed
    record: FailureRecord | None = None
    order: int = 0  # the number of processes that were seen to end before it

    @property
    def has_failed(self) -> bool:
        """Whether it ended other than with success."""
        return self.code != 0


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


def make_record(rank: int, error: BaseException) -> FailureRecord:
    """Describe an error of a rank."""
    options: Any = ()
    is_of_connection = False
    if isinstance(error, ClearheadError):
        sentence, code, options = str(error), 2, error.options
    elif isinstance(error, KeyboardInterrupt):
        sentence, code = "it was interrupted", INTERRUPTED
    elif is_out_of_memory(error):
        sentence, code = "there is not enough memory. Lower training.batch_tokens, or use a smaller model.", 2
    elif is_connection_error(error):
        first = (str(error).splitlines() or [""])[0]
        sentence, code, is_of_connection = f"it lost the connection to another rank ({first})", 2, True
    elif isinstance(error, OSError):
        sentence, code = f"{error.filename or 'a file'} cannot be used: {error.strerror or error}", 2
    else:
        sentence, code = f"this is a bug in clearhead, not a mistake of yours: {type(error).__name__}: {error}", 3
    return FailureRecord(rank, sentence[:_MAX_CHARACTERS], is_of_connection, code, time.time(), options)


def write_record(folder: Path, record: FailureRecord) -> None:
    """Write the error of a rank for the launcher."""
    replace_file(folder / f"rank-{record.rank}.json", json.dumps(asdict(record)).encode())


def read_record(folder: Path, rank: int) -> FailureRecord | None:
    """Return the error that a rank recorded, or None if it recorded none, as a killed process."""
    path = folder / f"rank-{rank}.json"
    return FailureRecord(**parse_object(path.read_bytes())) if path.is_file() else None


def record_for_torchrun(error: BaseException) -> None:
    """Let torchrun repeat an error in its table of failures, if it has started this process."""
    if "TORCHELASTIC_ERROR_FILE" in os.environ:
        from torch.distributed.elastic.multiprocessing.errors import get_error_handler

        get_error_handler().record_exception(error)


def find_cause(ends: Sequence[RankEnd]) -> RankEnd | None:
    """Return the rank whose failure made the others fail, or None if no rank failed.

    A rank is more likely to be the cause, in this order: ended by a signal that nobody here sent (for example killed
    for its memory); failed with an error of its own; crashed without a record; interrupted; lost a connection. A rank
    that the launcher ended is never the cause, unless there is no other. Between equals, the earlier error decides.
    """
    failed = [end for end in ends if end.has_failed]
    return min(failed, key=_precedence, default=None)


def _precedence(end: RankEnd) -> tuple[int, float, int, int]:
    moment = end.record.time if end.record is not None else 0.0
    return _kind(end), moment, end.order, end.rank


def _kind(end: RankEnd) -> int:
    if end.was_ended:
        return 6 if end.record is None or end.record.is_of_connection else 1
    if end.record is not None and end.record.code == INTERRUPTED:
        return 3
    if end.record is not None:
        return 5 if end.record.is_of_connection else 1
    if end.code in _INTERRUPTIONS:
        return 3
    if end.code == -signal.SIGABRT:
        return 4  # C++ code also aborts when a connection is lost in a thread of its own
    return 0 if end.code < 0 else 2


def is_interruption(end: RankEnd) -> bool:
    """Whether a rank did not fail, but was stopped by a signal that all ranks received."""
    return _kind(end) in (3, 6)


def describe_cause(cause: RankEnd, ends: Sequence[RankEnd]) -> str:
    """Return one sentence with the rank that failed and its error; an error that all ranks share has no rank."""
    records = [end.record for end in ends if end.record is not None and not end.record.is_of_connection]
    if cause.record is not None and len(records) == len(ends) and len({record.sentence for record in records}) == 1:
        return cause.record.sentence
    others = "the other processes were ended" if len(ends) > 2 else "the other process was ended"
    return f"rank {cause.rank} failed, and {others}: {_reason(cause)}"


def _reason(cause: RankEnd) -> str:
    if cause.record is not None:
        sentence = printable(cause.record.sentence)
        return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
    if cause.code < 0:
        name = _signal_name(-cause.code)
        advice = " Was the memory of the machine full?" if -cause.code == signal.SIGKILL else ""
        return f"it was ended by the signal {-cause.code} ({name}).{advice}"
    return f"it ended with the exit code {cause.code} and no message."


def _signal_name(number: int) -> str:
    names: Mapping[int, str] = {one.value: one.name for one in signal.Signals}
    return names.get(number, "unknown")
