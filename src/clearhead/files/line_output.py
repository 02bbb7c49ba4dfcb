"""Write an output file that can be resumed: lines go to a part file, which gets its final name when it is complete.

A journal next to the part file records how many of its lines and bytes are valid, the settings they were made with, and
a hash of the input up to there. A later process can resume from it without repeating or losing a line.
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
    """An output file that is being written; `num_done` lines of the input are already done when it is resumed."""

    def __init__(self, path: Path, made_with: Mapping[str, Any]) -> None:
        self.path = path
        self.part = path.with_name(path.name + _PART)
        self.journal = path.with_name(path.name + _JOURNAL)
        self.num_done = 0
        self._made_with = dict(made_with)
        self._num_bytes = 0
        self._input = hashlib.sha256()
        self._expected: str | None = None  # the hash of the input lines that an earlier process did
        self._file: int | None = None

    @staticmethod
    def open(path: str | Path, made_with: Mapping[str, Any], *, resume: bool = False) -> "LineOutput":
        """Start or resume an output file; nothing is written before the first line is done."""
        output = LineOutput(Path(path), made_with)
        shown = printable(str(path))
        if output.path.is_dir():
            raise RunError(f"{shown} is a folder. Give the name of a file.", options=("output",))
        if not output.path.parent.is_dir():
            raise RunError(f"the folder of {shown} does not exist. Create it first.")
        if not output.part.exists():
            return output
        if not resume:
            raise RunError(
                f"{printable(str(output.part))} exists already: a translation that was not finished. "
                "Delete it, or resume it.",
                options=("resume",),
            )
        output._reopen()
        return output

    @staticmethod
    def is_complete(path: str | Path) -> bool:
        """Return whether the file has its final name and there is no part file next to it."""
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
                f"{printable(str(self.journal))} cannot be read ({wrong}), so {shown} cannot be resumed. "
                "Delete both files and start again."
            ) from None
        mine = json.loads(json.dumps(self._made_with))
        other = [name for name in {**before, **mine} if before.get(name) != mine.get(name)]
        if other:
            differences = "; ".join(
                f"{name} was {_shown(before.get(name))} and is now {_shown(mine.get(name))}" for name in other
            )
            raise RunError(
                f"{shown} was made with other settings: {differences}. "
                "Use the same settings, or delete it and start again."
            )
        if self.part.stat().st_size < num_bytes:
            raise RunError(f"{shown} is shorter than its journal records. Delete both files and start again.")
        self.num_done, self._num_bytes = lines, num_bytes

    def skip(self, lines: Iterable[str]) -> None:
        """Record the input lines that are already done, and check that they have not changed."""
        self._note(lines)
        if self._expected is not None and self._input.hexdigest() != self._expected:
            raise RunError(
                f"the first {self.num_done:,} lines of the input are not those that {printable(str(self.part))} was "
                "made from. Give the same input, or delete the part file and start again."
            )

    def _note(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._input.update(line.encode(errors="surrogatepass") + b"\n")

    def write(self, content: bytes, lines: Iterable[str], num_lines: int) -> None:
        """Write the output of the next `num_lines` lines of the input."""
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
                raise RunError(f"{fact} Choose a place with enough space.") from None
            raise RunError(
                f"{fact} {self.num_done:,} lines are done and saved. Free some space, then resume.", options=("resume",)
            ) from None

    def _open_part(self) -> int:
        handle = os.open(self.part, os.O_WRONLY | os.O_CREAT, 0o666)
        if not lock_file(handle):
            os.close(handle)
            raise RunError(f"{printable(str(self.part))} is being written by another process. Wait for it.")
        os.ftruncate(handle, self._num_bytes)  # later bytes are of an unfinished batch
        os.lseek(handle, self._num_bytes, os.SEEK_SET)
        return handle

    def _write_journal(self) -> None:
        state = {
            "lines": self.num_done,
            "bytes": self._num_bytes,
            "input": self._input.hexdigest(),
            "made_with": self._made_with,
        }
        # A fixed temporary name is safe because we hold the lock, and even many killed processes leave only one behind.
        # The folder is not synced: after a power cut the previous journal serves as well, and batches stay fast.
        fresh = self.journal.with_name(self.journal.name + ".new")
        try:
            with fresh.open("wb") as file:
                file.write(json.dumps(state, ensure_ascii=False).encode())
                flush_to_disk(file)
            fresh.replace(self.journal)
        finally:
            fresh.unlink(missing_ok=True)

    def finish(self) -> None:
        """Give the complete file its final name."""
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
                self.part.unlink()  # it is empty, so there is nothing to resume


def _shown(value: object) -> str:
    text = printable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= 60 else text[:59] + "…"
