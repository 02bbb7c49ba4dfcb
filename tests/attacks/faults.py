"""Faults of the disk: a process that is killed, or whose disk is full or fails, at its n-th file operation.

Python's own functions are wrapped: everything that creates, writes, flushes, renames, truncates or removes a file below
a folder is one operation. What a library writes in C (safetensors) is one write.
"""

import builtins
import errno
import io
import os
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

# kill   SIGKILL before the operation
# torn   SIGKILL in the middle: half of a write is done, and half of what was not flushed before a flush is lost
# full   no space from this operation on: nothing can be created or grow, but files can be removed
# error  this operation alone fails, with an input/output error
FaultKind = Literal["kill", "torn", "full", "error"]

_GROWING = ("create", "write", "mkdir")
_TORN = ("write", "flush")
_RECORDS = "cache/outputs/"  # of finished translations: a lost one only means that a finished file is not recognised
_CURVES = "/curves/"  # TensorBoard's own files, which its own thread writes at any time


class FileOperations:
    """Counts the file operations of this process below a folder; at number `at` (from 1) the fault happens."""

    def __init__(self, folder: Path, at: int = 0, kind: FaultKind = "kill") -> None:
        self.names: list[str] = []
        self.unflushed: list[str] = []  # files that got their final name before they were flushed to disk
        self._root = f"{folder.resolve()}/"
        self._at, self._kind = at, kind
        self._flushed: dict[int, int] = {}  # inode: its size when it was flushed

    # Counting

    def _path(self, path: Any, handle: int | None = None) -> str | None:
        """Return the absolute path if it is below the folder."""
        if isinstance(path, int):
            path = self._path_of(path)
        name = os.fsdecode(path)
        if handle is not None:
            name = os.path.join(self._path_of(handle), name)  # noqa: PTH118  relative to an open folder
        name = os.path.abspath(name)  # noqa: PTH100  a link is not followed
        return name if name.startswith(self._root) and _CURVES not in name else None

    @staticmethod
    def _path_of(handle: int) -> str:
        try:
            return os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115
        except OSError:
            return ""

    def _before(self, name: str, path: str) -> bool:
        """Count an operation; return whether only half of it is to be done, before the process is killed."""
        self.names.append(f"{name} {path.removeprefix(self._root)}")
        number = len(self.names)
        if self._kind == "full":
            if self._at and number >= self._at and name in _GROWING:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        elif number == self._at:
            if self._kind == "error":
                raise OSError(errno.EIO, os.strerror(errno.EIO), path)
            if self._kind == "torn" and name in _TORN:
                return True
            kill()
        return False

    # Wrappers

    def install(self) -> None:
        """Wrap the functions of this process, which should be a child that ends soon."""
        opened = io.open

        def open_file(
            file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
            newline: Any = None, closefd: bool = True, opener: Any = None,
        ) -> Any:  # fmt: skip
            path = self._path(file) if set("wax+") & set(mode) else None
            if path is None:
                return opened(file, mode, buffering, encoding, errors, newline, closefd, opener)
            if not isinstance(file, int):
                self._before("create", path)
            raw = _CountedFile(file, mode.replace("b", "").replace("t", ""), closefd, opener, operations=self)
            if buffering == 0:
                return raw
            size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
            buffered: Any = io.BufferedRandom(raw, size) if "+" in mode else io.BufferedWriter(raw, size)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)

        builtins.open = open_file  # type: ignore[assignment]
        io.open = open_file  # type: ignore[assignment]
        self._wrap_descriptors()
        for name in ("unlink", "remove", "mkdir", "rmdir", "truncate"):
            self._wrap_path(name, {"remove": "unlink"}.get(name, name))
        for name in ("rename", "replace"):
            self._wrap_move(name)
        self._wrap_safetensors()

    def _wrap_descriptors(self) -> None:
        real_open, real_write, real_flush, real_truncate = os.open, os.write, os.fsync, os.ftruncate
        real_send = os.sendfile

        def open_descriptor(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            below = self._path(path, dir_fd) if flags & os.O_CREAT else None
            if below is not None and not os.path.exists(below):  # noqa: PTH110
                self._before("create", below)
            return real_open(path, flags, mode, dir_fd=dir_fd)

        def write(handle: int, data: Any) -> int:
            below = self._path(handle)
            if below is not None and self._before("write", below):
                real_write(handle, bytes(data)[: len(data) // 2])
                kill()
            return real_write(handle, data)

        def send(target: int, source: int, offset: Any, count: int) -> int:
            below = self._path(target)
            if below is not None and self._before("write", below):
                real_send(target, source, offset, os.fstat(source).st_size // 2)
                kill()
            return real_send(target, source, offset, count)

        def flush(handle: int) -> None:
            below = self._path(handle)
            if below is not None:
                status = os.fstat(handle)
                is_half = self._before("flush", below)
                if is_half and stat.S_ISREG(status.st_mode):
                    safe = min(self._flushed.get(status.st_ino, 0), status.st_size)
                    os.truncate(below, (safe + status.st_size) // 2)
                if is_half:
                    kill()
                self._flushed[status.st_ino] = status.st_size
            real_flush(handle)

        def truncate(handle: int, length: int) -> None:
            below = self._path(handle)
            if below is not None:
                self._before("truncate", below)
            real_truncate(handle, length)

        os.open, os.write, os.fsync, os.ftruncate = open_descriptor, write, flush, truncate
        os.sendfile = send

    def _wrap_path(self, name: str, label: str) -> None:
        real: Callable[..., Any] = getattr(os, name)

        def wrapped(path: Any, *arguments: Any, dir_fd: int | None = None) -> Any:
            below = self._path(path, dir_fd)
            if below is not None:
                self._before(label, below)
            return real(path, *arguments) if dir_fd is None else real(path, *arguments, dir_fd=dir_fd)

        setattr(os, name, wrapped)

    def _wrap_move(self, name: str) -> None:
        real: Callable[..., Any] = getattr(os, name)

        def wrapped(source: Any, target: Any, **handles: Any) -> Any:
            below = self._path(target, handles.get("dst_dir_fd"))
            if below is not None:
                self._before("rename", below)
                if not os.path.basename(below).startswith(".") and _RECORDS not in below:  # noqa: PTH119
                    self._check_flushed(Path(os.fsdecode(source)), below)
            return real(source, target, **handles)

        setattr(os, name, wrapped)

    def _check_flushed(self, source: Path, target: str) -> None:
        for file in [source, *source.rglob("*")] if source.is_dir() else [source]:
            status = file.lstat()
            if stat.S_ISREG(status.st_mode) and self._flushed.get(status.st_ino) != status.st_size:
                inside = file.relative_to(source).as_posix() if file != source else ""
                self.unflushed.append(f"{target.removeprefix(self._root)}/{inside}".rstrip("/"))

    def _wrap_safetensors(self) -> None:
        module = sys.modules.get("safetensors.torch")
        if module is None:
            return
        real = module.serialize_file

        def serialize_file(tensors: Any, file: Any, *arguments: Any, **options: Any) -> None:
            below = self._path(file)
            is_half = below is not None and self._before("write", below)
            real(tensors, file, *arguments, **options)
            if is_half:
                os.truncate(file, os.path.getsize(file) // 2)  # noqa: PTH202
                kill()

        module.serialize_file = serialize_file  # type: ignore[attr-defined]


class _CountedFile(io.FileIO):
    """A file whose writes are counted. A full disk writes what fits first, as a real one does."""

    def __init__(self, *arguments: Any, operations: FileOperations) -> None:
        super().__init__(*arguments)
        self._operations = operations
        self._path = operations._path(self.fileno()) or str(self.name)

    def write(self, data: Any) -> int:
        if self._operations._before("write", self._path):
            super().write(bytes(data)[: len(data) // 2])
            kill()
        return super().write(data)


def kill() -> None:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)
