"""Lines of files and pipes: where they end, what is corrected, what is a fault, and which paths are rejected."""

import gzip
import hashlib
import io
import lzma
from pathlib import Path

import pytest

from clearhead.errors import DataError
from clearhead.files.lines import Fault, Notes, check_file, hash_file, read_lines, read_stream


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_lines_are_the_same_compressed_or_not(tmp_path: Path, suffix: str, pack: type[bytes]) -> None:
    path, notes = tmp_path / f"text{suffix}", Notes()
    path.write_bytes(pack("\ufeffone\r\ntwo\u2028still two\n\nlast".encode()))
    assert list(read_lines(str(path), notes)) == ["one", "two\u2028still two", "", "last"]
    assert notes == Notes(num_byte_order_marks=1, num_carriage_returns=1)


def test_a_fault_takes_the_place_of_its_line() -> None:
    lines = list(read_stream(io.BytesIO(b"one\nb\xffd\nx\0y\r\nlast\n"), "pipe", Notes()))
    assert lines == [
        "one",
        Fault("pipe", 2, "invalid UTF-8", "not UTF-8: byte 0xff at byte 2. Convert the file to UTF-8."),
        Fault("pipe", 3, "NUL byte", "a NUL byte at byte 2. Give a text file in UTF-8: this one is binary or UTF-16."),
        "last",
    ]
    assert str(lines[1]) == "pipe:2: not UTF-8: byte 0xff at byte 2. Convert the file to UTF-8."


def test_no_line_after_a_damaged_place_is_read(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"one\ntwo\n")[:-9])
    *_, fault = read_lines(str(path))
    assert isinstance(fault, Fault)
    assert fault.is_fatal


def test_a_file_is_identified_by_its_hash(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"one\n")
    assert hash_file(str(tmp_path / "text")) == hashlib.sha256(b"one\n").hexdigest()


def test_a_path_that_is_not_a_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"")
    assert check_file(str(tmp_path / "text")) == tmp_path / "text"
    with pytest.raises(DataError, match=r"txet does not exist\. Did you mean 'text'\?"):
        check_file(str(tmp_path / "txet"))
    with pytest.raises(DataError, match="is a folder, but a file is required. It contains text."):
        hash_file(str(tmp_path))
