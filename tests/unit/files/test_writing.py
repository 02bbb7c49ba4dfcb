"""Files are written completely or not at all: the order of writes to the disk, and what remains after a failure."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from clearhead.errors import CheckpointError, ClearheadError
from clearhead.files.writing import (
    bytes_writer,
    copy_writer,
    move_folder,
    replace_file,
    sync_folder,
    temporary_beside,
    write_file,
    write_together,
)

OLD = {"weights": b"old weights", "config": b"old config"}
NEW = {"weights": b"new weights", "config": b"new config"}


def writers(contents: dict[str, bytes]) -> dict[str, Callable[[Path], None]]:
    return {name: bytes_writer(content) for name, content in contents.items()}


def contents_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def fill_the_disk(path: Path) -> None:
    path.write_bytes(b"half")
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls to the system in order: each fsync and each move, with the name of its file."""
    events: list[str] = []
    sync, move, rename, unlink = os.fsync, Path.replace, Path.rename, Path.unlink

    def name_of(path: Path) -> str:
        return path.name.split(".")[1] + ".part" if path.name.endswith(".part") else path.name

    def recorded_sync(handle: int) -> None:
        number = os.fstat(handle).st_ino
        (path,) = (path for path in (tmp_path, *tmp_path.rglob("*")) if path.stat().st_ino == number)
        events.append(f"sync {name_of(path)}")
        sync(handle)

    def recorded_move(self: Path, target: Path) -> Path:
        events.append(f"move {name_of(self)} to {name_of(target)}")
        return move(self, target)

    def recorded_rename(self: Path, target: Path) -> Path:
        events.append(f"move {name_of(self)} to {name_of(target)}")
        return rename(self, target)

    def recorded_unlink(self: Path, missing_ok: bool = False) -> None:
        if self.exists():
            events.append(f"remove {name_of(self)}")
        unlink(self, missing_ok)

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(Path, "replace", recorded_move)
    monkeypatch.setattr(Path, "rename", recorded_rename)
    monkeypatch.setattr(Path, "unlink", recorded_unlink)
    return events


# What reaches the disk, and in which order


@pytest.mark.parametrize("write", [replace_file, write_file])
def test_a_file_is_on_the_disk_before_it_has_its_name_and_its_name_before_we_return(
    tmp_path: Path, calls: list[str], write: Callable[[Path, bytes], None]
) -> None:
    write(tmp_path / "sheet", b"content")
    assert calls == ["sync sheet.part", "move sheet.part to sheet", f"sync {tmp_path.name}"]
    assert contents_of(tmp_path) == {"sheet": b"content"}


def test_a_new_folder_appears_with_all_of_its_files_on_the_disk(tmp_path: Path, calls: list[str]) -> None:
    write_together(tmp_path / "run", writers(NEW))
    assert calls == ["sync weights", "sync config", "sync run.part", "move run.part to run", f"sync {tmp_path.name}"]
    assert contents_of(tmp_path / "run") == NEW


def test_in_an_existing_folder_the_last_file_is_removed_first_and_written_last(
    tmp_path: Path, calls: list[str]
) -> None:
    write_together(tmp_path, writers(OLD))
    calls.clear()
    write_together(tmp_path, writers(NEW))
    assert calls == [
        *("sync weights.part", "sync config.part"),
        *("remove config", f"sync {tmp_path.name}"),
        *("move weights.part to weights", f"sync {tmp_path.name}"),
        *("move config.part to config", f"sync {tmp_path.name}"),
    ]
    assert contents_of(tmp_path) == NEW


def test_a_last_file_that_does_not_change_is_never_removed(tmp_path: Path, calls: list[str]) -> None:
    write_together(tmp_path, writers(OLD))
    write_together(tmp_path, writers({**OLD, "weights": b"new weights"}))
    assert not [call for call in calls if call.startswith("remove")]
    assert contents_of(tmp_path) == {**OLD, "weights": b"new weights"}


def test_a_single_file_is_never_removed(tmp_path: Path, calls: list[str]) -> None:
    for content in (b"old", b"new"):
        write_together(tmp_path, writers({"config": content}))
    assert not [call for call in calls if call.startswith("remove")]
    assert contents_of(tmp_path) == {"config": b"new"}


def test_a_folder_is_moved_when_its_names_are_on_the_disk(tmp_path: Path, calls: list[str]) -> None:
    part = temporary_beside(tmp_path / "store")
    part.mkdir()
    move_folder(part, tmp_path / "store")
    assert calls == ["sync store.part", "move store.part to store", f"sync {tmp_path.name}"]


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_cannot_sync_a_folder_can_still_be_used(
    tmp_path: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    sync_folder(tmp_path)


def test_a_folder_that_cannot_be_opened_is_not_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, flags: int) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    sync_folder(tmp_path)


