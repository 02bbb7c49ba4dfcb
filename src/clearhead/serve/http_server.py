"""Run the application with uvicorn: limits of connections and slow clients, and a stop that finishes what it began."""

import asyncio
import errno
import gc
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

import orjson
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clearhead.errors import ConfigError, printable
from clearhead.serve.app import create_app
from clearhead.serve.server import Server
from clearhead.serve.settings import LimitSettings, ServeSettings

_KEEP_ALIVE = 30  # seconds in which a connection may be idle between two requests
_MAX_HEADER_BYTES = 64 * 1024
_BACKLOG = 2048
_ANSWER_SECONDS = 5  # to send the last answers, after the time to finish requests is over
_QUIET = ("python_multipart", "multipart")  # loggers that describe requests on standard error
_REASONS = {408: "Request Timeout", 431: "Request Header Fields Too Large", 503: "Service Unavailable"}


def limited_protocol(limits: LimitSettings) -> type[asyncio.Protocol]:
    """Return the protocol of connections, with these limits.

    uvicorn itself waits without end for a client that sends its request slowly, or that connects and sends nothing.
    """

    class LimitedProtocol(HttpToolsProtocol):
        """A connection that is closed if its request is not complete in time, or has too large headers."""

        _timer: asyncio.TimerHandle | None = None
        _num_header_bytes: int | None = 0  # None: the headers are complete

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                self._refuse(503, "the server has too many connections. Try again later.")
            else:
                self._start_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            if self._num_header_bytes is not None:
                self._num_header_bytes += len(data)
            super().data_received(data)
            if self._num_header_bytes is not None and self._num_header_bytes > _MAX_HEADER_BYTES:
                self._refuse(431, f"the address and the headers have more than {_MAX_HEADER_BYTES:,} bytes.")

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._num_header_bytes = self._num_header_bytes or 0
            if self._timer is None:
                self._start_timer()

        def on_headers_complete(self) -> None:
            self._num_header_bytes = None
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._stop_timer()
            super().on_message_complete()

        def _start_timer(self) -> None:
            self._timer = self.loop.call_later(limits.read_seconds, self._is_late)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _is_late(self) -> None:
            self._timer = None
            self._refuse(408, f"the request was not complete within {limits.read_seconds:g} s.")

        def _refuse(self, status: int, sentence: str) -> None:
            """Send an error, if no answer has begun, and close the connection."""
            self._stop_timer()
            if self.transport.is_closing():
                return
            if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
                body = orjson.dumps({"error": sentence})
                retry = "retry-after: 5\r\n" if status == 503 else ""
                heading = (
                    f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\n{retry}"
                    f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
                )
                self.transport.write(heading.encode() + body)
            self.transport.close()

    return LimitedProtocol


class HttpServer(uvicorn.Server):
    """A uvicorn server that ends normally after SIGTERM or Ctrl-C; uvicorn would raise the signal again."""

    def __init__(self, config: uvicorn.Config, server: Server) -> None:
        super().__init__(config)
        self._server = server

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish started requests, and answer 503 to those that are not finished in time."""
        seconds = self._server.settings.limits.shutdown_seconds
        timer = asyncio.get_running_loop().call_later(seconds, self._server.interrupt)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal: no new connections, started requests are finished. A second Ctrl-C does not wait."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        handlers = {number: signal.signal(number, self.handle_exit) for number in signals}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket, or raise ConfigError if the address cannot be used."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
    except (OSError, UnicodeError) as wrong:
        reason = wrong.strerror if isinstance(wrong, OSError) and wrong.strerror else str(wrong)
        if not isinstance(wrong, OSError) or isinstance(wrong, socket.gaierror) or wrong.errno == errno.EADDRNOTAVAIL:
            raise ConfigError(
                f"host = '{printable(host)}' is not an address of this machine: {reason}. Use 127.0.0.1 for this "
                "machine only, or 0.0.0.0 for all its addresses.",
                options=("host",),
            ) from None
        raise ConfigError(
            f"host = '{printable(host)}' and port = {port} cannot be used: {reason}. Choose another port.",
            options=("port", "host"),
        ) from None
    listener.setblocking(False)
    return listener


def is_reachable_by_anybody(settings: ServeSettings) -> bool:
    """Return whether other machines can send requests, and need no key."""
    if settings.keys.is_required or settings.host == "localhost":
        return False
    try:
        return not ip_address(settings.host).is_loopback
    except ValueError:  # a name
        return True


def make_http_server(server: Server) -> HttpServer:
    """Return a server that is ready to run, with a socket or within another event loop."""
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)
    settings: dict[str, Any] = {
        "http": limited_protocol(server.settings.limits),
        "ws": "none",
        "lifespan": "on",
        "log_config": None,
        "log_level": "error",
        "access_log": False,
        "server_header": False,
        "backlog": _BACKLOG,
        "timeout_keep_alive": _KEEP_ALIVE,
        "timeout_graceful_shutdown": server.settings.limits.shutdown_seconds + _ANSWER_SECONDS,
    }
    return HttpServer(uvicorn.Config(create_app(server), **settings), server)


def serve_forever(server: Server, started: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; `started` is called with the address."""
    settings = server.settings
    listener = bind(settings.host, settings.port)
    try:
        server.preload()
        http_server = make_http_server(server)
        gc.collect()
        gc.freeze()  # what is loaded by now stays, so collections need not look at it
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        started(f"http://{shown}:{port}")
        http_server.run(sockets=[listener])
    finally:
        listener.close()
        server.log.flush()
