"""Which rank is named as the one that failed: every order in which the ends of the ranks can be seen."""

import itertools
import signal
from pathlib import Path

import pytest

from clearhead.errors import ConfigError, RunError
from clearhead.training.distributed.failure import (
    FailureRecord,
    RankEnd,
    describe_cause,
    find_cause,
    is_connection_error,
    is_interruption,
    make_record,
    read_record,
    record_for_torchrun,
    write_record,
)

CLOSED = "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:23057"


def lost(rank: int, moment: float = 1.0) -> RankEnd:
    """A rank that lost the connection to another one."""
    return RankEnd(rank, 2, record=FailureRecord(rank, f"it lost the connection ({CLOSED})", True, 2, moment))


def wrong(rank: int, moment: float = 5.0) -> RankEnd:
    """A rank with an error of its own."""
    return RankEnd(rank, 2, record=FailureRecord(rank, "the disk is full.", False, 2, moment))


def interrupted(rank: int) -> RankEnd:
    return RankEnd(rank, 130, record=FailureRecord(rank, "it was interrupted", False, 130, 3.0))


CAUSES: dict[str, tuple[list[RankEnd], int]] = {
    "killed, and the others lost the connection": ([lost(0), RankEnd(1, -signal.SIGKILL), lost(2)], 1),
    "killed, and another was ended": (
        [RankEnd(0, -signal.SIGKILL, was_ended=True), lost(1), RankEnd(2, -signal.SIGKILL)],
        2,
    ),
    "killed, and another aborted": ([RankEnd(0, -signal.SIGABRT), RankEnd(1, -signal.SIGKILL), lost(2)], 1),
    "an own error, and the others lost the connection earlier": ([lost(0, 1.0), wrong(1, 5.0), lost(2, 2.0)], 1),
    "an own error, and another aborted": ([wrong(0), RankEnd(1, -signal.SIGABRT), lost(2)], 0),
    "the earlier of two own errors": ([wrong(0, 7.0), lost(1), wrong(2, 5.0)], 2),
    "a crash without a record": ([lost(0), lost(1), RankEnd(2, 1)], 2),
    "an abort, and the others lost the connection": ([lost(0), RankEnd(1, -signal.SIGABRT), lost(2)], 1),
    "an interruption of one rank": ([lost(0), interrupted(1), lost(2)], 1),
    "a recorded error of a rank that was then ended": (
        [
            lost(0),
            RankEnd(1, -signal.SIGKILL, was_ended=True, record=wrong(1).record),
            RankEnd(2, -signal.SIGKILL, was_ended=True),
        ],
        1,
    ),
    "only connections were lost": ([lost(0, 3.0), lost(1, 2.0), RankEnd(2, -signal.SIGKILL, was_ended=True)], 1),
    "a rank that succeeded is no cause": ([RankEnd(0, 0), lost(1), RankEnd(2, -signal.SIGSEGV)], 2),
}


@pytest.mark.parametrize("case", CAUSES)
def test_the_cause_is_the_same_in_every_order_of_events(case: str) -> None:
    ends, expected = CAUSES[case]
    for order in itertools.permutations(range(3)):
        for arrangement in itertools.permutations(ends):
            seen = [
                RankEnd(end.rank, end.code, end.was_ended, end.record, order[place])
                for place, end in enumerate(arrangement)
            ]
            cause = find_cause(seen)
            assert cause is not None
            assert cause.rank == expected


def test_ranks_that_all_succeed_have_no_cause() -> None:
    assert find_cause([RankEnd(0, 0), RankEnd(1, 0)]) is None
    assert find_cause([]) is None


def test_the_sentence_names_the_rank_and_its_error() -> None:
    ends = [lost(0), RankEnd(1, -signal.SIGKILL)]
    assert describe_cause(ends[1], ends) == (
        "rank 1 failed, and the other process was ended: it was ended by the signal 9 (SIGKILL). Was the memory of the "
        "machine full?"
    )
    ends = [lost(0), wrong(1), lost(2)]
    assert describe_cause(ends[1], ends) == "rank 1 failed, and the other processes were ended: the disk is full."
    ends = [lost(0), RankEnd(1, 7)]
    assert describe_cause(ends[1], ends) == (
        "rank 1 failed, and the other process was ended: it ended with the exit code 7 and no message."
    )


def test_an_error_that_all_ranks_share_is_reported_without_a_rank() -> None:
    ends = [wrong(0), wrong(1)]
    assert describe_cause(ends[0], ends) == "the disk is full."


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
    record = make_record(1, error)
    assert record.is_of_connection
    assert record.sentence.startswith("it lost the connection to another rank (")
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
        (OSError(28, "No space left on device", "run/x"), "run/x cannot be used: No space left on device", 2),
        (
            ValueError("sizes differ"),
            "this is a bug in clearhead, not a mistake of yours: ValueError: sizes differ",
            3,
        ),
        (KeyboardInterrupt(), "it was interrupted", 130),
    ],
)
def test_an_own_error_is_not_taken_for_one_of_another_rank(error: BaseException, sentence: str, code: int) -> None:
    record = make_record(3, error)
    assert (record.rank, record.sentence, record.code, record.is_of_connection) == (3, sentence, code, False)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = make_record(2, RunError("the folder is in use.", options={"run": "runs/my"}))
    write_record(tmp_path, record)
    assert read_record(tmp_path, 2) == record
    assert read_record(tmp_path, 1) is None


def test_torchrun_gets_an_error_in_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHELASTIC_ERROR_FILE", raising=False)
    record_for_torchrun(RunError("the folder is in use."))
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))
    record_for_torchrun(RunError("the folder is in use."))
    assert "the folder is in use." in (tmp_path / "error.json").read_text()


def test_an_interruption_is_told_from_a_failure() -> None:
    assert is_interruption(interrupted(0))
    assert is_interruption(RankEnd(0, 130))
    assert is_interruption(RankEnd(0, -signal.SIGTERM, was_ended=True))
    assert not is_interruption(wrong(0))
    assert not is_interruption(RankEnd(0, -signal.SIGKILL))
