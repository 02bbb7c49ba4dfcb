"""Bounded reading: devices, folders, huge files and pipes, given as a working, a problem, a scheme or a worksheet."""

import os
import threading
from pathlib import Path

import pytest

from clearhead.check import check
from clearhead.check.scheme_file import load_scheme
from clearhead.errors import ProblemError
from clearhead.files import reading
from clearhead.files.reading import UnreadableFileError, read_bounded
from clearhead.worksheet import load_problem
from clearhead.worksheet.part import load_sheet

READERS = {"working": check, "problem": load_problem, "scheme": load_scheme, "worksheet": load_sheet}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_no_reader_reads_a_device_a_folder_or_a_huge_file(tmp_path: Path, reader) -> None:
    with (tmp_path / "huge.yaml").open("wb") as file:
        file.truncate(2 * 2**30)  # sparse: it needs no disk
    for name, sentence in (
        ("/dev/zero", "is a device, not a file. Give a file."),
        (str(tmp_path / "huge.yaml"), "has (2048 MiB|2097152 KiB)"),
        (str(tmp_path), "is a folder|[Ii]s a directory"),
    ):
        with pytest.raises(ProblemError, match=sentence):
            reader(name)


def test_no_more_than_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    with pytest.raises(UnreadableFileError, match="the limit is 0.00391 KiB") as error:
        read_bounded(path, 4)
    assert error.value.size == 5


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="/proc")
def test_a_file_that_declares_no_size_is_bounded_too() -> None:
    assert Path("/proc/self/maps").stat().st_size == 0
    with pytest.raises(UnreadableFileError, match="has more than 0.0977 KiB"):
        read_bounded(Path("/proc/self/maps"), 100)


def test_a_pipe_is_read_to_its_end_and_a_silent_one_is_given_up(tmp_path: Path, monkeypatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"x" * 200_000,))
    writer.start()
    assert read_bounded(pipe, 300_000) == b"x" * 200_000
    writer.join()
    monkeypatch.setattr(reading, "_PIPE_WAIT", 0.05)
    with pytest.raises(UnreadableFileError, match=r"is a pipe that nothing was written to for 0 s\. Give a file"):
        read_bounded(pipe, 100)
