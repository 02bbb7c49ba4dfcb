"""What the routes share that worker processes answer: the answer itself, and a client that goes away."""

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from clearhead.serve.api_errors import ApiError
from clearhead.serve.worker_process import WorkerPool

_POLL_SECONDS = 0.5  # between checks whether the client still waits


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


def json_bytes(content: bytes) -> Response:
    """Return an answer that is JSON already."""
    return Response(content, media_type="application/json")
