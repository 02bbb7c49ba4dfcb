"""Files out: written under a temporary name and moved into place, so that none is ever half written."""

import os
import tempfile
from pathlib import Path

from clearhead.errors import ClearheadError


def write_whole(path: Path, content: bytes) -> None:
    """Write the file, all of it or nothing; an old one of the same name stays until the new one is complete."""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(temporary).chmod(0o666 & ~_umask())
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
