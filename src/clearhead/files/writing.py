"""Write files atomically: under a temporary name, flushed to disk, then renamed, so that no file is half written.

`write_file` and `write_together` raise a ClearheadError that explains a failure; the others raise OSError.
"""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping
from filecmp import cmp
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

from clearhead.errors import CheckpointError, ClearheadError, printable
from clearhead.files.destination import Destination
from clearhead.files.manifest import MANIFEST, file_digest, manifest_bytes, read_manifest

FileWriter = Callable[[Path], object]  # writes one file at the path that it is called with

_NO_FOLDER_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # some network file systems cannot sync a folder


def write_file(path: Path, content: bytes) -> None:
    """Write a file that a user named, completely or not at all; an old file remains until the new one is complete.

    Links are followed, and an old file keeps its permissions. A pipe, a device or an open descriptor such as
    /dev/stdout is written to directly.
    """
    try:
        destination = Destination.of(path)
        if destination.is_stream:
            with destination.open_stream() as stream:
                stream.write(content)
            return
        target = destination.path
        replace_file(target, content, mode=stat.S_IMODE(target.stat().st_mode) if target.exists() else None)
    except BrokenPipeError:  # the reader has exited, as with `| head`
        raise
    except OSError as problem:
        shown = printable(str(path))
        raise ClearheadError(f"{shown} cannot be written: {problem.strerror}. Choose another place.") from None


def replace_file(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Write one file, completely or not at all; a link of that name is replaced, not followed."""
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


def write_together(folder: Path, writers: Mapping[str, FileWriter], *, has_manifest: bool = False) -> None:
    """Write several files of a folder, all of them or none; a new folder appears together with all its files.

    Readers need the last file to use the others. In an existing folder it is removed before the others are moved into
    place, unless only one of them changes, so that a reader never combines old and new files. With `has_manifest`,
    their hashes are added to the folder's SHA256SUMS, which is removed first and written last.
    """
    try:
        if folder.exists():
            _replace_together(folder, writers, has_manifest)
        else:
            _write_new_folder(folder, writers, has_manifest)
    except OSError as problem:
        raise CheckpointError(
            f"{printable(str(folder))} could not be written: {problem}. No partial files remain. "
            "Choose a writable folder on a disk with enough space."
        ) from None


def _write_new_folder(folder: Path, writers: Mapping[str, FileWriter], has_manifest: bool) -> None:
    temporary = temporary_beside(folder)
    try:
        temporary.mkdir(parents=True)
        for name, write in writers.items():
            _write_to_disk(temporary / name, write)
        if has_manifest:
            write_manifest(temporary, writers)
        move_folder(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _replace_together(folder: Path, writers: Mapping[str, FileWriter], has_manifest: bool) -> None:
    temporaries = {name: temporary_beside(folder / name) for name in writers}
    *others, last = writers
    try:
        for name, write in writers.items():
            _write_to_disk(temporaries[name], write)
        if has_manifest:
            digests = {**_other_digests(folder), **{name: file_digest(path) for name, path in temporaries.items()}}
            temporaries[MANIFEST] = temporary_beside(folder / MANIFEST)
            _write_to_disk(temporaries[MANIFEST], bytes_writer(manifest_bytes(digests)))
            (folder / MANIFEST).unlink(missing_ok=True)
        changed = [name for name in writers if not _is_same(folder / name, temporaries[name])]
        if others and (last in changed or len(changed) > 1):
            (folder / last).unlink(missing_ok=True)
        sync_folder(folder)
        for name in others:
            temporaries[name].replace(folder / name)
        sync_folder(folder)
        temporaries[last].replace(folder / last)
        sync_folder(folder)
        if has_manifest:
            temporaries[MANIFEST].replace(folder / MANIFEST)
            sync_folder(folder)
    finally:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)


def _is_same(old: Path, new: Path) -> bool:
    return old.is_file() and cmp(old, new, shallow=False)


def _other_digests(folder: Path) -> dict[str, str]:
    """Return the hashes that a folder lists; none if its manifest is damaged, because it is about to be replaced."""
    try:
        listed = read_manifest(folder) or {}
    except CheckpointError:
        return {}
    return {name: digest for name, digest in listed.items() if (folder / name).is_file()}


def write_manifest(folder: Path, names: Iterable[str]) -> None:
    """Write SHA256SUMS for these files of a folder that nobody reads yet."""
    replace_file(folder / MANIFEST, manifest_bytes({name: file_digest(folder / name) for name in names}))


def _write_to_disk(path: Path, write: FileWriter) -> None:
    path.touch(exist_ok=False)
    mode = path.stat().st_mode
    write(path)
    path.chmod(mode)  # safetensors makes the file private to its owner
    sync_file(path)


def sync_file(path: Path) -> None:
    """Flush a file that a library has written to disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def bytes_writer(content: bytes) -> FileWriter:
    """Return a function that writes these bytes."""
    return lambda path: path.write_bytes(content)


def copy_writer(source: Path) -> FileWriter:
    """Return a function that writes a copy of a file."""
    return lambda path: shutil.copyfile(source, path)


def temporary_beside(path: Path) -> Path:
    """Return a new hidden name in the folder of a path; leftovers of a killed process have such names too."""
    return path.with_name(f".{path.name}.{token_hex(4)}.part")


def move_folder(temporary: Path, folder: Path) -> None:
    """Rename a folder with synced files to its final name, which must not exist yet."""
    sync_folder(temporary)
    temporary.rename(folder)
    sync_folder(folder.parent)


def flush_to_disk(file: IO[Any]) -> None:
    """Flush an open file to disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk, if the system supports it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows cannot open a folder, and elsewhere a folder can be writable but not readable
        return
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(handle)
