"""Files in as bytes, and bytes as UTF-8 text, or a sentence why not."""

from pathlib import Path

from clearhead.errors import CheckpointError, printable


def read_file(path: Path) -> bytes:
    """Return the bytes of a file, or say why they cannot be read."""
    try:
        return path.read_bytes()
    except OSError as problem:
        raise CheckpointError(f"{printable(str(path))} cannot be read: {problem.strerror}.") from None


def utf8_text(content: bytes) -> str:
    """Return the text of a file, without a byte order mark; raise ValueError with the line that is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise ValueError(f"line {line} is not UTF-8 text. Save the file as UTF-8.") from None
