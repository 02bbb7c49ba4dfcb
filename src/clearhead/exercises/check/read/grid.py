"""Grids: every matrix, row and table of a page becomes one character of its text, so that only text is left to read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clearhead.check.limits import MAX_DOCUMENT_ITEMS
from clearhead.errors import ProblemError
from clearhead.exercises.check.read.number import is_blank, read_cell
from clearhead.exercises.check.read.page import HOLE, Cells, Side

LABEL = "\ue000"  # stands before a cell that the form itself marks as a label
_FIRST = 0xF0000  # a private character for each grid of a page
_CONSTANTS = ("e", "π", "pi")  # numbers in a sum, but names where they stand alone


@dataclass(frozen=True)
class Grid:
    """The cells of a matrix or a table, with its labels and the name that is written in its corner or above it."""

    cells: Cells
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    name: str = ""

    @property
    def has_values(self) -> bool:
        """Return whether there is a number, or nothing but blanks for numbers."""
        cells = [cell for row in self.cells for cell in row]
        return any(map(is_number, cells)) or (len(cells) > 0 and not any(map(is_label, cells)))


class Grids:
    """The grids of a page; each is known by its character."""

    def __init__(self) -> None:
        self._grids: list[Grid] = []

    def add(self, grid: Grid) -> str:
        """Return the character that means a grid from now on."""
        if len(self._grids) >= MAX_DOCUMENT_ITEMS:
            raise ProblemError(f"contains more than {MAX_DOCUMENT_ITEMS:,} rows and matrices. Give one working only.")
        self._grids.append(grid)
        return chr(_FIRST + len(self._grids) - 1)

    def inside(self, text: str) -> Iterator[Grid]:
        """Return the grids whose characters are in a text."""
        return (self._grids[ord(letter) - _FIRST] for letter in text if is_hole(letter))

    def side(self, text: str) -> Side:
        """Return one side of an equation; a row of plain numbers is a grid like one in brackets."""
        cells = row_cells(text)
        if len(cells) > 1:
            return Side(HOLE, ((cells,),))
        shown = "".join(HOLE if is_hole(letter) else letter for letter in text)
        return Side(shown.strip(), tuple(grid.cells for grid in self.inside(text)))

    def written(self, text: str) -> str:
        """Return a text with its grids written out, for names and remarks."""
        parts = []
        for letter in text:
            rows = [" ".join(row) for grid in self.inside(letter) for row in grid.cells]
            parts.append(f"[{'; '.join(rows)}]" if rows else letter)
        return "".join(parts)


def is_hole(letter: str) -> bool:
    """Return whether a character means a grid."""
    return letter >= chr(_FIRST)


def without_holes(text: str) -> str:
    """Return a text without private characters: in a file they would stand for grids that do not exist."""
    return "".join(letter for letter in text if not is_hole(letter) and letter != LABEL)


def is_number(text: str) -> bool:
    """Return whether a cell holds a number or an expression of numbers."""
    return text.strip() not in _CONSTANTS and not read_cell(text.strip()).problem


def is_label(text: str) -> bool:
    """Return whether a cell is a word: neither a number nor blank."""
    return text.startswith(LABEL) or not (is_blank(text) or is_number(text))


def row_cells(text: str) -> tuple[str, ...]:
    """Return the cells of a row of numbers such as `0.3 0.7`, `1/2, 1/3` or `0.2`; empty for any other text."""
    text = text.strip(" ,;")
    if text.endswith(".") and "." in text.split()[-1][:-1]:  # the end of a sentence
        text = text[:-1]
    if not any(letter.isnumeric() or letter == "∞" for letter in text):
        return ()
    if is_number(text):
        return (text,)
    listed = [cell.strip() for cell in text.replace(";", ",").split(",")]
    for cells in (listed, text.replace(";", " ").replace(",", " ").split()):
        has_word = any(is_label(cell) for cell in cells)
        if len(cells) > 1 and not has_word and (cells is listed or not _has_sign(cells)):
            return tuple(cells)
    return ()


def _has_sign(cells: Sequence[str]) -> bool:
    """Return whether a lone sign makes cells between blanks a sum."""
    return any(cell in ("-", "−", "–", "+") for cell in cells[1:-1])


def counts(labels: Sequence[str]) -> bool:
    """Return whether labels are 1, 2, 3 … or 0, 1, 2 …"""
    numbers = [label.rpartition("=")[2] for label in labels]  # also i=0, i=1
    return any(numbers == [str(first + number) for number in range(len(labels))] for first in (0, 1))


def table_grid(rows: Sequence[Sequence[str]], *, has_ruler: bool = False, can_count: bool = True) -> Grid:
    """Return the grid of a table: words, or 1, 2, 3 … in its first row and column, are labels, the corner its name."""
    width = max(map(len, rows), default=0)
    table = [[cell.strip() for cell in row] + [""] * (width - len(row)) for row in rows]
    if not any(map(any, table)):
        return Grid(())
    corner, *heads = table[0]
    firsts = [row[0] for row in table[1:]]
    has_words = all(not first or is_label(first) for first in firsts)
    is_counted = can_count and counts(heads) and (not corner or (is_label(corner) and (has_ruler or not has_words)))
    is_row = not has_ruler and is_label(corner) and any(map(is_number, heads))
    has_columns = len(table) > 1 and (
        is_counted or (any(map(is_label, heads or [corner])) and not is_row) or not any(table[0])
    )
    body = table[1:] if has_columns else table
    is_square = heads == firsts or (has_ruler and is_counted and is_label(corner))  # names that look like numbers
    is_labelled = has_columns and (not corner or is_square or (can_count and counts(firsts)))
    has_rows = width > 1 and (is_labelled or (has_words and (has_columns or not corner or is_label(corner))))
    start = 1 if has_rows else 0
    filled = [column for column in range(start, width) if any(row[column] for row in table)]
    cells = [[row[column].removeprefix(LABEL) for column in filled] for row in table]
    labels = tuple(row[0].removeprefix(LABEL) for row in body)
    return Grid(
        tuple(map(tuple, cells[1:] if has_columns else cells)),
        labels if has_rows and any(labels) else (),
        tuple(cells[0]) if has_columns and any(cells[0]) else (),
        corner.removeprefix(LABEL) if has_columns and has_rows else "",
    )
