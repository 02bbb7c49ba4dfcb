"""SHA256SUMS: a changed file is named, sha256sum agrees, and a folder without it is still readable."""

import shutil
import subprocess
from pathlib import Path

import pytest

from clearhead.errors import CheckpointError
from clearhead.files import manifest
from clearhead.files.manifest import MANIFEST, file_digests, read_manifest, verify_files, verify_if_listed
from clearhead.files.writing import bytes_writer, write_manifest, write_together


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "model"
    contents = {"weights": b"\x00\x01\x02" * 1000, "a name": b"text\n", "config": b"{}"}
    write_together(place, {name: bytes_writer(content) for name, content in contents.items()}, has_manifest=True)
    return place


def test_unchanged_files_are_verified(folder: Path) -> None:
    verified = verify_files(folder, ("weights", "config"))
    assert verified.is_listed
    assert verified.digests == file_digests(folder, ("weights", "config"))


def test_a_device_is_not_hashed_for_ever(folder: Path) -> None:
    (folder / "weights").unlink()
    (folder / "weights").symlink_to("/dev/zero")
    with pytest.raises(CheckpointError, match=r"model/weights is not a regular file\. Copy it again"):
        verify_if_listed(folder, ("weights", "config"))


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum on this machine")
def test_sha256sum_reads_our_file_and_we_read_its(folder: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", MANIFEST], cwd=folder, check=True)
    ours = read_manifest(folder)
    command = "sha256sum --binary ./weights 'a name' config > SHA256SUMS"
    subprocess.run(command, shell=True, cwd=folder, check=True)
    assert read_manifest(folder) == ours


def test_capitals_blank_lines_and_a_byte_order_mark_are_accepted(folder: Path) -> None:
    ours = read_manifest(folder)
    lines = (folder / MANIFEST).read_text().splitlines()
    edited = "".join(f"{line[:64].upper()}{line[64:]}\r\n\r\n" for line in lines)
    (folder / MANIFEST).write_bytes(f"\ufeff{edited}".encode())
    assert read_manifest(folder) == ours
    assert verify_files(folder, ("weights", "config")).is_listed


@pytest.mark.parametrize("name", ["weights", "a name", "config"])
def test_one_changed_bit_is_noticed_and_the_file_is_named(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 0x10
    (folder / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=rf"model/{name} has changed since it was written.*Copy it again"):
        verify_if_listed(folder, ("weights", "a name", "config"))


def test_a_file_that_is_not_listed_is_named(folder: Path) -> None:
    (folder / "extra").touch()
    with pytest.raises(CheckpointError, match=r"model/SHA256SUMS does not list extra\. Delete it\."):
        verify_files(folder, ("config", "extra"), "Delete it.")


def test_without_a_manifest_nothing_is_compared(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    assert not verify_files(folder, ("config",)).is_listed
    assert not verify_if_listed(folder, ("no such file",))


@pytest.mark.parametrize(
    "damage",
    [b"", b"\n", b"\xff\xfe", b"0123  config\n", b"{}", b"a" * 64 + b" config\n", b"b" * 64 + b"  ../config\n"],
)
def test_a_damaged_manifest_is_a_clear_error(folder: Path, damage: bytes) -> None:
    (folder / MANIFEST).write_bytes(damage)
    with pytest.raises(CheckpointError, match="model/SHA256SUMS is damaged"):
        verify_if_listed(folder, ("config",))


def test_replaced_files_get_new_hashes_and_the_others_keep_theirs(folder: Path) -> None:
    before = read_manifest(folder)
    assert before is not None
    write_together(folder, {"config": bytes_writer(b"[]")}, has_manifest=True)
    after = read_manifest(folder)
    assert after is not None
    assert {name for name in after if after[name] != before[name]} == {"config"}
    assert verify_files(folder, after).is_listed


def test_a_deleted_file_leaves_the_manifest_at_the_next_write(folder: Path) -> None:
    (folder / "a name").unlink()
    write_together(folder, {"config": bytes_writer(b"[]")}, has_manifest=True)
    assert set(read_manifest(folder) or ()) == {"weights", "config"}


def test_files_that_are_replaced_during_verification_are_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, contents = manifest.file_digests, [b"second", b"third"]

    def hash_while_training(place: Path, names: tuple[str, ...]) -> dict[str, str]:
        digests = real(place, names)
        if contents:
            write_together(place, {"weights": bytes_writer(contents.pop(0))}, has_manifest=True)
        return digests

    monkeypatch.setattr(manifest, "file_digests", hash_while_training)
    (folder / "weights").write_bytes(b"being replaced")
    assert verify_files(folder, ("weights",)).is_listed
    assert not contents


def test_the_same_files_give_the_same_manifest(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / MANIFEST).unlink()
    write_manifest(copy, ("weights", "config", "a name"))
    assert (copy / MANIFEST).read_bytes() == (folder / MANIFEST).read_bytes()
