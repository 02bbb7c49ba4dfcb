"""Read the lines under `written:` in a working file: names, places, copies, rows and cells, all as text."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from clearhead.check.limits import MAX_WRITTEN_CELLS, MAX_WRITTEN_LINES
from clearhead.check.read.heading import LineHeading, read_heading
from clearhead.check.read.number import visible
from clearhead.check.working import Cells, Note, WrittenLine
from clearhead.errors import ProblemError

_MAX_DEPTH, _MAX_MISTAKES = 20, 1000
_MAX_TEXT = 2**20  # characters of one text
_COPIES = ("operands", "copies")
_PIECE = re.compile(
    r"[-+−–]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?%?|[-−–]?(?:∞|inf)|[?_]+"
).fullmatch  # a number that cannot be part of an expression
_GAP = re.compile(r"\s*;\s*|\s+")
_GROUPED = re.compile(r"[0-9]{1,3}(?: [0-9]{3})+").fullmatch  # 1 234 may be one number


class WrittenReader:
    """Read the data under `written`, and collect all errors."""

    def __init__(self) -> None:
        self.lines: list[WrittenLine] = []
        self.notes: list[Note] = []
        self.mistakes: list[str] = []
        self._room = MAX_WRITTEN_CELLS

    def read(self, data: Any, path: tuple[str, ...] = ("written",), where: str = "") -> None:
        """Read a mapping of names to numbers, rows, matrices, or places that contain more of them."""
        if len(path) > _MAX_DEPTH or len(self.mistakes) > _MAX_MISTAKES:
            what = f"places nested more than {_MAX_DEPTH} deep" if len(path) > _MAX_DEPTH else "too many errors"
            raise ProblemError(
                [*self.mistakes[:20], f"written contains {what}. Write, for example, 'cross: {{Q: …}}'."]
            )
        for key, value in data.items():
            if len(self.lines) > MAX_WRITTEN_LINES:
                raise ProblemError(
                    f"written contains more than {MAX_WRITTEN_LINES:,} lines. Give the lines of one working only."
                )
            below = (*path, visible(str(key)))
            if str(key).strip().casefold() in _COPIES and isinstance(value, Mapping):
                self._read_copies(value, below, where)
            elif isinstance(value, Mapping):
                self.read(value, below, ".".join(part for part in (where, below[-1].strip()) if part))
            else:
                self._add(read_heading(str(key), where), value, below)

    def _read_copies(self, data: Mapping[Any, Any], path: tuple[str, ...], where: str) -> None:
        for key, value in data.items():
            name = visible(str(key)).strip()
            below = (*path, name)
            if isinstance(value, Mapping):  # {scores: {Q: …, K: …}}
                for factor, cells in value.items():
                    inner = visible(str(factor)).strip()
                    self._add(LineHeading(inner, where, name), cells, (*below, inner))
                continue
            heading = read_heading(name, where)
            if heading.copied_into:
                self._add(heading, value, below)
            else:
                self.mistakes.append(
                    f"{': '.join(below)} does not name the line that {name} was copied into. "
                    f"Write, for example, {name}_copied_into_scores or 'scores: {{{name}: …}}'."
                )

    def _add(self, heading: LineHeading, value: Any, path: tuple[str, ...]) -> None:
        place = ": ".join(path)
        if not heading.name:
            self.mistakes.append(f"{place}: a line has no name. Use a name of the worksheet, such as Q or scores.")
            return
        try:
            cells = self._cells(value)
        except _MatrixError as wrong:
            self.mistakes.append(f"{place} {wrong}")
            return
        if cells == (("",),):
            self.notes.append(Note("read", f"{heading.name} is empty.", place))
        else:
            self.lines.append(heading.line(cells, place))

    def _cells(self, value: Any) -> Cells:
        if isinstance(value, Mapping):
            raise _MatrixError("contains names where numbers are expected. Write a number, a row or a list of rows.")
        if not isinstance(value, list | tuple):
            return self._counted(_rows_of_text(value) if isinstance(value, str) else ((_text(value),),))
        if not value:
            raise _MatrixError("is an empty list. Write a row or a list of rows, or remove the name.")
        if any(isinstance(row, list | tuple) for row in value):
            return self._counted(_row(row) for row in value)
        rows = [_pieces(cell) for cell in value] if _pieces(value[0]) else [()]
        if all(len(row) > 1 for row in rows):  # ["0.26 0.33", "0.41 0.59"]
            return self._counted(rows)
        return self._counted([tuple(_text(cell) for cell in value)])

    def _counted(self, rows: Iterable[tuple[str, ...]]) -> Cells:
        counted_rows = []
        for row in rows:
            self._room -= len(row)
            if self._room < 0:  # checked at once, because a YAML alias can repeat a matrix endlessly
                raise ProblemError(
                    f"written contains more than {MAX_WRITTEN_CELLS:,} cells. Give the lines of one working only."
                )
            counted_rows.append(row)
        return tuple(counted_rows)


class _MatrixError(Exception):
    """The value of a line is not a number, row or matrix; the message completes a sentence that names its place."""


def _row(row: Any) -> tuple[str, ...]:
    if not isinstance(row, list | tuple):
        raise _MatrixError("mixes rows and single numbers. Write every row in brackets: [[1, 2], [3, 4]].")
    if any(isinstance(cell, list | tuple | Mapping) for cell in row):
        raise _MatrixError("is nested too deeply: a matrix is a list of rows. Give every head or layer its own name.")
    return tuple(_text(cell) for cell in row)


def _text(cell: Any) -> str:
    if isinstance(cell, Mapping):
        raise _MatrixError("contains names where numbers are expected. Write a number, a row or a list of rows.")
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return repr(float(cell))  # the repr of a NumPy float would include its type
    return visible(cell if isinstance(cell, str) else str(cell)).strip()


def _rows_of_text(text: str) -> Cells:
    """Split a text into rows and cells if it clearly contains them; keep any other text as one cell."""
    rows = [_pieces(line) for line in text.splitlines() if line.strip()] if len(text) <= _MAX_TEXT else []
    return tuple(rows) if rows and all(rows) else ((_text(text),),)


def _pieces(cell: Any) -> tuple[str, ...]:
    """Return the numbers of "0.26 0.33 0.41"; empty if the text is one number or anything else."""
    if not isinstance(cell, str) or len(cell) > _MAX_TEXT or _GROUPED(cell.strip()):
        return ()
    pieces = tuple(_GAP.split(cell.strip(" \t;")))
    return pieces if len(pieces) > 1 and all(map(_PIECE, pieces)) else ()