def test_a_disk_that_fails_to_sync_a_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(handle: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output error"):
        sync_folder(tmp_path)


# What remains after a failure


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_keeps_the_old_file_and_leaves_no_other(
    tmp_path: Path, failure: BaseException, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sheet").write_bytes(b"old")

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(*((os, "fsync", fail) if step == "fsync" else (Path, "replace", fail)))
    with pytest.raises(type(failure)):
        replace_file(tmp_path / "sheet", b"new")
    assert contents_of(tmp_path) == {"sheet": b"old"}


@pytest.mark.parametrize("is_new", [True, False])
def test_a_failed_write_of_several_files_keeps_the_old_ones_and_leaves_no_other(tmp_path: Path, is_new: bool) -> None:
    folder = tmp_path / "run"
    if not is_new:
        write_together(folder, writers(OLD))
    with pytest.raises(CheckpointError) as error:
        write_together(folder, {"weights": bytes_writer(b"new"), "config": fill_the_disk})
    assert str(error.value) == (
        f"{folder} could not be written: [Errno 28] No space left on device. No partial files remain. "
        "Choose a writable folder on a disk with enough space."
    )
    assert {path.name for path in tmp_path.iterdir()} == (set() if is_new else {"run"})
    assert is_new or contents_of(folder) == OLD


def test_an_interruption_leaves_no_incomplete_file(tmp_path: Path) -> None:
    def interrupt(path: Path) -> None:
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    write_together(tmp_path / "run", writers(OLD))
    for folder in ("run", "other"):
        with pytest.raises(KeyboardInterrupt):
            write_together(tmp_path / folder, {"weights": bytes_writer(b"new"), "config": interrupt})
    assert contents_of(tmp_path / "run") == OLD
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("nowhere/sheet", "No such file or directory"), ("folder", "Is a directory"), ("file/sheet", "Not a directory")],
)
def test_a_place_that_cannot_be_written_is_reported(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ClearheadError) as error:
        write_file(tmp_path / name, b"content")
    assert str(error.value) == f"{tmp_path / name} cannot be written: {reason}. Choose another place."
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "file"}


def test_a_folder_without_permission_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    for name in ("open", "mkdir"):
        monkeypatch.setattr(Path, name, forbid)
    with pytest.raises(ClearheadError, match=r"cannot be written: Permission denied\. Choose another place\."):
        write_file(tmp_path / "sheet", b"content")
    with pytest.raises(CheckpointError, match="could not be written: .*Permission denied"):
        write_together(tmp_path / "run", writers(NEW))


# Links, modes and devices


def test_a_link_that_a_user_named_is_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_link_among_our_own_files_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    for name in ("one", "config"):
        (tmp_path / name).symlink_to("target")
    replace_file(tmp_path / "one", b"new")
    write_together(tmp_path, writers({"config": b"new"}))
    assert not (tmp_path / "one").is_symlink()
    assert not (tmp_path / "config").is_symlink()
    assert contents_of(tmp_path) == {"target": b"old", "one": b"new", "config": b"new"}


def test_files_are_written_through_a_link_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "run").symlink_to("real")
    write_together(tmp_path / "run", writers(NEW))
    assert (tmp_path / "run").is_symlink()
    assert contents_of(tmp_path / "real") == NEW


def test_a_new_file_has_the_mode_of_the_umask_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    def hiding(path: Path) -> None:
        path.write_bytes(b"weights")
        path.chmod(0o600)

    before = os.umask(0o027)
    try:
        (tmp_path / "old").write_bytes(b"")
        (tmp_path / "old").chmod(0o604)
        for name in ("old", "new"):
            write_file(tmp_path / name, b"content")
        write_together(tmp_path, {"hidden": hiding})
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"old": 0o604, "new": 0o640, "hidden": 0o640}


def test_a_device_is_written_to_directly() -> None:
    write_file(Path(os.devnull), b"content")
    assert Path(os.devnull).is_char_device()


def test_a_copy_has_the_bytes_of_its_source(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"\0piece\xff")
    write_together(tmp_path / "model", {"copy": copy_writer(tmp_path / "source")})
    assert contents_of(tmp_path / "model") == {"copy": b"\0piece\xff"}


def test_a_temporary_name_is_hidden_and_new_each_time(tmp_path: Path) -> None:
    names = {temporary_beside(tmp_path / "config.json").name for _ in range(7)}
    assert len(names) == 7
    assert all(name.startswith(".config.json.") and name.endswith(".part") for name in names)
