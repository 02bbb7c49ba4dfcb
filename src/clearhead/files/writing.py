"""Files out: written under a temporary name, flushed to the disk and moved into place, so that none is half written.

`write_file` and `write_together` say in a sentence why they cannot; the others raise OSError for the caller to explain.
"""

import errno
import os
import shutil
from collections.abc import Callable, Mapping
from filecmp import cmp
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

from clearhead.errors import CheckpointError, ClearheadError, printable

FileWriter = Callable[[Path], None]  # writes one file under the name that it is called with

_NO_FOLDER_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # some network file systems cannot sync a folder


def write_file(path: Path, content: bytes) -> None:
    """Write a file that a user named, all of it or nothing; an old one stays until the new one is complete.

    A link is followed, the mode of an old file is kept, and what is not a plain file (a pipe, a device) is written
    to as it is.
    """
    try:
        path = path.resolve()
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(content)
            return
        replace_file(path, content, mode=path.stat().st_mode & 0o777 if path.exists() else None)
    except OSError as problem:
        raise ClearheadError(f"{path} cannot be written: {problem.strerror}. Choose another place.") from None


def replace_file(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Write one file, all of it or nothing; a link of that name is replaced, not followed."""
    temporary = temporary_beside(path)
    try:
        with temporary.open("xb") as file:
            file.write(content)
            flush_to_disk(file)
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
        sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_together(folder: Path, writers: Mapping[str, FileWriter]) -> None:
    """Write several files of a folder, all of them or none; a folder that is new appears with all of its files.

    The last file is what makes the others readable. In a folder that was there before, it is removed where it changes,
    before the others are moved into place, so that the folder never holds old and new together.
    """
    try:
        if folder.exists():
            _replace_together(folder, writers)
        else:
            _write_new_folder(folder, writers)
    except OSError as problem:
        raise CheckpointError(
            f"{printable(str(folder))} could not be written: {problem}. Nothing half written is left. "
            "Choose a folder that can be written, on a disk with room."
        ) from None


def _write_new_folder(folder: Path, writers: Mapping[str, FileWriter]) -> None:
    temporary = temporary_beside(folder)
    try:
        temporary.mkdir(parents=True)
        for name, write in writers.items():
            _write_to_disk(temporary / name, write)
        move_folder(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _replace_together(folder: Path, writers: Mapping[str, FileWriter]) -> None:
    temporaries = {name: temporary_beside(folder / name) for name in writers}
    *others, last = writers
    try:
        for name, write in writers.items():
            _write_to_disk(temporaries[name], write)
        if others and (folder / last).is_file() and not cmp(folder / last, temporaries[last], shallow=False):
            (folder / last).unlink()
            sync_folder(folder)
        for name in others:
            temporaries[name].replace(folder / name)
        sync_folder(folder)
        temporaries[last].replace(folder / last)
        sync_folder(folder)
    finally:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)


def _write_to_disk(path: Path, write: FileWriter) -> None:
    path.touch(exist_ok=False)
    mode = path.stat().st_mode
    write(path)
    path.chmod(mode)  # safetensors would hide the file from everyone else
    with path.open("rb") as file:
        os.fsync(file.fileno())


def bytes_writer(content: bytes) -> FileWriter:
    """Return what writes these bytes."""

    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


def copy_writer(source: Path) -> FileWriter:
    """Return what writes a copy of a file."""

    def write(path: Path) -> None:
        shutil.copyfile(source, path)

    return write


def temporary_beside(path: Path) -> Path:
    """Return a new hidden name in the folder of a path; what a killed process left has such a name too."""
    return path.with_name(f".{path.name}.{token_hex(4)}.part")


def move_folder(temporary: Path, folder: Path) -> None:
    """Give a folder whose files are on the disk its name, which must be free."""
    sync_folder(temporary)
    temporary.rename(folder)
    sync_folder(folder.parent)


def flush_to_disk(file: IO[Any]) -> None:
    """Have what was written to an open file on the disk, not only in memory."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, not only in memory, where the system can do that."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folder; elsewhere one may be writable and not readable
        return
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(handle)
