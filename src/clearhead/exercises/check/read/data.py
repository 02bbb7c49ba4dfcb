"""Read a working file, YAML or JSON: the lines under `written`, with their places and copies."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from clearhead.check.limits import MAX_VALUES, MAX_WRITTEN_CELLS, MAX_WRITTEN_LINES
from clearhead.errors import ProblemError
from clearhead.exercises.check.read.number import visible
from clearhead.exercises.check.read.page import HOLE, Cells, Page, PageBlock, Side
from clearhead.worksheet.problem import shorten
from clearhead.worksheet.reading import read_data

_MAX_DEPTH, _MAX_MISTAKES, _MAX_TEXT = 20, 1000, 2**20
_COPIES = ("operands", "copies")
_PLAIN = re.compile(
    r"[-+−–]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?%?|[-−–]?(?:∞|inf)|[?_]+"
).fullmatch  # a number that cannot be part of an expression
_GAP = re.compile(r"\s*;\s*|\s+")
_GROUPED = re.compile(r"[0-9]{1,3}(?: [0-9]{3})+").fullmatch  # 1 234 may be one number
_INTO = ("_copied_into_", " copied into ", " into ")
_NAMES_INSIDE = "contains names where numbers are expected. Write a number, a row or a list of rows."


def read_data_page(content: bytes) -> Page:
    """Return the lines of a working file; `fields` are all its other keys."""
    num_values = content.count(b",") + content.count(b"\n")
    if num_values > MAX_VALUES:
        raise ProblemError(f"contains more than {MAX_VALUES:,} values. Give the lines of one working only.")
    return page_of_data(read_data(content, "written"))


def page_of_data(data: Mapping[str, Any]) -> Page:
    """Return the lines of a working that is given as plain data."""
    fields = {key: value for key, value in data.items() if key != "written"}
    if "clearhead" in data:  # a sheet, which its own reader reads
        return Page((), fields=fields)
    lines = data.get("written")
    reader = _Reader()
    if "written" not in data:
        reader.mistakes.append(
            "written is missing. Add 'written:' with the lines of the working, such as 'Q: [[0.50, 1.2], …]'."
        )
    elif not isinstance(lines, Mapping) or not lines:
        reader.mistakes.append(
            f"written = {shorten(lines)} contains no lines. Write names and numbers like 'Q: [[0.50, 1.2]]'."
        )
    else:
        reader.read(lines, ("written",), ())
    return Page(
        tuple(reader.blocks),
        fields=fields,
        remarks=tuple(reader.remarks),
        is_working_file=True,
        mistakes=tuple(reader.mistakes),
    )


class _Reader:
    """Read names and numbers, and collect all errors."""

    def __init__(self) -> None:
        self.blocks: list[PageBlock] = []
        self.mistakes: list[str] = []
        self.remarks: list[str] = []
        self._room = MAX_WRITTEN_CELLS

    def read(self, data: Mapping[Any, Any], path: tuple[str, ...], headings: tuple[str, ...]) -> None:
        """Read a mapping of names to numbers, rows, matrices, copies, or places that contain more of them."""
        if len(path) > _MAX_DEPTH or len(self.mistakes) > _MAX_MISTAKES:
            what = f"places nested more than {_MAX_DEPTH} deep" if len(path) > _MAX_DEPTH else "too many errors"
            raise ProblemError(
                [*self.mistakes[:20], f"written contains {what}. Write, for example, 'cross: {{Q: …}}'."]
            )
        for key, value in data.items():
            if len(self.blocks) > MAX_WRITTEN_LINES:
                raise ProblemError(
                    f"written contains more than {MAX_WRITTEN_LINES:,} lines. Give the lines of one working only."
                )
            name = visible(str(key)).strip()
            below = (*path, name)
            if not isinstance(value, Mapping):
                self._add(name, value, below, headings)
            elif name.casefold() in _COPIES:
                self._read_copies(value, below, headings)
            else:
                self.read(value, below, (*headings, name))

    def _read_copies(self, data: Mapping[Any, Any], path: tuple[str, ...], headings: tuple[str, ...]) -> None:
        """Read `{scores: {Q: …, K: …}}` or `{Q into scores: …}`."""
        for key, value in data.items():
            name = visible(str(key)).strip()
            if isinstance(value, Mapping):
                for factor, cells in value.items():
                    inner = visible(str(factor)).strip()
                    self._add(inner, cells, (*path, name, inner), headings, name)
            elif any(word in name for word in _INTO):
                self._add(name, value, (*path, name), headings)
            else:
                self.mistakes.append(
                    f"{': '.join((*path, name))} does not name the line that {name} was copied into. "
                    f"Write, for example, {name}_copied_into_scores or 'scores: {{{name}: …}}'."
                )

    def _add(self, name: str, value: Any, path: tuple[str, ...], headings: tuple[str, ...], into: str = "") -> None:
        place = ": ".join(path)
        if not name:
            self.mistakes.append(f"{place}: a line has no name. Use a name of the worksheet, such as Q or scores.")
            return
        for word in _INTO:
            if word in name and not into:
                name, _, into = name.partition(word)
        try:
            cells = self._cells(value)
        except ValueError as wrong:
            self.mistakes.append(f"{place} {wrong}")
            return
        if cells == (("",),):
            self.remarks.append(f"{place}: {name} is empty.")
        else:
            side = Side(HOLE, (cells,))
            block = PageBlock(name.strip(), (side,), headings=headings, place=place, copied_into=into.strip())
            self.blocks.append(block)

    def _cells(self, value: Any) -> Cells:
        """Return the cells of a number, a row, a list of rows, or a text of one or more rows."""
        if isinstance(value, str):
            lines = [line for line in value.splitlines() if line.strip()] if len(value) <= _MAX_TEXT else []
            rows = [_row_of_text(line) for line in lines]
            return self._counted(rows if rows and all(rows) else [(_text(value),)])
        if not isinstance(value, list | tuple):
            return self._counted([(_text(value),)])
        if not value:
            raise ValueError("is an empty list. Write a row or a list of rows, or remove the name.")
        if any(isinstance(row, list | tuple) for row in value):
            return self._counted(_row(row) for row in value)
        rows = [_row_of_text(cell) if isinstance(cell, str) else () for cell in value]
        return self._counted(rows if all(rows) else [tuple(map(_text, value))])

    def _counted(self, rows: Iterable[tuple[str, ...]]) -> Cells:
        counted = []
        for row in rows:
            self._room -= len(row)
            if self._room < 0:  # checked at once, because a YAML alias can repeat a matrix endlessly
                raise ProblemError(
                    f"written contains more than {MAX_WRITTEN_CELLS:,} cells. Give the lines of one working only."
                )
            counted.append(row)
        return tuple(counted)


def _row_of_text(text: str) -> tuple[str, ...]:
    """Return the cells of `0.26 0.33`; nothing for one number and for a text that is no row."""
    cells = tuple(_GAP.split(text.strip(" \t;")))
    return cells if len(cells) > 1 and all(map(_PLAIN, cells)) and not _GROUPED(text.strip()) else ()


def _row(row: Any) -> tuple[str, ...]:
    if not isinstance(row, list | tuple):
        raise ValueError("mixes rows and single numbers. Write every row in brackets: [[1, 2], [3, 4]].")
    if any(isinstance(cell, list | tuple | Mapping) for cell in row):
        raise ValueError("is nested too deeply: a matrix is a list of rows. Give every head or layer its own name.")
    return tuple(map(_text, row))


def _text(cell: Any) -> str:
    if isinstance(cell, Mapping):
        raise ValueError(_NAMES_INSIDE)
    if cell is None:
        return ""
    return str(cell).lower() if isinstance(cell, bool) else visible(str(cell)).strip()
