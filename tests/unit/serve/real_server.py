"""`clearhead serve` as a process, as its users start it, and connections that misbehave."""

import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import requests

_ADDRESS = re.compile(r"at http://127\.0\.0\.1:(\d+) ")


@dataclass(frozen=True)
class RealServer:
    """A server process, and the lines that it has written so far."""

    process: "subprocess.Popen[str]"
    port: int
    lines: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def translate(self, text: str = "I have a car.", **fields: object) -> requests.Response:
        """Ask for a translation from English into Spanish."""
        body = {"q": text, "source": "en", "target": "es", **fields}
        return requests.post(f"{self.url}/translate", json=body, timeout=60)

    def connect(self, content: bytes = b"") -> socket.socket:
        """Return a connection over which some bytes were sent."""
        return connect(self.url, content)


@contextmanager
def real_server(*arguments: str) -> Iterator[RealServer]:
    """Start `clearhead serve` on a free port, wait until it listens, and stop it afterwards."""
    command = [sys.executable, "-m", "clearhead", "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stderr is not None
        lines = [process.stderr.readline()]
        match = _ADDRESS.search(lines[0])
        reader = threading.Thread(target=lambda: lines.extend(process.stderr or ()), daemon=True)
        reader.start()
        try:
            assert match is not None, lines
            yield RealServer(process, int(match[1]), lines)
        finally:
            process.terminate()
            process.wait(timeout=60)
            reader.join(timeout=10)


def connect(url: str, content: bytes = b"") -> socket.socket:
    """Return a connection to the server at an address, over which some bytes were sent."""
    connection = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=30)
    connection.sendall(content)
    return connection


def answer_on(connection: socket.socket) -> bytes:
    """Return everything that the server sends until it closes the connection."""
    chunks = []
    with connection:
        while True:
            try:
                chunk = connection.recv(65536)
            except ConnectionResetError:
                break
            if not chunk:
                break
            chunks.append(chunk)
    return b"".join(chunks)
