"""Tables with names: rows and columns in any order, and columns that are lines themselves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from clearhead.check.line_words import word_key
from clearhead.check.working import Cells
from clearhead.exercises.check.read.cells import shape_of
from clearhead.exercises.check.read.grid import counts
from clearhead.exercises.check.read.names import Name, read_name
from clearhead.exercises.check.read.number import is_blank, read_cell
from clearhead.exercises.check.read.page import PageBlock
from clearhead.exercises.check.read.sheet_names import SheetNames
from clearhead.exercises.sheet.sheet import SheetLine

_LABELS = frozenset(("token", "tokens", "key", "keys", "pair", "row", "word", "query", "pos", "position", "i"))
_NEAR_ONE = 0.05  # between 1 and the sum of rounded weights
_EXPONENTIALS = ("exp", "exponential", "exponentials")
_SUM_WORDS = ("sum", "row sum", "total", "denominator", "Σ", "Σ exp", "sum of exponentials")
SUMS = frozenset(word_key(word) for word in _SUM_WORDS)


@dataclass(frozen=True)
class NamedCells:
    """Numbers of a table with the name of their row, their cell or their line."""

    name: Name
    cells: Cells


def is_label(text: str) -> bool:
    """Return whether the corner of a table only says what its labels are."""
    return word_key(text) in _LABELS


def labelled_rows(
    block: PageBlock, name: Name, result: Cells, line: SheetLine | None, names: SheetNames
) -> Iterator[NamedCells]:
    """Yield a table with names of its rows and columns; in another order, row by row or cell by cell."""
    if line is not None and _fits(block, line, result, names):
        yield NamedCells(name, result)
        return
    if counts(block.rows) and counts(block.columns):  # all rows in order, whatever they are called on the sheet
        yield NamedCells(name, result)
        return
    columns = [names.index(label) for label in block.columns]
    has_columns = bool(columns) and names.are_indices(columns) and not _is_in_order(columns, names)
    for label, row in zip(block.rows, result, strict=False):
        row_name = replace(name, row=names.index(label))
        if not has_columns:
            yield NamedCells(row_name, (row,))
            continue
        for column, cell in zip(columns, row, strict=False):
            yield NamedCells(replace(row_name, column=column), ((cell,),))


def _is_in_order(columns: Sequence[str], names: SheetNames) -> bool:
    """Return whether the names of columns are those of a line, or 1, 2, 3, in their order."""
    lines = () if names.sheet is None else names.sheet.steps
    orders = [[label.casefold() for label in labels] for line in lines for labels in (line.rows, line.columns)]
    own = [column.casefold() for column in columns]
    return own in orders or own == [str(number + 1) for number in range(len(own))]


def _fits(block: PageBlock, line: SheetLine, result: Cells, names: SheetNames) -> bool:
    """Return whether a table has the rows and columns of a line in their order."""
    if shape_of(result) != line.shape:
        return False
    rows = [names.index(label).casefold() for label in block.rows]
    own_rows = [label.casefold() for label in line.rows]
    columns = [names.index(label).casefold() for label in block.columns]
    own_columns = [label.casefold() for label in line.columns]
    is_meant = any(column in names.labels or column.isdecimal() for column in columns)  # not words of the line above
    are_rows = not any(rows) or rows == own_rows or counts(rows)
    return are_rows and (not is_meant or columns == own_columns or counts(columns))


def named_columns(block: PageBlock, names: SheetNames) -> Iterator[NamedCells]:
    """Yield the columns of a table that are lines (`score | exp | weight`), for one row of their matrices."""
    own = names.own_name(block.name).base.removesuffix(" (%)")
    has_name = not is_label(block.name) and names.is_known(own)
    if has_name or len(block.columns) < 2 or not block.sides or not block.sides[-1].grids:
        return
    titles = [column.strip() for column in block.columns]
    bases = [names.own_name(title).base if title else "" for title in titles]
    are_lines = [
        names.is_known(base) and not names.means_row(title) and not names.is_given_symbol(base)
        for title, base in zip(titles, bases, strict=True)
    ]
    others = [title for title, base, is_line in zip(titles, bases, are_lines, strict=True) if not is_line and base]
    if not any(are_lines) or not all(is_label(title) or names.is_given_symbol(title) for title in others):
        return
    above = block.above.rstrip(":")
    row = names.index(above) if names.means_row(above) else ""
    for place, is_line in enumerate(are_lines):
        if is_line:
            yield from _column(block, bases[place], place, row, names)


def _column(block: PageBlock, title: str, place: int, row: str, names: SheetNames) -> Iterator[NamedCells]:
    """Yield one column: a row of its line, single cells (`q1·k2 | score`), and the sum of exponentials below it."""
    grid = block.sides[-1].grids[-1]
    labels = list(block.rows) or [numbers[0] if read_cell(numbers[0]).problem else "" for numbers in grid]
    cells: list[str] = []
    for label, numbers in zip(labels, grid, strict=False):
        cell = numbers[place] if place < len(numbers) else ""
        pair = read_name(label, names.labels)
        if pair.row and pair.column and not is_blank(cell):
            yield NamedCells(replace(pair, base=title), ((cell,),))
        elif word_key(label) in SUMS:
            if word_key(title) in _EXPONENTIALS and not is_blank(cell):
                yield NamedCells(Name("sum", row), ((cell,),))
            elif abs(read_cell(cell).value - 1.0) > _NEAR_ONE:  # weights add up to one
                yield NamedCells(Name(f"total of the column {title}"), ((cell,),))
        elif cell or label:
            cells.append(cell)
    if cells:
        yield NamedCells(Name(title, row), (tuple(cells),))
