"""The messages between the server and its worker processes: a length, a status and bytes. Nothing is unpickled."""

import struct
from typing import IO, Protocol

READY = 100  # the status of the first message of a process, which waits for requests from then on
_REQUEST = struct.Struct(">Q")  # length
_ANSWER = struct.Struct(">HQ")  # status, length


class FrameError(Exception):
    """The other process ended before its message was complete."""


class ByteSource(Protocol):
    """What messages are read from."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most this many bytes."""


def write_request(pipe: IO[bytes], request: bytes) -> None:
    """Send a request to a worker process."""
    pipe.write(_REQUEST.pack(len(request)) + request)
    pipe.flush()


def read_request(pipe: ByteSource) -> bytes:
    """Return the next request, or raise FrameError at the end."""
    (length,) = _REQUEST.unpack(_read(pipe, _REQUEST.size))
    return _read(pipe, length)


def write_answer(pipe: IO[bytes], status: int, body: bytes) -> None:
    """Send an answer to the server."""
    pipe.write(_ANSWER.pack(status, len(body)))
    pipe.write(body)
    pipe.flush()


def read_answer(pipe: ByteSource) -> tuple[int, bytes]:
    """Return the status and the body of the next answer, or raise FrameError at the end."""
    status, length = _ANSWER.unpack(_read(pipe, _ANSWER.size))
    return status, _read(pipe, length)


def _read(pipe: ByteSource, size: int) -> bytes:
    chunks = []
    while size:
        chunk = pipe.read(size)
        if not chunk:
            raise FrameError
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)
