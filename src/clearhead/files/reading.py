"""Read files as bytes, decode UTF-8, and explain why a file cannot be read."""

from pathlib import Path

from clearhead.errors import CheckpointError, did_you_mean, printable
from clearhead.files.bounded import UnreadableFileError, read_bounded

MAX_BYTES = 64 * 2**20  # of a file of settings, a vocabulary or a glossary, which is read into memory


def read_file(path: Path) -> bytes:
    """Return the bytes of a file of limited size, or raise CheckpointError with the reason.

    A device in a folder from elsewhere would never end, so it is not read.
    """
    try:
        return read_bounded(path, MAX_BYTES)
    except UnreadableFileError as reason:
        raise CheckpointError(f"{printable(str(path))} {reason}.") from None
    except FileNotFoundError:
        raise CheckpointError(f"{printable(str(path))} does not exist.{missing_file_hint(path)}") from None
    except OSError as problem:
        raise CheckpointError(f"{printable(str(path))} cannot be read: {problem.strerror}.") from None


def missing_file_hint(path: Path) -> str:
    """Return " Did you mean 'x'?" with the closest name in the folder of a missing file, or report a missing folder."""
    try:
        if path.parent.is_dir():
            return did_you_mean(path.name, [printable(neighbour.name) for neighbour in path.parent.iterdir()])
    except OSError:  # a folder that cannot be listed
        return ""
    return f" Its folder, {printable(str(path.parent))}, does not exist either."


def utf8_text(content: bytes) -> str:
    """Return the text of a file, without a byte order mark; raise ValueError with the first line that is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise ValueError(f"line {line} is not UTF-8 text. Save the file as UTF-8.") from None
