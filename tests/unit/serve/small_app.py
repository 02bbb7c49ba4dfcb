"""The application with few limits, for tests: no pages, one process for exercises, and settings that a test changes."""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from clearhead.serve.api_errors import ApiError, answer_api_error
from clearhead.serve.app import create_app
from clearhead.serve.http_server import bind, make_http_server
from clearhead.serve.server import Server
from clearhead.serve.settings import ServeSettings
from clearhead.settings import read_settings


@contextmanager
def served(settings: Mapping[str, Any] = {}) -> Iterator[TestClient]:
    """Yield a client of the whole application, without its pages."""
    server = Server(read_settings(ServeSettings, {"has_pages": False, "log": "off", **settings}))
    with TestClient(create_app(server), raise_server_exceptions=False) as client:
        yield client


@contextmanager
def served_routes(server: Server, *routers: Any) -> Iterator[TestClient]:
    """Yield a client of some routers only."""
    app = FastAPI()
    for router in routers:
        app.include_router(router)
    app.add_exception_handler(ApiError, answer_api_error)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client
        client.portal.call(server.stop)  # type: ignore[union-attr]


@contextmanager
def listening(settings: Mapping[str, Any] = {}) -> Iterator[str]:
    """Yield the address of the application behind a real socket, in a thread of this process."""
    web = make_http_server(Server(read_settings(ServeSettings, {"log": "off", **settings})))
    listener = bind("127.0.0.1", 0)
    thread = threading.Thread(target=web.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        web.should_exit = True
        thread.join()
        listener.close()


def child_pids(handler: str) -> list[int]:
    """Return the numbers of the worker processes of this process with a handler, as Linux lists them."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # a process that has just ended
            words = (folder / "cmdline").read_bytes().split(b"\0")
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and handler.encode() in words:
                pids.append(int(folder.name))
    return pids
