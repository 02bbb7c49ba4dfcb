"""The calls of the API that worker processes answer: their documentation, and a client that goes away."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from clearhead.serve.api_documentation import BodyExample, documented
from clearhead.serve.api_errors import ApiError
from clearhead.serve.worker_process import WorkerPool
from clearhead.settings import Settings

_POLL_SECONDS = 0.5  # between checks whether the client still waits


@dataclass(frozen=True)
class WorkerCall:
    """A call of the API, and its name in the worker process; the answer of the process is that of the API."""

    name: str
    path: str
    body: type[Settings]
    summary: str
    sentence: str  # for the documentation, as the docstring of a route
    example: Mapping[str, Any]  # of a body
    answer: Any = None
    media_type: str = "application/json"
    headers: Mapping[str, str] | None = None

    def add_to(
        self,
        router: APIRouter,
        answer: Callable[["WorkerCall", Request], Awaitable[bytes]],
        errors: Sequence[int],
    ) -> None:
        """Add the route of the call."""
        example = BodyExample.of(self.body, self.example)
        details = documented(self.summary, body=example, answer=self.answer, media_type=self.media_type, errors=errors)

        async def route(request: Request) -> Response:
            return Response(await answer(self, request), media_type=self.media_type, headers=self.headers)

        name = self.name.replace("-", "_")  # a part of the operation's identity in openapi.json
        router.post(self.path, name=name, description=self.sentence, **details)(route)


def json_bytes(content: bytes) -> Response:
    """Return an answer that is JSON already."""
    return Response(content, media_type="application/json")


async def answer_by_worker(pool: WorkerPool, request: Request, content: Mapping[str, Any]) -> bytes:
    """Return the answer of a process; a request whose client has gone leaves the queue."""
    task = asyncio.ensure_future(pool.answer(content))
    try:
        while True:
            finished, _ = await asyncio.wait({task}, timeout=_POLL_SECONDS)
            if finished:
                return task.result()
            if await request.is_disconnected():
                raise ApiError(400, "the client closed the connection before the answer was complete.")
    finally:
        task.cancel()
