"""The matrices in the middle of an equation, `S = Q Kᵀ = [ … ] [ … ] = [ … ]`: copies of the lines above."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clearhead.check.working import Cells
from clearhead.exercises.check.read.cells import shape_of
from clearhead.exercises.check.read.names import Name
from clearhead.exercises.check.read.number import read_cell
from clearhead.exercises.check.read.page import HOLE, PageBlock, Side
from clearhead.exercises.sheet.sheet import Sheet, SheetLine

_SUMS = {"mix": ("weights", "v"), "project": ("x", "w")}  # steps that people write as sums of rows
_INSIDE = ("activate", "softmax")  # steps whose input people write inside a function
_TERM = re.compile(rf"([-−+]?\s?[\d.]+)\s*[·⋅×*]?\s*{HOLE}")
_NAMED_TERM = re.compile(r"([-−+]?\s?[\d.]+)\s*[·⋅×*]?\s*[vVh]_?\{?\(?([0-9]+)")


@dataclass(frozen=True)
class Copied:
    """Numbers that are copied from a line: its name, with a row if only that is copied.

    The numbers in `tanh(…)` and `softmax(…)` are the line itself (`is_line`) if it is not written elsewhere.
    """

    name: str
    where: str
    cells: Cells
    is_line: bool = False


def copies_in(block: PageBlock, line: SheetLine, name: Name, sheet: Sheet) -> Iterator[Copied]:
    """Yield the copies in the sides of a block before its result."""
    is_sum = line.step is not None and line.step.name in _SUMS
    for side in filter(has_copies, block.sides):
        terms = _terms(side)
        if is_sum and terms and len(terms) >= len(side.grids):
            yield from _weighted_sum(line, name, sheet, side, terms)
        else:
            yield from _operands(line, name, sheet, side)


def has_copies(side: Side) -> bool:
    """Return whether a side is a calculation with numbers of other lines: `[ … ] [ … ]` or `0.3 v_1 + 0.7 v_2`."""
    return side.text.strip() != HOLE and (bool(side.grids) or bool(_terms(side)))


def _terms(side: Side) -> list[str]:
    """Return the factors of `0.3·(2, 0) + 0.7·(1, 3)`, or of `0.3 v_1 + 0.7 v_2` with its vectors in order."""
    if side.grids:
        return [term.replace(" ", "").lstrip("+") for term in _TERM.findall(side.text)]
    named = _NAMED_TERM.findall(side.text)
    is_in_order = [number for _, number in named] == [str(place + 1) for place in range(len(named))]
    return [term.replace(" ", "").lstrip("+") for term, _ in named] if is_in_order else []


def _weighted_sum(line: SheetLine, name: Name, sheet: Sheet, side: Side, terms: list[str]) -> Iterator[Copied]:
    """Yield the weights and the rows of V of `0.3·(2, 0) + 0.7·(1, 3)`, if every key has its term."""
    assert line.step is not None
    weights, values = (sheet.by_id[line.parents[part][0]] for part in _SUMS[line.step.name])
    count = values.shape[1] if sheet.layout == "columns" else values.shape[0]
    if len(terms) != count:
        return
    if name.row or count == 1 or 1 in weights.shape:
        index = name.row or "1"
        yield Copied(f"{weights.symbol}[{index}]", weights.where, (tuple(terms),))
    for number, grid in enumerate(side.grids, 1):
        row = tuple(cell for cells in grid for cell in cells)
        yield Copied(f"{values.symbol}[{number}]", values.where, (row,))


def _operands(line: SheetLine, name: Name, sheet: Sheet, side: Side) -> Iterator[Copied]:
    """Yield each matrix of a product as a copy of the first parent with its shape that has no copy yet."""
    parents = [sheet.by_id[source] for sources in line.parents.values() for source in sources]
    is_line = line.step is not None and line.step.name in _INSIDE
    free = sorted(parents, key=lambda parent: _place_in(line.equation, parent.symbol))
    for grid in side.grids:
        if any(read_cell(cell).problem for row in grid for cell in row):
            continue
        parent = next((parent for parent in free if shape_of(grid) in (parent.shape, parent.shape[::-1])), None)
        if parent is not None and (shape_of(grid)[0] > 1 or 1 in parent.shape):
            free.remove(parent)
            yield Copied(parent.symbol, parent.where, grid, is_line and parent.step is not None)
            continue
        row = next((parent for parent in free if name.row and _is_row_of(grid, parent, line)), None)
        if row is not None:
            free.remove(row)
            is_key = row is parents[-1] and name.column
            index = name.column if is_key else name.row
            cells = (tuple(cell for cells in grid for cell in cells),)
            yield Copied(f"{row.symbol}[{index}]", row.where, cells, is_line and row.step is not None)


def _is_row_of(grid: Cells, parent: SheetLine, line: SheetLine) -> bool:
    """Return whether numbers can be one row of a parent; of weights, nobody copies a single row."""
    is_weight = parent.id in line.parents.get("w", ())
    return not is_weight and 1 in shape_of(grid) and max(shape_of(grid)) in parent.shape


def _place_in(equation: str, symbol: str) -> int:
    place = equation.find(symbol)
    return place if place >= 0 else len(equation)
