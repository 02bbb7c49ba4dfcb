"""SHA256SUMS: the hashes of a folder's files, to recognise a file that was damaged or exchanged after it was written.

The format is that of the program sha256sum, so `sha256sum -c SHA256SUMS` compares the files too. Whoever can
change the files can change their hashes as well: the hashes protect against damage, not against forgery.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from clearhead.errors import CheckpointError, printable
from clearhead.files.reading import missing_file_hint, read_file

MANIFEST = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](?:\./)?([^/\\]+)")
_MAX_BYTES = 2**20  # of a manifest; ours have a few hundred
_MAX_TRIES = 5
_MIN_PARALLEL = 2**24  # bytes; less is hashed sooner than threads are started
_ADVICE = f"Copy it again from its source, or use another checkpoint. If it was changed on purpose, delete {MANIFEST}."


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's content, or raise CheckpointError."""
    if path.exists() and not path.is_file():  # a pipe or a device would never end
        raise CheckpointError(f"{printable(str(path))} is not a regular file. Copy it again from its source.")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise CheckpointError(f"{printable(str(path))} does not exist.{missing_file_hint(path)}") from None
    except OSError as problem:
        raise CheckpointError(f"{printable(str(path))} cannot be read: {problem.strerror}.") from None


def file_digests(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of several files of a folder; large ones are hashed at the same time, on several cores."""
    ordered = sorted(names, key=lambda name: -_size(folder / name))
    if sum(_size(folder / name) for name in ordered) < _MIN_PARALLEL:
        return {name: file_digest(folder / name) for name in ordered}
    with ThreadPoolExecutor(max_workers=4) as pool:
        return dict(zip(ordered, pool.map(lambda name: file_digest(folder / name), ordered), strict=True))


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def manifest_bytes(digests: Mapping[str, str]) -> bytes:
    """Return the content of SHA256SUMS."""
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests)).encode()


def read_manifest(folder: Path) -> dict[str, str] | None:
    """Return the hashes that SHA256SUMS lists, by file name; None if the folder has no such file."""
    path = folder / MANIFEST
    if not path.is_file():
        return None
    shown = printable(str(path))
    content = read_file(path) if path.stat().st_size <= _MAX_BYTES else b"\xff"
    try:
        lines = [line for line in content.decode("utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError:
        lines = [""]
    entries = [_LINE.fullmatch(line) for line in lines]
    if not entries or None in entries:
        raise CheckpointError(
            f"{shown} is damaged: it is empty, or a line of it is not a SHA-256 and a file name. {_ADVICE}"
        )
    return {entry[2]: entry[1].lower() for entry in entries if entry is not None}


@dataclass(frozen=True)
class VerifiedFiles:
    """The SHA-256 of some files of a folder, by name, and whether they were compared with a SHA256SUMS."""

    digests: Mapping[str, str]
    is_listed: bool


def verify_files(folder: Path, names: Iterable[str], advice: str = _ADVICE) -> VerifiedFiles:
    """Hash files of a folder and compare them with SHA256SUMS, if the folder has it.

    Raise CheckpointError, with the name of the file and the advice, for one that differs or is not listed.
    """
    file_names = tuple(names)
    for _ in range(_MAX_TRIES):
        listed = read_manifest(folder)
        digests = file_digests(folder, file_names)
        if listed is None:
            return VerifiedFiles(digests, is_listed=False)
        difference = _difference(folder, digests, listed)
        if not difference:
            return VerifiedFiles(digests, is_listed=True)
        if read_manifest(folder) == listed:
            break
        # a running training has replaced the files at this moment
    raise CheckpointError(f"{difference} {advice}")


def _difference(folder: Path, digests: Mapping[str, str], listed: Mapping[str, str]) -> str:
    for name, digest in digests.items():
        if name not in listed:
            return f"{printable(str(folder / MANIFEST))} does not list {printable(name)}."
        if listed[name] != digest:
            return (
                f"{printable(str(folder / name))} has changed since it was written: its SHA-256 is not the one in "
                f"{MANIFEST}."
            )
    return ""


def verify_if_listed(folder: Path, names: Iterable[str], advice: str = _ADVICE) -> bool:
    """Verify files if the folder has SHA256SUMS; otherwise return False without reading them."""
    return (folder / MANIFEST).is_file() and verify_files(folder, names, advice).is_listed


def listed_files(folder: Path, names: Iterable[str]) -> list[str]:
    """Return those of some files that SHA256SUMS lists."""
    listed = read_manifest(folder) or {}
    return [name for name in names if name in listed]


def unverified_note(folder: Path) -> str:
    """Return the note about a folder without SHA256SUMS."""
    return f"{printable(str(folder))} has no {MANIFEST}, so its files were not verified."
