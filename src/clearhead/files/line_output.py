"""Write an output file that can be resumed: lines go to a part file, which gets its final name when it is complete.

A journal next to the part file records how many of its lines and bytes are valid, the settings they were made with, and
a hash of the input up to there. A later process can resume from it without repeating or losing a line.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from clearhead.errors import RunError, printable
from clearhead.files.destination import find_destination
from clearhead.files.line_record import (
    LineRecord,
    describe_differences,
    load_finished,
    plain_data,
    save_finished,
    start_hash,
)
from clearhead.files.lock import lock_file
from clearhead.files.writing import flush_to_disk, sync_folder

_PART, _JOURNAL, _NEW = ".part", ".part.json", ".part.json.new"
COMPANIONS = (_PART, _JOURNAL, _NEW)  # suffixes of the files next to an unfinished output


class LineOutput:
    """An output file that is being written; `num_done` lines of the input are already done when it is resumed."""

    def __init__(self, path: Path, made_with: Mapping[str, Any]) -> None:
        self.path = path
        self.part, self.journal, self._new_journal = (path.with_name(path.name + suffix) for suffix in COMPANIONS)
        self.num_done = 0
        self.is_finished = False  # it was finished by an earlier process: see check_finished
        self._made_with = plain_data(made_with)
        self._num_bytes = 0
        self._input, self._output = hashlib.sha256(), hashlib.sha256()
        self._expected: str | None = None  # the hash of the input lines that an earlier process did
        self._file: int | None = None

    @staticmethod
    def open(path: str | Path, made_with: Mapping[str, Any], *, resume: bool = False) -> "LineOutput":
        """Start or resume an output file; nothing is written before the first line is done, and links are followed."""
        output = LineOutput(find_destination(path).path, made_with)
        if not output.part.exists():
            output.is_finished = resume and output.path.exists()
            return output
        if not resume:
            raise RunError(
                f"{printable(str(output.part))} exists already: a translation that was not finished. "
                "Delete it, or resume it.",
                options=("resume",),
            )
        output._reopen()
        return output

    def _reopen(self) -> None:
        shown = printable(str(self.part))
        try:
            status = self.part.stat()
            if not stat.S_ISREG(status.st_mode):
                raise RunError(f"{shown} is not a file. Remove it, or choose another name for the output.")
            if not status.st_size:
                return  # killed before the first line was written: a journal next to it is of an earlier output
            record = LineRecord.read(self.journal)
        except FileNotFoundError:  # not a file of ours: the journal is written before the first line
            raise RunError(
                f"{shown} exists, but there is no {printable(self.journal.name)}, so it cannot be resumed. "
                "Move it away, or choose another name for the output."
            ) from None
        except (OSError, ValueError) as wrong:
            raise RunError(
                f"{printable(str(self.journal))} cannot be read ({wrong}), so {shown} cannot be resumed. "
                "Delete both files and start again."
            ) from None
        differences = describe_differences(record.made_with, self._made_with)
        if differences:
            raise RunError(
                f"{shown} was made with other settings: {differences}. "
                "Use the same settings, or delete it and start again."
            )
        try:
            self._check_part(record)
        except OSError as wrong:
            raise RunError(f"{shown} cannot be read: {wrong.strerror}.") from None
        self.num_done, self._num_bytes, self._expected = record.num_lines, record.num_bytes, record.input_hash

    def _check_part(self, record: LineRecord) -> None:
        """Check that the part file starts with the bytes that its journal counts."""
        shown = printable(str(self.part))
        if self.part.stat().st_size < record.num_bytes:
            raise RunError(f"{shown} is shorter than its journal records. Delete both files and start again.")
        self._output = start_hash(self.part, record.num_bytes)
        if self._output.hexdigest() != record.output_hash:
            raise RunError(f"{shown} was changed after it was written. Delete it and its journal, and start again.")

    def check_finished(self, lines: Iterable[str]) -> None:
        """Raise RunError unless the finished file was made from these lines with these settings and is unchanged."""
        shown, advice = printable(str(self.path)), "Run without resuming to replace it."
        try:
            size, output_hash = self.path.stat().st_size, start_hash(self.path).hexdigest()
        except OSError as wrong:
            raise RunError(f"{shown} cannot be read: {wrong.strerror}.") from None
        records = [record for record in (load_finished(self.path), self._last_journal()) if record is not None]
        own = [record for record in records if (record.num_bytes, record.output_hash) == (size, output_hash)]
        if not records:
            fact = f"{shown} exists, and nothing records how it was made."
        elif not own:
            fact = f"{shown} was changed after it was written."
        elif differences := describe_differences(own[0].made_with, self._made_with):
            fact = f"{shown} is complete, but it was made with other settings: {differences}."
        elif change := self._input_change(lines, own[0]):
            fact = f"{shown} is complete, but it was made from another input: {change}."
        else:
            save_finished(self.path, own[0])
            with suppress(OSError):
                self.journal.unlink()
            return
        raise RunError(f"{fact} {advice}")

    def _last_journal(self) -> LineRecord | None:
        """Return the last journal of a file that was finished by a process that was killed before removing it."""
        try:
            return LineRecord.read(self.journal)
        except (OSError, ValueError):
            return None

    def _input_change(self, lines: Iterable[str], record: LineRecord) -> str:
        number = _add_lines(self._input, lines)
        if number != record.num_lines:
            return f"it has {number:,} lines, and had {record.num_lines:,}"
        return "" if self._input.hexdigest() == record.input_hash else f"its {number:,} lines are not the same"

    def skip(self, lines: Iterable[str]) -> None:
        """Record the input lines that are already done, and check that they have not changed."""
        _add_lines(self._input, lines)
        if self._expected is not None and self._input.hexdigest() != self._expected:
            raise RunError(
                f"the first {self.num_done:,} lines of the input are not those that {printable(str(self.part))} was "
                "made from. Give the same input, or delete the part file and start again."
            )

    def write(self, content: bytes, lines: Iterable[str], num_lines: int) -> None:
        """Write the output of the next `num_lines` lines of the input."""
        try:
            if self._file is None:
                self._file = self._open_part()
            view = memoryview(content)
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)
            self._count(content, lines, num_lines)
        except OSError as wrong:
            fact = f"{printable(str(self.part))} cannot be written: {wrong.strerror}."
            if not self.num_done:
                raise RunError(f"{fact} Choose another place.", options=("output",)) from None
            raise RunError(
                f"{fact} {self.num_done:,} lines are done and saved. Free some space, then resume.", options=("resume",)
            ) from None

    def _open_part(self) -> int:
        creation = 0 if self._num_bytes else os.O_CREAT  # a part file that is resumed must still be there
        try:
            handle = os.open(self.part, os.O_RDWR | creation | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except FileNotFoundError:
            raise RunError(
                f"{printable(str(self.part))} is gone: another process has finished or removed it. Start again."
            ) from None
        is_ours = False
        try:
            is_ours = lock_file(handle) and self._is_part(handle)
            if not is_ours:
                raise RunError(f"{printable(str(self.part))} is being written by another process. Wait for it.")
            self._check_unchanged()
            if not self.num_done:
                self.journal.unlink(missing_ok=True)  # of an earlier output, whose process was killed at its end
            os.ftruncate(handle, self._num_bytes)  # later bytes are of an unfinished batch
            os.lseek(handle, self._num_bytes, os.SEEK_SET)
            if not self.num_done:
                self._write_journal()  # before the first line, so that a part file without a journal is not ours
        except BaseException:
            os.close(handle)
            if is_ours:
                self._remove_if_empty()
            raise
        return handle

    def _remove_if_empty(self) -> None:
        """Remove the part file and its journal if no line is done: there is nothing to resume."""
        if not self.num_done:
            self.part.unlink(missing_ok=True)
            self.journal.unlink(missing_ok=True)

    def _check_unchanged(self) -> None:
        """Check a resumed part file again, now that it is locked: another process can have changed it in between."""
        if not self._num_bytes:
            return
        start = start_hash(self.part, self._num_bytes)
        if self.part.stat().st_size < self._num_bytes or start.hexdigest() != self._output.hexdigest():
            raise RunError(f"{printable(str(self.part))} was changed by another process. Resume it again.")

    def _is_part(self, handle: int) -> bool:
        """Return whether an open file is the part file; the process that had locked it can have finished it."""
        try:
            return os.path.samestat(os.fstat(handle), self.part.stat())
        except FileNotFoundError:
            return False

    @property
    def _record(self) -> LineRecord:
        hashes = self._input.hexdigest(), self._output.hexdigest()
        return LineRecord(self.num_done, self._num_bytes, *hashes, self._made_with)

    def _count(self, content: bytes, lines: Iterable[str], num_lines: int) -> None:
        """Count lines that are on the disk: if the journal cannot be written, they are not done."""
        before = self.num_done, self._num_bytes, self._input, self._output
        try:
            self._input, self._output = self._input.copy(), self._output.copy()
            _add_lines(self._input, lines)
            self._output.update(content)
            self.num_done += num_lines
            self._num_bytes += len(content)
            self._write_journal()
        except BaseException:
            self.num_done, self._num_bytes, self._input, self._output = before
            raise

    def _write_journal(self) -> None:
        # A fixed temporary name is safe because we hold the lock, and even many killed processes leave only one behind.
        # The folder is not synced: after a power cut the previous journal serves as well, and batches stay fast.
        try:
            self._new_journal.unlink(missing_ok=True)
            with self._new_journal.open("xb") as file:
                file.write(self._record.to_bytes())
                flush_to_disk(file)
            self._new_journal.replace(self.journal)
        finally:
            self._new_journal.unlink(missing_ok=True)

    def finish(self) -> None:
        """Give the complete file its final name, and the permissions of the file that it replaces."""
        try:
            if self._file is None:
                self._file = self._open_part()
            if self.path.exists():
                self.part.chmod(stat.S_IMODE(self.path.stat().st_mode))
            self.part.replace(self.path)
            sync_folder(self.path.parent)
            save_finished(self.path, self._record)
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
            if self.part.exists():  # otherwise it is finished
                self._remove_if_empty()


def _add_lines(digest: "hashlib._Hash", lines: Iterable[str]) -> int:
    """Add input lines to their hash, and return how many there were."""
    number = 0
    for line in lines:
        digest.update(line.encode(errors="surrogatepass") + b"\n")
        number += 1
    return number
