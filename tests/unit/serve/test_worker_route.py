"""Routes that worker processes answer: a client that goes away leaves the queue."""

import asyncio
from typing import Any, cast

import pytest
from starlette.requests import Request

from clearhead.serve.api_errors import ApiError
from clearhead.serve.worker_process import WorkerPool
from clearhead.serve.worker_route import answer_by_worker, json_bytes


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
