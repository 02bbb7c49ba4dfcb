"""Read a file that belongs to a folder from somebody else, and no other file that a link in the folder names."""

import os
import stat
from pathlib import Path

from clearhead.files.reading import UnreadableFileError

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # not on Windows
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)  # a pipe would be waited for until somebody writes to it


def own_path(folder: Path, path: Path) -> Path:
    """Return where a file of a folder is; raise UnreadableFileError if a link leads out of the folder.

    The folder may be a link itself: the user has named it.
    """
    place = path.resolve()
    if not place.is_relative_to(folder.resolve()):
        raise UnreadableFileError("is a link to a file outside its folder. Put a copy of that file in its place")
    return place


def read_own_file(folder: Path, path: Path, max_bytes: int) -> bytes:
    """Return the bytes of a regular file of a folder, at most the first `max_bytes`.

    What is not such a file raises UnreadableFileError or OSError. The opened file is checked again, because a link or a
    device can be put in its place after its path was resolved.
    """
    descriptor = os.open(own_path(folder, path), os.O_RDONLY | _NO_LINK | _NO_WAITING)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnreadableFileError("is not a regular file")
        return file.read(max_bytes)
