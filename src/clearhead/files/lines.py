"""Read the lines of text files, plain or compressed (.gz, .xz), block by block, without loading a file into memory.

A line ends at \\n or \\r\\n and nowhere else. A problem with a line is a Fault with its file and line number.
"""

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from clearhead.errors import DataError, printable
from clearhead.files.manifest import file_digest
from clearhead.files.reading import missing_file_hint

_BLOCK = 2**20  # bytes read at once
_MAX_LINE = 2**24  # bytes; a longer line is not a sentence
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Fault:
    """What is wrong with one line, or with the entire file if `line` is None."""

    file: str
    line: int | None
    reason: str  # a short description, under which faults of this kind are counted
    detail: str = ""
    is_fatal: bool = False  # reading stops here

    @property
    def place(self) -> str:
        """Where it is: file:line."""
        return printable(self.file if self.line is None else f"{self.file}:{self.line}")

    def __str__(self) -> str:
        return f"{self.place}: {self.detail or self.reason}"


@dataclass
class Notes:
    """What was corrected while reading, for the report."""

    num_byte_order_marks: int = 0
    num_carriage_returns: int = 0


def check_file(name: str) -> Path:
    """Return the path of an existing file, or raise DataError with the reason."""
    path = Path(name)
    shown = printable(name)
    if path.is_dir():
        held = sorted(printable(child.name) for child in path.iterdir())
        raise DataError(
            f"{shown} is a folder, but a file is required. It contains {', '.join(held[:5]) or 'nothing'}"
            f"{' …' if len(held) > 5 else ''}."
        )
    if not path.exists():
        raise DataError(f"{shown} does not exist.{missing_file_hint(path)}")
    if not path.is_file():
        raise DataError(f"{shown} is not a regular file. It must be read more than once: save it as a file first.")
    return path


def hash_file(name: str) -> str:
    """Return the sha256 of a file's bytes on disk."""
    return file_digest(check_file(name))


def _open(path: Path) -> IO[bytes] | gzip.GzipFile | lzma.LZMAFile:
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    return path.open("rb")


def read_lines(name: str, notes: Notes | None = None) -> Iterator[str | Fault]:
    """Yield each line of a file without its line end, or a Fault if the line cannot be used."""
    path = check_file(name)
    return _lines(_file_blocks(path), name, notes or Notes())


class Readable(Protocol):
    """A stream that can be read as bytes arrive, such as standard input."""

    def read1(self, size: int, /) -> bytes:
        """Return the bytes that are available now, at most `size`; empty at the end."""


def read_stream(file: Readable, name: str, notes: Notes | None = None) -> Iterator[str | Fault]:
    """Yield each line of a pipe as soon as it arrives, or a Fault if the line cannot be used."""
    return _lines(_stream_blocks(file), name, notes or Notes())


def _lines(blocks: Iterator[bytes | str], name: str, notes: Notes) -> Iterator[str | Fault]:
    number = 0
    for raw in blocks:
        if isinstance(raw, str):
            yield Fault(name, number + 1, "damaged file", raw, is_fatal=True)
            return
        if number == 0 and raw.startswith(_BOM):
            raw = raw[len(_BOM) :]
            notes.num_byte_order_marks += 1
        lines = _decoded(raw, notes)
        if lines is not None:
            yield from lines
            number += len(lines)
            continue
        for line in raw.split(b"\n"):
            number += 1
            yield _one_line(line, name, number, notes)


def _whole_lines(read_block: Callable[[], bytes]) -> Iterator[bytes | str]:
    """Yield blocks of complete lines, about a megabyte each, without the last line end; on failure, a sentence why."""
    parts: list[bytes] = []
    size = 0
    while block := read_block():
        head, line_end, tail = block.rpartition(b"\n")
        if line_end:
            yield b"".join([*parts, head])
            parts, size = [], 0
        parts.append(tail)
        size += len(tail)
        if size > _MAX_LINE:
            yield f"the line is longer than {_MAX_LINE // 2**20} MB. Is this a file of sentences?"
            return
    if size:
        yield b"".join(parts)


def _file_blocks(path: Path) -> Iterator[bytes | str]:
    try:
        with _open(path) as file:
            yield from _whole_lines(lambda: file.read(_BLOCK))
    except EOFError:
        yield "the compressed file is truncated. Copy it again from its source."
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error) as wrong:
        yield f"the file cannot be decompressed ({wrong}). Is it really {path.suffix}? Copy it again from its source."
    except OSError as wrong:
        yield f"the file cannot be read: {wrong.strerror}."


def _stream_blocks(file: Readable) -> Iterator[bytes | str]:
    try:
        yield from _whole_lines(lambda: file.read1(_BLOCK))
    except OSError as wrong:
        yield f"it cannot be read: {wrong.strerror}."


def _decoded(raw: bytes, notes: Notes) -> list[str] | None:
    """Return the lines of a block without faults, or None if there is a fault, so that each line must be checked."""
    if b"\0" in raw:
        return None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    if "\r" not in text:
        return text.split("\n")
    lines = []
    for line in text.split("\n"):
        if line.endswith("\r"):
            notes.num_carriage_returns += 1
            line = line[:-1]
        lines.append(line)
    return lines


def _one_line(raw: bytes, name: str, number: int, notes: Notes) -> str | Fault:
    if b"\0" in raw:
        column = raw.index(b"\0") + 1
        detail = f"a NUL byte at byte {column}. Give a text file in UTF-8: this one is binary or UTF-16."
        return Fault(name, number, "NUL byte", detail)
    try:
        text = raw.decode()
    except UnicodeDecodeError as wrong:
        detail = f"not UTF-8: byte {raw[wrong.start]:#04x} at byte {wrong.start + 1}. Convert the file to UTF-8."
        return Fault(name, number, "invalid UTF-8", detail)
    if text.endswith("\r"):
        notes.num_carriage_returns += 1
        return text[:-1]
    return text
