"""Files in as bytes, or a sentence why not."""

from pathlib import Path

from clearhead.errors import CheckpointError, printable


def read_file(path: Path) -> bytes:
    """Return the bytes of a file, or say why they cannot be read."""
    try:
        return path.read_bytes()
    except OSError as problem:
        raise CheckpointError(f"{printable(str(path))} cannot be read: {problem.strerror}.") from None
