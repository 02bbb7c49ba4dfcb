"""Read a file that a user named, up to a limit: devices, silent pipes and larger files are refused unread."""

import os
import select
import stat
from pathlib import Path

_PIPE_WAIT = 60.0  # seconds without data after which a pipe is given up
_CHUNK = 2**20


class UnreadableFileError(Exception):
    """A file that is not read: a device, a silent pipe, or more bytes than allowed. The message completes a sentence.

    `size` is the number of bytes of a file that is too large, or one more than the limit if the size is unknown.
    """

    def __init__(self, message: str, size: int | None = None) -> None:
        super().__init__(message)
        self.size = size


def read_bounded(path: Path, max_bytes: int) -> bytes:
    """Return the bytes of a file or a pipe, at most `max_bytes`; larger ones and devices raise UnreadableFileError.

    The size is checked before anything is read. A file can also grow, or declare no size (those in /proc), so no more
    than `max_bytes` + 1 bytes are ever read.
    """
    status = path.stat()
    if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        raise UnreadableFileError("is a device, not a file. Give a file")
    if stat.S_ISFIFO(status.st_mode):
        content = _read_pipe(path, max_bytes + 1)
    else:
        if status.st_size > max_bytes:
            raise UnreadableFileError(_too_large(status.st_size, max_bytes), status.st_size)
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise UnreadableFileError(_too_large(None, max_bytes), len(content))
    return content


def _too_large(size: int | None, max_bytes: int) -> str:
    unit, name = (2**20, "MiB") if max_bytes >= 2**20 else (2**10, "KiB")
    limit = f"{max_bytes / unit:.3g} {name}"
    return f"has more than {limit}" if size is None else f"has {size / unit:.0f} {name}; the limit is {limit}"


def _read_pipe(path: Path, max_bytes: int) -> bytes:
    """Read a pipe, as created by bash's <(…); one that nothing is written to is not waited for endlessly."""
    chunks: list[bytes] = []
    size = 0
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while size < max_bytes:
            if not select.select([descriptor], [], [], _PIPE_WAIT)[0]:
                raise UnreadableFileError(f"is a pipe that nothing was written to for {_PIPE_WAIT:.0f} s. Give a file")
            try:
                chunk = os.read(descriptor, min(_CHUNK, max_bytes - size))
            except BlockingIOError:  # another process read the data first
                continue
            if not chunk:
                break
            chunks.append(chunk)
            size += len(chunk)
    finally:
        os.close(descriptor)
    return b"".join(chunks)
