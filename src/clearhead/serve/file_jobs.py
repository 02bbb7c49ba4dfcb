"""Documents that are being translated, or wait for their download; they are only in memory, and for a limited time."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from clearhead.errors import ClearheadError, printable
from clearhead.serve.api_errors import ApiError
from clearhead.serve.settings import LimitSettings

_MAX_NAME = 100  # characters
_KEEP_ALIVE = 15.0  # seconds after which something is sent, so that a proxy does not close the connection
_RETRY = 30  # seconds until a refused upload may be tried again


@dataclass(eq=False)
class FileJob:
    """A document: how far its translation is, then the result or the error."""

    name: str  # of the result
    id: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    last_change: float = field(default_factory=time.monotonic)
    num_done: int = 0
    total: int = 0
    content: bytes | None = None
    notes: tuple[str, ...] = ()
    error: ApiError | None = None
    is_wanted: bool = True
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_finished(self) -> bool:
        """Whether there is a result or an error."""
        return self.content is not None or self.error is not None

    def advance(self, num_done: int, total: int) -> None:
        """Note the number of translated sentences."""
        self.num_done, self.total = num_done, total
        self._notify()

    def finish(self, content: bytes, notes: Sequence[str] = ()) -> None:
        """Note the result."""
        self.content, self.notes = content, tuple(notes)
        self._notify()

    def fail(self, fault: Exception) -> None:
        """Note an error; one that is not the user's is not described."""
        if isinstance(fault, ApiError):
            self.error = fault
        elif isinstance(fault, ClearheadError):
            self.error = ApiError(400, str(fault))
        else:
            self.error = ApiError(400, "the document cannot be translated. The log of the server says where it failed.")
        self._notify()

    def _notify(self) -> None:
        self.last_change = time.monotonic()
        self._changed.set()
        self._changed = asyncio.Event()

    async def changes(self) -> AsyncIterator[bool]:
        """Yield whenever something has changed (True) or nothing has for a while (False), until it is finished."""
        while True:
            changed = self._changed
            yield True
            if self.is_finished or not self.is_wanted:
                return
            while not changed.is_set():
                try:
                    async with asyncio.timeout(_KEEP_ALIVE):
                        await changed.wait()
                except TimeoutError:
                    yield False


class FileJobs:
    """All documents of a server."""

    def __init__(self, limits: LimitSettings) -> None:
        self.limits = limits
        self._jobs: dict[str, FileJob] = {}

    def add(self, name: str) -> FileJob:
        """Add a document, or raise ApiError 503 if there are too many."""
        self._expire()
        if len(self._jobs) >= self.limits.files:
            raise ApiError(
                503, f"{len(self._jobs)} documents are being translated. Try again later.", retry_after=_RETRY
            )
        job = FileJob(name)
        self._jobs[job.id] = job
        return job

    def find(self, identity: str) -> FileJob:
        """Return a document, or raise ApiError 404."""
        self._expire()
        job = self._jobs.get(identity)
        if job is None:
            raise ApiError(404, "there is no such document, or it was downloaded or deleted already.")
        return job

    def remove(self, job: FileJob) -> None:
        """Delete a document; its translation stops."""
        job.is_wanted = False
        self._jobs.pop(job.id, None)

    def _expire(self) -> None:
        oldest = time.monotonic() - self.limits.file_minutes * 60
        for job in [job for job in self._jobs.values() if job.last_change < oldest]:
            self.remove(job)


def result_name(name: str, target: str | None) -> str:
    """Return the name of a translated document, without folders: `report.es.docx` for `../report.docx`."""
    path = PurePosixPath(name.replace("\\", "/"))
    language = "" if target is None else f".{target}"
    stem = printable(path.stem).strip(". ")[:_MAX_NAME] or "document"
    return f"{stem}{language}{printable(path.suffix[:20])}"
