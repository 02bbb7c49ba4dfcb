"""What surrounds every request: its measurement, its line in the log, and an answer even if there is a bug."""

import asyncio
import re
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clearhead.serve.api_errors import error_response, stopping_error
from clearhead.serve.server import Server

_UNKNOWN = "other"  # paths that are not routes are counted together, because anybody can invent them
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")  # in a header: it would end the header, or the connection
_BUG = "this is a bug in clearhead, not a mistake of yours. The log of the server says where it happened."


class RequestMiddleware:
    """Measures and logs requests; it adds no task and no thread to a request."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self.app, self.server = app, server
        self._requests: dict[tuple[str, str, int], Any] = {}
        self._seconds: dict[str, Any] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 0

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                if any(_CONTROL.search(value) for _, value in message.get("headers", ())):
                    raise ValueError("a header has a control character")  # uvicorn would send it as it is
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), _NO_SNIFFING]
            await send(message)

        try:
            await self.app(scope, receive, send_noted)
        except Exception as fault:
            self.server.log.fault(_path(scope), fault)
            if not status:
                await error_response(500, _BUG)(scope, receive, send_noted)
        except asyncio.CancelledError:  # the server ends; raising it again would only print a traceback
            if not status:
                error = stopping_error()
                await error_response(error.status, error.sentence, error.retry_after)(scope, receive, send_noted)
        finally:
            self._note(scope, status, time.perf_counter() - start)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        path, method = _path(scope), scope["method"]
        key = (path, method if path != _UNKNOWN else "", status)
        requests, duration = self._requests.get(key), self._seconds.get(path)
        if requests is None:
            requests = self._requests[key] = self.server.metrics.requests.labels(key[0], key[1], str(status))
        if duration is None:
            duration = self._seconds[path] = self.server.metrics.seconds.labels(path)
        requests.inc()
        duration.observe(seconds)
        log = self.server.log
        if log.is_on:
            record = {"time": round(time.time(), 3), "method": key[1], "path": path, "status": status}
            record["ms"] = round(1000 * seconds, 2)
            log.add({**record, **notes_of(scope)})


def notes_of(scope: MutableMapping[str, Any]) -> dict[str, Any]:
    """Return what the endpoint adds to the line of a request in the log, such as its model; never a text."""
    notes: dict[str, Any] = scope.setdefault("clearhead", {})
    return notes


def _path(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", _UNKNOWN)
