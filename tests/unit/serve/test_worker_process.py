"""Processes of their own: they answer, end, are killed, are started again, and say so."""

import asyncio
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.requests import Request

from clearhead.errors import DataError
from clearhead.serve import worker_loop, worker_process
from clearhead.serve.api_errors import ApiError
from clearhead.serve.worker_calls import answer_by_worker, json_bytes
from clearhead.serve.worker_frames import FrameError, read_answer, read_request, write_answer, write_request
from clearhead.serve.worker_process import WorkerJob, WorkerLimits, WorkerPool

CHILD = """
import os, sys, time
from clearhead.serve import worker_loop
worker_loop._HANDLERS["echo"] = "echo_handler"
worker_loop.main(*sys.argv[1:])
"""
HANDLER = """
import os, time
from clearhead.errors import DataError

def make_handler(options):
    if "fault" in options:
        raise ModuleNotFoundError("no torch", name="torch")
    def handle(request):
        print("printed by a library")
        if request.get("is_wrong"):
            raise DataError("the text is wrong.")
        if request.get("is_fatal"):
            os._exit(7)
        time.sleep(request.get("seconds", 0))
        return f"{os.getpid()} {request['text']}".encode()
    return handle
"""


@pytest.fixture
def make_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., WorkerPool]]:
    """A function that returns a pool whose processes echo a text."""
    (tmp_path / "echo_child.py").write_text(CHILD)
    (tmp_path / "echo_handler.py").write_text(HANDLER)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.setattr(worker_process, "_MODULE", "echo_child")
    pools: list[WorkerPool] = []

    def make(limits: WorkerLimits, options: Mapping[str, Any] = {}) -> WorkerPool:
        pools.append(WorkerPool(WorkerJob("echo", "the echo", options), limits))
        return pools[-1]

    yield make
    for pool in pools:
        asyncio.run(pool.stop())


def test_a_process_answers_again_and_again(make_pool: Callable[..., WorkerPool]) -> None:
    pool = make_pool(WorkerLimits(time_limit=30, max_waiting=2))

    async def ask() -> list[bytes]:
        return [await pool.answer({"text": text}) for text in ("one", "ñ <two>")]

    answers = asyncio.run(ask())
    assert [answer.split(b" ", 1)[1].decode() for answer in answers] == ["one", "ñ <two>"]
    assert {int(answer.split()[0]) for answer in answers} == set(pool.pids)


def test_bad_input_is_status_400_and_the_process_goes_on(make_pool: Callable[..., WorkerPool]) -> None:
    pool = make_pool(WorkerLimits(time_limit=30, max_waiting=2))

    async def ask() -> None:
        with pytest.raises(ApiError, match=r"^the text is wrong\.$") as refused:
            await pool.answer({"text": "", "is_wrong": True})
        assert refused.value.status == 400
        pids = pool.pids
        await pool.answer({"text": "next"})
        assert pool.pids == pids

    asyncio.run(ask())


def test_a_process_that_ends_in_mid_request_is_replaced(make_pool: Callable[..., WorkerPool]) -> None:
    pool = make_pool(WorkerLimits(time_limit=30, max_waiting=2, retry_after=3))

    async def ask() -> None:
        with pytest.raises(ApiError, match=r"^the process for the echo ended before it answered; another") as refused:
            await pool.answer({"text": "", "is_fatal": True})
        assert (refused.value.status, refused.value.retry_after) == (503, 3)
        assert (await pool.answer({"text": "next"})).endswith(b" next")

    asyncio.run(ask())


def test_a_process_that_was_killed_between_requests_is_replaced_without_an_error(
    make_pool: Callable[..., WorkerPool],
) -> None:
    pool = make_pool(WorkerLimits(time_limit=30, max_waiting=2))

    async def ask() -> None:
        first = await pool.answer({"text": "first"})
        os.kill(int(first.split()[0]), signal.SIGKILL)
        while pool.pids:
            await asyncio.sleep(0.01)
        assert (await pool.answer({"text": "second"})).endswith(b" second")

    asyncio.run(ask())


def test_a_process_is_killed_at_its_time_limit(make_pool: Callable[..., WorkerPool]) -> None:
    pool = make_pool(WorkerLimits(time_limit=0.2, max_waiting=2))

    async def ask() -> None:
        with pytest.raises(ApiError, match=r"^the echo took longer than the limit of 0\.2 s\.") as refused:
            await pool.answer({"text": "", "seconds": 100})
        assert refused.value.status == 504
        assert (await pool.answer({"text": "next"})).endswith(b" next")

    asyncio.run(ask())


def test_an_idle_process_is_ended_and_the_next_request_starts_another(make_pool: Callable[..., WorkerPool]) -> None:
    pool = make_pool(WorkerLimits(time_limit=30, max_waiting=2, idle_seconds=0.5))

    async def ask() -> None:
        first = await pool.answer({"text": "first"})
        again = await pool.answer({"text": "again", "seconds": 1})  # longer than it may be idle
        assert first.split()[0] == again.split()[0]
        while pool.pids:
            await asyncio.sleep(0.02)
        later = await pool.answer({"text": "later"})
        assert later.split()[0] != first.split()[0]

    asyncio.run(ask())


