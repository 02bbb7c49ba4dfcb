"""Files out: written under a temporary name and moved into place, so that none is ever half written."""

import os
import tempfile
from pathlib import Path

from clearhead.errors import ClearheadError


def write_whole(path: Path, content: bytes) -> None:
    """Write the file, all of it or nothing; an old one of the same name stays until the new one is complete.

    A link is followed, and what is not a plain file (a pipe, a device) is written to as it is.
    """
    try:
        path = path.resolve()
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(content)
            return
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(temporary).chmod(mode)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink()
            raise
    except OSError as problem:
        raise ClearheadError(f"{path} cannot be written: {problem.strerror}. Choose another place.") from None


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
