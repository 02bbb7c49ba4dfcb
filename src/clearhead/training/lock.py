"""One process to a run folder: a lock that the system lets go when its process dies, so that none is ever stale."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from clearhead.errors import RunError, printable

try:
    import fcntl
except ImportError:  # Windows has no such lock; there two processes are not kept apart
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"


class FolderLock:
    """A lock on a folder; the file stays, what counts is whether a living process holds it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._handle: int | None = None

    def take(self) -> None:
        """Take the lock, or raise RunError with the process that has it."""
        path = self._folder / LOCK
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise RunError(
                f"{printable(str(self._folder))} is in use: {_holder(path)} trains there. "
                "Wait for it, stop it, or choose another folder with --run."
            ) from None
        started = datetime.now(UTC).isoformat(timespec="seconds")
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps({"process": os.getpid(), "started": started}).encode())
        self._handle = handle

    def release(self) -> None:
        """Let the lock go."""
        if self._handle is not None:
            os.ftruncate(self._handle, 0)
            os.close(self._handle)
            self._handle = None


def _holder(path: Path) -> str:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return f"process {int(data['process'])} (since {printable(str(data['started']))})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
