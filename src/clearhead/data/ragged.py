"""Store rows of different lengths in two memory-mapped files: the numbers, and the start of each row.

Only the rows that are read are loaded, so a corpus can be larger than memory.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import DataError, printable
from clearhead.files.writing import flush_to_disk

Numbers = NDArray[Any]
_PART = 2**14  # numbers compared at once


class Ragged:
    """Rows of numbers; `rows` are views of the file, not copies."""

    def __init__(self, values: Numbers, offsets: NDArray[np.int64]) -> None:
        self.values, self.offsets = values, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of every row."""
        return np.diff(self.offsets)

    @property
    def has_empty_rows(self) -> bool:
        """Whether a row has no numbers."""
        return _smallest_step(self.offsets) < 1

    def rows(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> list[Numbers]:
        """Return some rows, in the order of the indices."""
        row_indices = np.asarray(indices, dtype=np.int64)
        begins, ends = self.offsets[row_indices].tolist(), self.offsets[row_indices + 1].tolist()
        values = self.values
        return [values[begin:end] for begin, end in zip(begins, ends, strict=True)]

    def gather(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> tuple[Numbers, NDArray[np.int64]]:
        """Return the concatenated numbers of some rows in a new array, and the rows' lengths."""
        row_indices = np.asarray(indices, dtype=np.int64)
        begins = self.offsets[row_indices]
        lengths = self.offsets[row_indices + 1] - begins
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - lengths), lengths)
        return self.values[places], lengths


class RaggedWriter:
    """Writes rows block by block; only one block is in memory."""

    def __init__(self, folder: Path, name: str, dtype: str) -> None:
        self._dtype = np.dtype(dtype)
        self._values = (folder / f"{name}.values").open("wb")
        self._offsets = (folder / f"{name}.offsets").open("wb")
        self._end = 0
        np.zeros(1, np.int64).tofile(self._offsets)

    def append(self, rows: Sequence[Sequence[int]]) -> None:
        """Write rows of numbers."""
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        values = np.fromiter(chain.from_iterable(rows), self._dtype, int(lengths.sum()))
        self._write(values.tobytes(), lengths)

    def append_texts(self, texts: Iterable[str]) -> None:
        """Write texts as UTF-8."""
        encoded = [text.encode() for text in texts]
        self._write(b"".join(encoded), np.fromiter(map(len, encoded), np.int64, len(encoded)))

    def _write(self, values: bytes, lengths: NDArray[np.int64]) -> None:
        self._values.write(values)
        ends = np.cumsum(lengths) + self._end
        ends.tofile(self._offsets)
        self._end = int(ends[-1]) if len(ends) else self._end

    def close(self) -> None:
        """Write the remaining rows and flush them to disk."""
        for file in (self._values, self._offsets):
            with file:
                flush_to_disk(file)


def open_ragged(folder: Path, name: str, dtype: str) -> Ragged:
    """Map the two files of a RaggedWriter into memory."""
    offsets = map_numbers(folder / f"{name}.offsets", "int64")
    values = map_numbers(folder / f"{name}.values", dtype)
    if not len(offsets) or offsets[-1] != len(values):
        raise DataError(f"{printable(str(folder))}: {name} is truncated. Delete the folder; it will be created again.")
    if offsets[0] or _smallest_step(offsets) < 0:
        raise DataError(
            f"{printable(str(folder))} is damaged: the offsets of {name} do not rise from 0 to its end. "
            "Delete the folder; it will be created again."
        )
    return Ragged(values, offsets)


def _smallest_step(numbers: NDArray[np.int64]) -> int:
    """Return the smallest difference between neighbours (1 if there are none), with little memory."""
    parts = (numbers[start : start + _PART + 1] for start in range(0, len(numbers) - 1, _PART))
    return min((int(np.diff(part).min()) for part in parts), default=1)


def map_numbers(path: Path, dtype: str) -> Numbers:
    """Map a file of plain numbers into memory."""
    kind = np.dtype(dtype)
    if not path.stat().st_size:
        return np.empty(0, kind)  # an empty file cannot be mapped
    # a plain array view: slicing the map itself is ten times slower
    return np.asarray(np.memmap(path, kind, mode="r")).view(np.ndarray)
