"""Which rank is named as the one that failed, and what torch's launcher reads about its error."""

import itertools
import json
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from clearhead.errors import ConfigError, RunError
from clearhead.training.distributed.launcher import RankError, describe_failure, is_connection_error

CLOSED = "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:23057"


@dataclass
class End:
    """What torch's ProcessFailure has."""

    local_rank: int
    exitcode: int
    timestamp: int = 5
    error_file_data: dict[str, Any] = field(default_factory=lambda: {"message": "<NONE>"})


def lost(rank: int, moment: int = 1) -> End:
    """A rank that lost the connection to another one."""
    return recorded(rank, moment, f"it lost the connection ({CLOSED}).", is_of_connection=True)


def wrong(rank: int, moment: int = 5) -> End:
    """A rank with an error of its own."""
    return recorded(rank, moment, "the disk is full.", is_of_connection=False)


def recorded(rank: int, moment: int, message: str, *, is_of_connection: bool) -> End:
    entry = {"message": message, "code": 2, "is_of_connection": is_of_connection, "options": []}
    return End(rank, 2, moment, entry)


CAUSES: dict[str, tuple[list[End], int]] = {
    "killed, and the others lost the connection": ([lost(0), End(1, -signal.SIGKILL), lost(2)], 1),
    "killed, and another was ended": ([End(0, -signal.SIGTERM), lost(1), End(2, -signal.SIGKILL)], 2),
    "killed, and another hung until it was killed too": ([End(0, -signal.SIGKILL, 35), End(2, -signal.SIGKILL)], 2),
    "killed, and another aborted": ([End(0, -signal.SIGABRT), End(1, -signal.SIGKILL), lost(2)], 1),
    "an own error, and the others lost the connection earlier": ([lost(0, 1), wrong(1, 5), lost(2, 2)], 1),
    "an own error, and another aborted": ([wrong(0), End(1, -signal.SIGABRT), lost(2)], 0),
    "the earlier of two own errors": ([wrong(0, 7), lost(1), wrong(2, 5)], 2),
    "a crash without a record": ([lost(0), lost(1), End(2, 1)], 2),
    "an abort, and the others lost the connection": ([lost(0), End(1, -signal.SIGABRT), lost(2)], 1),
    "an interruption of one rank": ([lost(0), End(1, 130), lost(2)], 1),
    "only connections were lost": ([lost(0, 3), lost(1, 2)], 1),
}


@pytest.mark.parametrize("case", CAUSES)
def test_the_cause_is_the_same_in_every_order(case: str) -> None:
    ends, expected = CAUSES[case]
    names = {describe_failure(order, 3).sentence for order in itertools.permutations(ends)}
    assert len(names) == 1
    assert names <= {"it was interrupted."} or names.pop().startswith(f"rank {expected} failed, and the other")


def test_the_sentence_names_the_rank_and_its_error() -> None:
    assert describe_failure([lost(0), End(1, -signal.SIGKILL)], 2).sentence == (
        "rank 1 failed, and the other process was ended: it was ended by the signal 9 (SIGKILL). Was the memory of the "
        "machine full? Resume the run from its last checkpoint."
    )
    assert describe_failure([wrong(1)], 3).sentence == (
        "rank 1 failed, and the other processes were ended: the disk is full."
    )
    assert describe_failure([End(1, 7)], 2).sentence == (
        "rank 1 failed, and the other process was ended: it ended with the exit code 7. Resume the run from its last "
        "checkpoint."
    )
    assert describe_failure([End(1, 130)], 2).code == 130


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(CLOSED),
        RuntimeError("[…/gloo/transport/tcp/pair.cc:161] Read error [127.0.0.1]:23057: Connection reset by peer"),
        RuntimeError("[…/gloo/transport/unbound_buffer.cc:84] Timed out waiting 1800000ms for recv operation"),
        RuntimeError("NCCL error in: ProcessGroupNCCL.cpp:2251, remote process exited or there was a network error"),
        ConnectionResetError("Connection reset by peer"),
        type("DistBackendError", (RuntimeError,), {})("anything"),
        type("DistNetworkError", (RuntimeError,), {})("The client socket has timed out"),
    ],
)
def test_an_error_about_another_rank_is_recognised(error: Exception) -> None:
    assert is_connection_error(error)
    problem = RankError.of(error)
    assert problem.is_of_connection
    assert problem.sentence.startswith("it lost the connection to another rank (")
    outer = ValueError("while saving")
    outer.__cause__ = error
    assert is_connection_error(outer)


@pytest.mark.parametrize(
    ("error", "sentence", "code"),
    [
        (ConfigError("training.rate = -1 is too small."), "training.rate = -1 is too small.", 2),
        (MemoryError(), "there is not enough memory. Lower training.batch_tokens, or use a smaller model.", 2),
        (
            RuntimeError("NCCL Error 1: unhandled cuda error: out of memory"),
            "there is not enough memory. Lower training.batch_tokens, or use a smaller model.",
            2,
        ),
        (OSError(28, "No space left on device", "run/x"), "run/x cannot be used: No space left on device.", 2),
        (
            ValueError("sizes differ"),
            "this is a bug in clearhead, not a mistake of yours: ValueError: sizes differ",
            3,
        ),
        (KeyboardInterrupt(), "it was interrupted.", 130),
    ],
)
def test_an_own_error_is_not_taken_for_one_of_another_rank(error: BaseException, sentence: str, code: int) -> None:
    assert RankError.of(error) == RankError(sentence, code)


def test_torchs_launcher_gets_an_error_in_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.distributed.elastic.multiprocessing.errors import ProcessFailure

    problem = RankError.of(RunError("the folder is in use.", options={"run": "runs/my"}))
    monkeypatch.delenv("TORCHELASTIC_ERROR_FILE", raising=False)
    problem.write()
    path = tmp_path / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(path))
    problem.write()
    failure = ProcessFailure(1, 4711, 2, str(path))
    assert failure.message == "the folder is in use."
    assert failure.timestamp == json.loads(path.read_text())["timestamp"]
    result = describe_failure([failure], 2)
    assert (result.sentence, result.code, result.options) == (
        "rank 1 failed, and the other process was ended: the folder is in use.",
        2,
        {"run": "runs/my"},
    )
