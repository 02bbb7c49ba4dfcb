"""Where the results of a cluster go: a stream, a file of lines that can be resumed, or a Parquet file made from one."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from itertools import islice
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self

from clearhead.cluster.inputs import InputFile, is_parquet, read_input
from clearhead.cluster.messages import WindowResult
from clearhead.cluster.parquet import add_columns, read_made_with, refuse_columns
from clearhead.decoding.job import JobInterrupted
from clearhead.errors import ClearheadError, DataError, RunError, printable
from clearhead.files.line_output import LineOutput
from clearhead.files.line_record import describe_differences, plain_data

_LINES = ".lines"  # the suffix of the lines from which a Parquet file is made


class WindowOutput(Protocol):
    """An output that is written window by window, in order."""

    @property
    def num_done(self) -> int:
        """The number of lines of the input that are done."""

    def skip(self, lines: Iterable[str]) -> None:
        """Check the input lines that an earlier run has done."""

    def write(self, content: bytes, lines: Iterable[str], num_lines: int) -> None:
        """Write the output of the next `num_lines` lines of the input."""

    def finish(self) -> None:
        """Complete the output."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class StreamOutput:
    """Standard output, a device or a pipe."""

    def __init__(self, stream: BinaryIO, *, is_owned: bool = True) -> None:
        self.num_done = 0
        self._stream, self._is_owned = stream, is_owned

    def skip(self, lines: Iterable[str]) -> None:
        """Do nothing: a stream cannot be resumed."""

    def write(self, content: bytes, lines: Iterable[str], num_lines: int) -> None:
        """Write the output of a window at once."""
        self._stream.write(content)
        self._stream.flush()
        self.num_done += num_lines

    def finish(self) -> None:
        """Do nothing: everything is written."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_owned:
            self._stream.close()


class ParquetOutput:
    """A Parquet file: the lines go to a file next to it, and are added as columns to a copy of the input at the end."""

    def __init__(self, file: InputFile, headings: Sequence[str], made_with: Mapping[str, Any], *, resume: bool) -> None:
        assert file.output is not None
        self._file, self.path, self._headings = file, file.output, headings
        self._made_with = plain_data(made_with)
        self._lines = file.output.with_name(file.output.name + _LINES)
        refuse_columns(file.source.name, headings)
        self.is_finished = resume and self._is_complete()
        self._output = None if self.is_finished else LineOutput.open(self._lines, made_with, resume=resume)
        if self._output is not None and self._output.is_finished:  # killed before the Parquet file was written
            self._output.check_finished(line.line for line in read_input(file.source))
            self._add_columns()
            self.is_finished = True

    @property
    def num_done(self) -> int:
        """The number of rows of the input that are done."""
        return 0 if self._output is None else self._output.num_done

    def _is_complete(self) -> bool:
        """Return whether the file is there, and raise RunError if it was made from another input or settings."""
        others = (self._lines, *(self._lines.with_name(self._lines.name + end) for end in (".part",)))
        if not self.path.exists() or any(other.exists() for other in others):
            return False
        made_with = read_made_with(self.path)
        shown, advice = printable(str(self.path)), "Run without resuming to replace it."
        if made_with is None:
            raise RunError(f"{shown} exists, and nothing records how it was made. {advice}")
        if differences := describe_differences(made_with, self._description()):
            raise RunError(f"{shown} is complete, but it was made in another way: {differences}. {advice}")
        return True

    def _description(self) -> dict[str, Any]:
        digest = sha256()
        for line in read_input(self._file.source):
            digest.update(line.line.encode(errors="surrogatepass") + b"\0")
        return {**self._made_with, "input": digest.hexdigest()}

    def _add_columns(self) -> None:
        add_columns(self._file.source.name, self._lines, self._headings, self.path, self._description())
        with suppress(OSError):
            self._lines.unlink()

    def skip(self, lines: Iterable[str]) -> None:
        """Check the rows that an earlier run has done."""
        assert self._output is not None
        self._output.skip(lines)

    def write(self, content: bytes, lines: Iterable[str], num_lines: int) -> None:
        """Write the lines of a window."""
        assert self._output is not None
        self._output.write(content, lines, num_lines)

    def finish(self) -> None:
        """Write the Parquet file, and remove the lines."""
        assert self._output is not None
        self._output.finish()
        self._add_columns()

    def __enter__(self) -> Self:
        if self._output is not None:
            self._output.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._output is not None:
            self._output.__exit__(kind, error, trace)


def open_file(
    file: InputFile, headings: Sequence[str], made_with: Mapping[str, Any], *, resume: bool
) -> WindowOutput | None:
    """Open the output file of an input; None if it is complete already, made from the same input and settings."""
    assert file.output is not None
    if is_parquet(file.output):
        table = ParquetOutput(file, headings, made_with, resume=resume)
        return None if table.is_finished else table
    output = LineOutput.open(file.output, made_with, resume=resume)
    if output.is_finished:
        output.check_finished(line.line for line in read_input(file.source))
        return None
    return output


def first_lines(file: InputFile, number: int) -> Iterator[str]:
    """Yield the first `number` lines of an input; raise RunError if there are fewer."""
    count = 0
    for line in islice(read_input(file.source), number):
        count += 1
        yield line.line
    if count < number:
        raise RunError(f"the input has {count:,} lines, but {number:,} lines were already done. Give the same input.")


def write_in_order(
    outputs: Sequence[WindowOutput],
    results: Generator[WindowResult, None, None],
    count: Callable[[WindowResult], None],
) -> None:
    """Write the results of all inputs to their outputs; `count` is called for each window that is written.

    An error of the input and Ctrl-C leave the lines that are done, and the number of them is in the exception.
    """
    with closing(results):
        try:
            for number, output in enumerate(outputs):
                with output:
                    _write_file(number, output, results, count)
        except KeyboardInterrupt:
            raise JobInterrupted(sum(output.num_done for output in outputs)) from None


def _write_file(
    number: int, output: WindowOutput, results: Iterator[WindowResult], count: Callable[[WindowResult], None]
) -> None:
    for result in results:
        assert result.file == number, "results are not in the order of the files"
        if result.error is not None:
            raise _with_saved(result.error, output.num_done)
        if result.is_last:
            output.finish()
            return
        output.write(result.content, result.lines, len(result.lines))
        count(result)
    raise AssertionError("the results ended before the input")


def _with_saved(error: ClearheadError, num_done: int) -> ClearheadError:
    """Return an error of the input with the number of lines that are saved."""
    if not num_done or not isinstance(error, DataError):
        return error
    return DataError(
        f"{error} The first {num_done:,} lines are done and saved. Correct the input, then resume.",
        options=("resume",),
    )
