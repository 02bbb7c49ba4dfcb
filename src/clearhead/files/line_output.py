"""An output file that a killed process leaves in order: lines go to a part file, which gets its name when it is whole.

A journal beside the part file says how many lines and bytes of it count, what the lines were made with, and what the
input was up to there; so a later process can go on where this one stopped, with nothing twice and nothing lost.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from clearhead.errors import RunError, printable
from clearhead.files.lock import lock_file
from clearhead.files.writing import flush_to_disk, sync_folder

_PART, _JOURNAL = ".part", ".part.json"


class LineOutput:
    """A file in the making; `num_done` lines of the input are done already when it is gone on with."""

    def __init__(self, path: Path, made_with: Mapping[str, Any]) -> None:
        self.path = path
        self.part = path.with_name(path.name + _PART)
        self.journal = path.with_name(path.name + _JOURNAL)
        self.num_done = 0
        self._made_with = dict(made_with)
        self._num_bytes = 0
        self._input = hashlib.sha256()
        self._expected: str | None = None  # the hash of the input that was done before
        self._file: int | None = None

    @staticmethod
    def open(path: str | Path, made_with: Mapping[str, Any], *, resume: bool = False) -> "LineOutput":
        """Begin an output file, or go on with one; nothing is written before the first line is done."""
        output = LineOutput(Path(path), made_with)
        shown = printable(str(path))
        if output.path.is_dir():
            raise RunError(f"{shown} is a folder. Give the name of a file.", options=("output",))
        if not output.path.parent.is_dir():
            raise RunError(f"the folder of {shown} does not exist. Make it first.")
        if not output.part.exists():
            return output
        if not resume:
            raise RunError(
                f"{printable(str(output.part))} is there already: a translation that was not finished. "
                "Remove it, or resume it.",
                options=("resume",),
            )
        output._reopen()
        return output

    @staticmethod
    def is_complete(path: str | Path) -> bool:
        """Return whether the file has its final name, and no part of another one is beside it."""
        output = LineOutput(Path(path), {})
        return output.path.is_file() and not output.part.exists()

    def _reopen(self) -> None:
        shown = printable(str(self.part))
        try:
            state = json.loads(self.journal.read_text(encoding="utf-8"))
            lines, num_bytes = int(state["lines"]), int(state["bytes"])
            self._expected, before = str(state["input"]), dict(state["made_with"])
        except FileNotFoundError:
            lines, num_bytes, before, self._expected = 0, 0, self._made_with, None  # killed before its first line
        except (OSError, ValueError, KeyError, TypeError) as wrong:
            raise RunError(
                f"{printable(str(self.journal))} cannot be read ({wrong}), so {shown} cannot be gone on with. "
                "Remove both, and begin again."
            ) from None
        mine = json.loads(json.dumps(self._made_with))
        other = [name for name in {**before, **mine} if before.get(name) != mine.get(name)]
        if other:
            differences = "; ".join(
                f"{name} was {_shown(before.get(name))}, and is {_shown(mine.get(name))}" for name in other
            )
            raise RunError(
                f"{shown} was made with other settings: {differences}. Use the same, or remove it and begin again."
            )
        if self.part.stat().st_size < num_bytes:
            raise RunError(f"{shown} is shorter than its journal says. Remove both, and begin again.")
        self.num_done, self._num_bytes = lines, num_bytes

    def skip(self, lines: Iterable[str]) -> None:
        """Take note of the lines that are done already, and check that they are those of before."""
        self._note(lines)
        if self._expected is not None and self._input.hexdigest() != self._expected:
            raise RunError(
                f"the first {self.num_done:,} lines of the input are not those that {printable(str(self.part))} was "
                "made of. Give the same input, or remove the part file and begin again."
            )

    def _note(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._input.update(line.encode(errors="surrogatepass") + b"\n")

    def write(self, content: bytes, lines: Iterable[str], num_lines: int) -> None:
        """Write what was made of so many further lines of the input."""
        try:
            if self._file is None:
                self._file = self._open_part()
            view = memoryview(content)
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)
            self._note(lines)
            self.num_done += num_lines
            self._num_bytes += len(content)
            self._write_journal()
        except OSError as wrong:
            fact = f"{printable(str(self.part))} cannot be written: {wrong.strerror}."
            if not self.num_done:
                raise RunError(f"{fact} Choose a place with room.") from None
            raise RunError(
                f"{fact} {self.num_done:,} lines are done and kept; make room, and resume.", options=("resume",)
            ) from None

    def _open_part(self) -> int:
        handle = os.open(self.part, os.O_WRONLY | os.O_CREAT, 0o666)
        if not lock_file(handle):
            os.close(handle)
            raise RunError(f"{printable(str(self.part))} is being written by another process. Wait for it.")
        os.ftruncate(handle, self._num_bytes)  # what is beyond was not finished
        os.lseek(handle, self._num_bytes, os.SEEK_SET)
        return handle

    def _write_journal(self) -> None:
        state = {
            "lines": self.num_done,
            "bytes": self._num_bytes,
            "input": self._input.hexdigest(),
            "made_with": self._made_with,
        }
        # One name for every journal in the making, since the lock is ours: a process that is often killed leaves one.
        # The folder is not synced: the journal before this one is as good after a power cut, and batches stay fast.
        fresh = self.journal.with_name(self.journal.name + ".new")
        try:
            with fresh.open("wb") as file:
                file.write(json.dumps(state, ensure_ascii=False).encode())
                flush_to_disk(file)
            fresh.replace(self.journal)
        finally:
            fresh.unlink(missing_ok=True)

    def finish(self) -> None:
        """Give the file its name: it is whole."""
        try:
            if self._file is None:
                self._file = self._open_part()
            self.part.replace(self.path)
            sync_folder(self.path.parent)
            self.journal.unlink(missing_ok=True)
        except OSError as wrong:
            raise RunError(f"{printable(str(self.path))} cannot be written: {wrong.strerror}.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
            if not self.num_done and self.part.exists() and not self.journal.exists():
                self.part.unlink()  # there is nothing in it to go on with


def _shown(value: object) -> str:
    text = printable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= 60 else text[:59] + "…"
