"""Matrices that are drawn on several lines: bracket glyphs, bars and tables. Each becomes one character of the text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from clearhead.exercises.check.read.grid import Grid, Grids, is_hole, is_label, is_number, row_cells, table_grid

_PIECE = re.compile(r"[⎡⎢⎣⎛⎜⎝\[] ([^⎡⎢⎣⎤⎥⎦⎛⎜⎝⎞⎟⎠\[\]]*) [⎤⎥⎦⎞⎟⎠\]]")
_IS_BELOW = "⎢⎣⎜⎝"
_TITLE = re.compile(r"(?:^|(?<=\s))(\S[^()\n]{0,80}?)\s{1,4}\([0-9]+ × [0-9]+(?:, [a-z]+)?\)")
_RULER = re.compile(r"[\s|:+-]*-[\s|:+-]*").fullmatch
_OPERATORS = "=×·*+≈→:"


@dataclass(frozen=True)
class TextLine:
    """A line of a page with its number, counted from 1."""

    number: int
    text: str


def numbered(text: str) -> list[TextLine]:
    """Return the lines of a folded text with their numbers in the file."""
    lines: list[TextLine] = []
    number = 1
    for row in text.split("\n"):
        for part in row.split("\f"):
            lines.append(TextLine(number, part.replace("\v", "").rstrip()))
            number += part.count("\v")
        number += 1
    return lines


def take_drawn(lines: list[TextLine], grids: Grids) -> list[TextLine]:
    """Replace every matrix in bracket glyphs and every table by one character."""
    before: list[TextLine] = []
    group: list[TextLine] = []
    kind = ""
    for line in [*lines, TextLine(0, "")]:
        line_kind = _kind(line.text, kind)
        if kind and line_kind != kind:
            before = (
                _with_matrices(before, group, grids) if kind == "matrix" else [*before, *_table(group, kind, grids)]
            )
            group = []
        if line_kind:
            group.append(line)
        else:
            before.append(line)
        kind = line_kind
    return before


def _kind(text: str, before: str) -> str:
    """Return what a line is a part of: a matrix, a table with bars or tabs, or nothing."""
    if "⎡" in text or "⎛" in text or (before == "matrix" and any(glyph in text for glyph in _IS_BELOW)):
        return "matrix"
    if _PIECE.search(text) and "=" not in text and not text.lstrip().startswith("|"):
        return "matrix"
    if text.count("|") > 1 or (before == "|" and "|" in text):
        return "|"
    first, _, cells = text.partition("\t")
    is_row = "=" not in cells and "[" not in cells and ("=" not in first or first.rstrip().endswith("="))
    return "\t" if cells and is_row else ""


@dataclass
class _Matrix:
    start: int
    right: int
    header: str  # the line above it
    is_first: bool  # whether it starts in the first line of the group
    rows: list[list[str]] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)  # the text before every row


def _with_matrices(before: list[TextLine], group: list[TextLine], grids: Grids) -> list[TextLine]:
    """Return the lines before a group of lines, without labels and titles of its matrices, and its matrices."""
    has_header = bool(before) and before[-1].number == group[0].number - 1
    above = before[-1].text if has_header else ""
    matrices, text_after = _matrices(group, above)
    matrices.sort(key=lambda matrix: matrix.start)
    grids_drawn = [_grid_of(matrix) for matrix in matrices]
    if any(grid.columns for grid, matrix in zip(grids_drawn, matrices, strict=True) if matrix.is_first):
        before = before[:-1]
    titles = _TITLE.findall(before[-1].text) if before else []
    number = group[0].number
    if len(titles) == len(grids_drawn):
        named = [
            Grid(grid.cells, grid.rows, grid.columns, name) for grid, name in zip(grids_drawn, titles, strict=True)
        ]
        return [*before[:-1], *(TextLine(number, grids.add(grid)) for grid in named)]
    parts = [
        f"{_joined(matrix.beside)} {grids.add(grid)}" if not grid.rows else grids.add(grid)
        for matrix, grid in zip(matrices, grids_drawn, strict=True)
    ]
    return [*before, TextLine(number, " ".join([*parts, text_after]).strip())]


def _matrices(group: list[TextLine], above: str) -> tuple[list[_Matrix], str]:
    """Return the matrices of a group of lines, and the text to the right of the last one in the first line."""
    matrices: list[_Matrix] = []
    text_after = ""
    for line in group:
        end = 0
        for piece in _PIECE.finditer(line.text):
            is_below = piece[0][0] in _IS_BELOW and matrices
            if is_below:
                matrix = min(matrices, key=lambda drawn: abs(drawn.start - piece.start()))
            else:
                matrix = _Matrix(piece.start(), piece.end(), above, line is group[0])
                matrices.append(matrix)
            matrix.rows.append(piece[1].split())
            matrix.beside.append(line.text[end : piece.start()].strip())
            end = piece.end()
        text_after = text_after or ("" if line is not group[0] else line.text[end:])
        above = line.text
    return matrices, text_after.strip() if any(mark in text_after for mark in _OPERATORS) else ""


def _joined(texts: list[str]) -> str:
    return " ".join(filter(None, texts))


def _grid_of(matrix: _Matrix) -> Grid:
    """Return the cells and labels of a matrix; a text with an operator beside it is not the label of a row."""
    cells = tuple(tuple(row) for row in matrix.rows)
    is_sum = any(mark in text for text in matrix.beside for mark in _OPERATORS[:-1])
    header = matrix.header[matrix.start : matrix.right].strip()
    columns = tuple(re.split(r"\s{2,}", header))
    if (
        len(columns) != len(cells[0])
        or not header
        or any(mark in header for mark in "=×")
        or "=" in matrix.header
        or _TITLE.search(matrix.header)
        or not _is_apart(matrix.header, matrix.start, matrix.right)
    ):
        columns = ()
    return Grid(cells, () if is_sum or not any(matrix.beside) else tuple(matrix.beside), columns)


def _is_apart(header: str, start: int, right: int) -> bool:
    """Return whether the text above a matrix is there by itself: the middle of a sentence begins or ends in a word."""
    is_cut_before = start > 0 and header[start - 1 : start + 1].isalnum() and len(header) > start
    is_cut_after = len(header) > right and header[right - 1 : right + 1].isalnum()
    return not is_cut_before and not is_cut_after


def _table(group: list[TextLine], mark: str, grids: Grids) -> list[TextLine]:
    """Return the lines of a table with bars or tabs."""
    rulers = [index for index, line in enumerate(group) if _RULER(line.text) and mark == "|"]
    if len(rulers) > 1 and rulers[1] > 2:  # two tables without an empty line between them
        start = rulers[1] - 1
        return [*_table(group[:start], mark, grids), *_table(group[start:], mark, grids)]
    rows = [_cells(line.text, mark) for index, line in enumerate(group) if index not in rulers]
    names = [row[0] for row in rows if row[0].endswith("=")]
    if len(names) == 1:  # Q = | 1 2 |, also beside another row than the first
        rows = [row[1:] if mark == "|" and row[0] in names else row for row in rows]
        rows = [["" if cell in names else cell for cell in row] for row in rows]
    if all(len(row) == 1 for row in rows):  # plain bars are a matrix
        rows = [list(row_cells(row[0])) or row for row in rows]
    lines = table_lines(rows, group[0].number, grids, has_ruler=bool(rulers)) if rows else []
    if not any(map(is_hole, "".join(line.text for line in lines))):
        return group
    return [TextLine(lines[0].number, f"{names[0]} {lines[0].text}"), *lines[1:]] if len(names) == 1 else lines


def table_lines(rows: Sequence[Sequence[str]], number: int, grids: Grids, *, has_ruler: bool = False) -> list[TextLine]:
    """Return a line for each matrix of a table, and one for each row that is only a name."""
    grid = table_grid(rows, has_ruler=has_ruler)
    if not grid.has_values and all(not any(row[1:]) for row in rows):  # words alone, such as a heading
        return [TextLine(number + place, row[0]) for place, row in enumerate(rows) if row[0]]
    if len(rows) > 1 and is_label(rows[0][0]) and not any(rows[0][1:]) and is_number(rows[1][0]):
        matrix = table_grid(rows[1:], can_count=False)  # below its name
        return [TextLine(number, rows[0][0]), TextLine(number + 1, grids.add(matrix))]
    if grid.columns or not grid.rows:
        return [TextLine(number, grids.add(grid))] if grid.has_values else []
    starts = [place for place, row in enumerate(rows) if row[0] or not place]
    lines: list[TextLine] = []
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        below = [row[1:] for row in rows[start:end]]
        named = Grid(table_grid(below, can_count=False).cells, name=rows[start][0].rstrip(" =:"))
        lines.append(TextLine(number + start, grids.add(named) if named.has_values else rows[start][0]))
    return lines


def _cells(text: str, mark: str) -> list[str]:
    text = text.strip(" ")
    if mark == "|":
        text = text.removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in text.split(mark)]