def test_a_full_queue_refuses_and_a_cancelled_request_leaves_it(make_pool: Callable[..., WorkerPool]) -> None:
    pool = make_pool(WorkerLimits(time_limit=30, max_waiting=1, retry_after=4))

    async def ask() -> None:
        running = asyncio.create_task(pool.answer({"text": "running", "seconds": 1}))
        while not pool.pids:
            await asyncio.sleep(0.01)
        waiting = asyncio.create_task(pool.answer({"text": "waiting"}))
        await asyncio.sleep(0.05)
        assert pool.num_open == 2
        with pytest.raises(ApiError, match=r"^2 requests for the echo wait already, which is the limit\.") as refused:
            await pool.answer({"text": "one too many"})
        assert (refused.value.status, refused.value.retry_after) == (503, 4)
        waiting.cancel()
        await asyncio.sleep(0.05)
        assert pool.num_open == 1
        assert (await pool.answer({"text": "next"})).endswith(b" next")
        assert (await running).endswith(b" running")

    asyncio.run(ask())


def test_a_package_that_is_missing_is_status_501(make_pool: Callable[..., WorkerPool]) -> None:
    pool = make_pool(WorkerLimits(time_limit=30, max_waiting=1), {"fault": True})

    async def ask() -> None:
        with pytest.raises(ApiError, match=r"^an explanation needs torch, which is not installed\. Run") as refused:
            await pool.answer({"text": ""})
        assert refused.value.status == 501

    asyncio.run(ask())


def test_a_pool_that_stops_ends_its_processes_and_its_requests(make_pool: Callable[..., WorkerPool]) -> None:
    pool = make_pool(WorkerLimits(time_limit=30, max_waiting=1))

    async def ask() -> None:
        task = asyncio.create_task(pool.answer({"text": "", "seconds": 100}))
        while not pool.pids:
            await asyncio.sleep(0.01)
        (pid,) = pool.pids
        await pool.stop()
        with pytest.raises(ApiError, match="ended before it answered|is stopping"):
            await task
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    asyncio.run(ask())


def test_a_process_that_cannot_be_started_is_reported(
    make_pool: Callable[..., WorkerPool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    pool = make_pool(WorkerLimits(time_limit=30, max_waiting=1))
    with pytest.raises(ApiError, match=r"^the process for the echo could not be started: No such file"):
        asyncio.run(pool.answer({"text": ""}))


@pytest.mark.parametrize(
    ("fault", "status", "sentence"),
    [
        (DataError("wrong."), 400, "wrong."),
        (ApiError(504, "late."), 504, "late."),
        (MemoryError(), 400, "this needs more memory than the server gives to a request. Send a smaller one."),
        (RecursionError(), 400, "this is nested too deeply. Send a simpler request."),
        (KeyError("the user's text"), 500, "the server has an error of its own; its log says where."),
    ],
)
def test_an_error_has_a_status_and_a_sentence_without_the_users_text(
    fault: Exception, status: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def handle(request: Mapping[str, Any]) -> bytes:
        raise fault

    assert worker_loop.answer(handle, b"{}") == (status, sentence.encode())
    log = capsys.readouterr().err
    assert "the user's text" not in log
    assert ("KeyError at" in log) == (status == 500)


def test_messages_are_read_as_they_were_written_and_a_cut_one_is_an_error() -> None:
    pipe = io.BytesIO()
    write_request(pipe, b"request")
    write_answer(pipe, 404, b"answer")
    pipe.seek(0)
    assert read_request(pipe) == b"request"
    assert read_answer(pipe) == (404, b"answer")
    with pytest.raises(FrameError):
        read_request(io.BytesIO(pipe.getvalue()[:10]))


# A client that goes away leaves the queue


class SlowPool:
    """Stands in for a pool: it answers when it is told to, and counts what was cancelled."""

    def __init__(self) -> None:
        self.may_answer, self.num_cancelled = asyncio.Event(), 0

    async def answer(self, request: Any) -> bytes:
        """Wait until it may answer."""
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.num_cancelled += 1
            raise
        return b"{}"


class DepartingClient:
    """Stands in for a request whose client goes away at some time."""

    is_gone = False

    async def is_disconnected(self) -> bool:
        """Return whether the client has gone."""
        return self.is_gone


def test_a_request_whose_client_goes_away_leaves_the_queue() -> None:
    async def ask() -> None:
        pool, client = SlowPool(), DepartingClient()
        client.is_gone = True
        with pytest.raises(ApiError, match=r"^the client closed the connection before the answer was complete\.$"):
            await answer_by_worker(cast(WorkerPool, pool), cast(Request, client), {})
        await asyncio.sleep(0)
        assert pool.num_cancelled == 1

    asyncio.run(ask())


def test_a_request_whose_client_waits_is_answered() -> None:
    async def ask() -> bytes:
        pool = SlowPool()
        asyncio.get_running_loop().call_later(0.7, pool.may_answer.set)
        return await answer_by_worker(cast(WorkerPool, pool), cast(Request, DepartingClient()), {})

    assert asyncio.run(ask()) == b"{}"
    assert json_bytes(b"{}").headers["content-type"] == "application/json"
