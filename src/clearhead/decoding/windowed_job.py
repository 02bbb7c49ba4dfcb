"""A job that reads items in windows and writes lines for each window, to a stream or to a file that can be resumed.

An interrupted job can be resumed from its unfinished output file; no item is lost or written twice.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Generic, TypeVar

from clearhead.errors import DataError, RunError, printable
from clearhead.files.destination import find_destination
from clearhead.files.line_output import LineOutput

T = TypeVar("T")


class JobInterrupted(KeyboardInterrupt):  # not an Exception: nobody should catch it as an error
    """Ctrl-C while a file was being written: `num_done` lines of the input are finished and saved."""

    def __init__(self, num_done: int) -> None:
        super().__init__()
        self.num_done = num_done


class WindowedJob(ABC, Generic[T]):
    """The base of all such jobs: a subclass says which lines a window of items becomes."""

    done: ClassVar[str]  # for messages: what has happened to a line that is written
    num_earlier = 0  # items that an earlier run has done

    @abstractmethod
    def content(self, window: Sequence[T]) -> bytes:
        """Process the next window; return the bytes to write."""

    @abstractmethod
    def input_line(self, item: T) -> str:
        """Return an item as one line, by which a later run recognises it."""

    def earlier_line(self, item: T) -> str:
        """Return the line of an item that an earlier run has done."""
        return self.input_line(item)

    def resume_after(self, num_items: int) -> None:
        """Take note of how many items an earlier run has done, before the next window."""
        self.num_earlier = num_items

    def finish(self) -> None:
        """Do what is left when all is written."""

    def write(
        self,
        items: Iterator[T],
        windows: Iterator[Sequence[T]],
        output: Path | None,
        settings: Mapping[str, Any],
        *,
        resume: bool,
    ) -> bool:
        """Write to standard output (None), a device, a pipe, or a file that gets its name when it is complete.

        `windows` reads from `items`. `settings` are all that affect the output; resuming a file requires the same ones.
        Return False if the file was complete already: then its settings and its input are only checked.
        """
        if output is None:
            self.to_stream(windows, sys.stdout.buffer)
            return True
        destination = find_destination(output)
        if destination.is_stream:
            if resume:
                raise RunError(f"{printable(str(output))} is not a file, so it cannot be resumed.", options=("resume",))
            with destination.open_stream() as stream:
                self.to_stream(windows, stream)
            return True
        file = LineOutput.open(output, settings, resume=resume)
        if file.is_finished:
            file.check_finished(map(self.input_line, items))
            return False
        self._to_file(items, windows, file)
        return True

    def to_stream(self, windows: Iterable[Sequence[T]], stream: BinaryIO) -> None:
        """Write each window as soon as it is processed."""
        for window in windows:
            stream.write(self.content(window))
            stream.flush()
        self.finish()

    def _to_file(self, items: Iterator[T], windows: Iterator[Sequence[T]], file: LineOutput) -> None:
        with file:
            try:
                file.skip(map(self.earlier_line, _first(items, file.num_done, self.done)))
                self.resume_after(file.num_done)
                for window in windows:
                    file.write(self.content(window), map(self.input_line, window), len(window))
                file.finish()
            except KeyboardInterrupt:
                raise JobInterrupted(file.num_done) from None
            except DataError as error:
                if not file.num_done:
                    raise
                raise DataError(
                    f"{error} The first {file.num_done:,} lines are {self.done} and saved. Correct the input, then "
                    "resume.",
                    options=("resume",),
                ) from None
        self.finish()


def _first(items: Iterator[T], number: int, done: str) -> Iterator[T]:
    """Yield the first `number` items; raise RunError if there are fewer."""
    count = 0
    for item in islice(items, number):
        count += 1
        yield item
    if count < number:
        raise RunError(f"the input has {count:,} lines, but {number:,} lines were already {done}. Give the same input.")
