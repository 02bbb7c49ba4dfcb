"""Lock a folder or a file for one process. The system releases the lock when the process dies, so none is stale."""

import errno
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from clearhead.errors import printable
from clearhead.files.json_file import parse_object

try:
    import fcntl
except ImportError:  # Windows has no such lock, so two processes can collide there
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # not on Windows


class FolderInUseError(Exception):
    """Another process holds the lock of this folder; the message names the process."""


class FolderLock:
    """A lock on a folder. The lock file remains; what counts is whether a running process holds the lock."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        self._handle: int | None = None

    def take(self) -> None:
        """Take the lock, or raise FolderInUseError with the process that holds it."""
        if self._path.is_symlink():  # in a folder from elsewhere, the target could be any file of this user
            raise OSError(errno.ELOOP, f"its {LOCK} is a link, and the file that it leads to would be emptied")
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o666)
        if not lock_file(handle):
            os.close(handle)
            raise FolderInUseError(_holder(self._path))
        started = datetime.now(UTC).isoformat(timespec="seconds")
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps({"process": os.getpid(), "started": started}).encode())
        self._handle = handle

    def release(self) -> None:
        """Release the lock."""
        if self._handle is not None:
            os.ftruncate(self._handle, 0)
            os.close(self._handle)
            self._handle = None


def lock_file(handle: int) -> bool:
    """Lock an open file until it is closed; return False if another process holds the lock."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _holder(path: Path) -> str:
    try:
        data = parse_object(path.read_bytes())
        return f"process {int(data['process'])} (since {printable(str(data['started']))})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
