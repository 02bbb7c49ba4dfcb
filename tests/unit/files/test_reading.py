"""Tests of reading files as bytes, within limits, and of the hint for a file that does not exist."""

import os
import threading
from pathlib import Path

import pytest

from clearhead.check import check
from clearhead.check.scheme_file import load_scheme
from clearhead.errors import CheckpointError, ProblemError
from clearhead.files import reading
from clearhead.files.reading import MAX_BYTES, UnreadableFileError, missing_file_hint, read_bounded, read_file
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


def test_a_missing_file_gets_the_closest_name_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "train.en").touch()
    assert missing_file_hint(tmp_path / "trian.en") == " Did you mean 'train.en'?"
    assert missing_file_hint(tmp_path / "zzz") == ""


def test_a_missing_folder_is_named_too(tmp_path: Path) -> None:
    folder = tmp_path / "none"
    assert missing_file_hint(folder / "train.en") == f" Its folder, {folder}, does not exist either."


def test_control_characters_of_a_name_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "train\x1b.en").touch()
    assert missing_file_hint(tmp_path / "train.en") == r" Did you mean 'train\x1b.en'?"


def test_a_missing_problem_gets_the_full_name_of_the_closest_file(tmp_path: Path) -> None:
    (tmp_path / "homework.yaml").touch()
    with pytest.raises(ProblemError, match=r"Did you mean 'homework\.yaml'\?"):
        load_problem(tmp_path / "homewrk.yml")


def test_a_device_in_a_folder_is_refused_instead_of_read_for_ever(tmp_path: Path) -> None:
    (tmp_path / "tokeniser.json").symlink_to("/dev/zero")
    with pytest.raises(CheckpointError, match=r"tokeniser\.json is a device, not a file\. Give a file\.$"):
        read_file(tmp_path / "tokeniser.json")


def test_a_file_is_refused_by_its_size_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "config.json").open("wb") as file:
        file.truncate(MAX_BYTES + 2**20)  # without blocks on the disk
    with pytest.raises(CheckpointError, match=r"config\.json has 65 MiB; the limit is 64 MiB\.$"):
        read_file(tmp_path / "config.json")
