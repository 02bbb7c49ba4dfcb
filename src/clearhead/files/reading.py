"""Read files that a user named, up to a limit, decode UTF-8, and explain why a file cannot be read.

Devices, silent pipes and larger files are refused unread.
"""

import os
import select
import stat
from pathlib import Path

from clearhead.errors import CheckpointError, did_you_mean, printable

MAX_BYTES = 64 * 2**20  # of a file of settings, a vocabulary or a glossary, which is read into memory
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


def read_file(path: Path) -> bytes:
    """Return the bytes of a file of limited size, or raise CheckpointError with the reason.

    A device in a folder from elsewhere would never end, so it is not read.
    """
    try:
        return read_bounded(path, MAX_BYTES)
    except UnreadableFileError as reason:
        raise CheckpointError(f"{printable(str(path))} {reason}.") from None
    except FileNotFoundError:
        raise CheckpointError(f"{printable(str(path))} does not exist.{missing_file_hint(path)}") from None
    except OSError as problem:
        raise CheckpointError(f"{printable(str(path))} cannot be read: {problem.strerror}.") from None


def missing_file_hint(path: Path) -> str:
    """Return " Did you mean 'x'?" with the closest name in the folder of a missing file, or report a missing folder."""
    try:
        if path.parent.is_dir():
            return did_you_mean(path.name, [printable(neighbour.name) for neighbour in path.parent.iterdir()])
    except OSError:  # a folder that cannot be listed
        return ""
    return f" Its folder, {printable(str(path.parent))}, does not exist either."


def utf8_text(content: bytes) -> str:
    """Return the text of a file, without a byte order mark; raise ValueError with the first line that is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise ValueError(f"line {line} is not UTF-8 text. Save the file as UTF-8.") from None


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
