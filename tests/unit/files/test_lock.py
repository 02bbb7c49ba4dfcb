"""Locks: one process at a time, the holder is named, and a lock is free when its holder has released it."""

import os
from pathlib import Path

import pytest

from clearhead.files.lock import LOCK, FolderInUseError, FolderLock, lock_file


def test_a_second_holder_is_refused_and_the_first_is_named(tmp_path: Path) -> None:
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    first.take()
    with pytest.raises(FolderInUseError, match=rf"^process {os.getpid()} \(since 20\d\d-\d\d-\d\dT.*\)$"):
        second.take()
    first.release()
    second.take()
    second.release()
    assert (tmp_path / LOCK).read_bytes() == b""


@pytest.mark.parametrize("content", [b"", b"gibberish", b"[]", b"{}", b'{"process": "x", "started": ""}', b"\xff"])
def test_a_lock_without_a_name_is_still_a_lock(tmp_path: Path, content: bytes) -> None:
    lock = FolderLock(tmp_path)
    lock.take()
    (tmp_path / LOCK).write_bytes(content)
    with pytest.raises(FolderInUseError, match="^another process$"):
        FolderLock(tmp_path).take()
    lock.release()


def test_a_lock_that_is_not_held_can_be_released(tmp_path: Path) -> None:
    FolderLock(tmp_path).release()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FolderLock(tmp_path / "none").take()


def test_a_file_is_locked_until_it_is_closed(tmp_path: Path) -> None:
    one, other = (os.open(tmp_path / "part", os.O_WRONLY | os.O_CREAT) for _ in range(2))
    assert lock_file(one)
    assert not lock_file(other)
    os.close(one)
    assert lock_file(other)
    os.close(other)


def test_a_lock_that_is_a_link_is_refused_and_its_target_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOCK).symlink_to(tmp_path / "keys")
    with pytest.raises(OSError, match=r"its \.lock is a link, and the file that it leads to would be emptied"):
        FolderLock(tmp_path / "run").take()
    assert (tmp_path / "keys").read_text() == "precious"
