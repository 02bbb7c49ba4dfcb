"""What a block says by itself: its result, its whole name, the numbers and the shape of a grid."""

from dataclasses import replace
from typing import Any

import numpy as np

from clearhead.check.working import Cells
from clearhead.exercises.check.read.number import read_cell
from clearhead.exercises.check.read.page import HOLE, PageBlock, Side
from clearhead.worksheet.arrays import Array


def with_part_as_heading(block: PageBlock) -> PageBlock:
    """Return `cross: Q` as Q below the heading cross."""
    part, colon, name = block.name.rpartition(":")
    if not (colon and part.strip() and name.strip()):
        return block
    return replace(block, name=name.strip(), headings=(*block.headings, part.strip()))


def with_whole_name(block: PageBlock) -> PageBlock:
    """Return `softmax(2, 7) = …` with the numbers of its left side in its name, where they say which row it is."""
    if block.name or len(block.sides) < 2 or block.sides[0].text.strip() == HOLE:
        return block
    name = block.sides[0].text
    for grid in block.sides[0].grids:
        name = name.replace(HOLE, f"({', '.join(cell for row in grid for cell in row)})", 1)
    return replace(block, name=name, sides=block.sides[1:])


def result_of(block: PageBlock) -> Cells | None:
    """Return the last matrix or number of a block; None if it is only a formula.

    Rows in brackets of their own, one below the other, are one matrix.
    """
    for side in reversed(block.sides):
        if side.grids and not side.text.replace(HOLE, "").strip():
            is_matrix = len(side.grids) == 1 or all(len(grid) == 1 for grid in side.grids)
            return tuple(row for grid in side.grids for row in grid) if is_matrix else None
        if not side.grids and side.text.strip() and not read_cell(side.text.strip()).problem:
            return ((side.text.strip(),),)
    return None


def is_only(cells: Cells) -> bool:
    """Return whether there is one number."""
    return len(cells) == 1 and len(cells[0]) == 1


def values_of(cells: Cells) -> Array | None:
    """Return the numbers of a grid, nan where there is none; None if its rows differ in length."""
    if len({len(row) for row in cells}) != 1:
        return None
    return np.array([[read_cell(cell).value for cell in row] for row in cells], dtype=float)


def is_same(values: Array, matrix: Any) -> bool:
    """Return whether numbers are those of a matrix."""
    matrix = np.asarray(matrix)
    return values.shape == matrix.shape and bool(np.allclose(values, matrix, rtol=0.0, atol=1e-9))


def is_close(result: Cells, truth: Array) -> bool:
    """Return whether most numbers are near those of a line, so that a block with its name is that line."""
    values = values_of(result)
    if values is None or values.shape not in (truth.shape, truth.T.shape):
        return False
    right = truth if values.shape == truth.shape else truth.T
    with np.errstate(invalid="ignore"):
        return bool(np.mean(np.abs(values - right) <= 0.02 * np.maximum(1.0, np.abs(right))) > 0.5)


def shape_of(cells: Cells) -> tuple[int, int]:
    """Return the number of rows, and of numbers in the longest row."""
    return len(cells), max(map(len, cells), default=0)


def numbers_of(side: Side) -> list[str]:
    """Return the numbers of a side that has nothing else: one, or those of a matrix."""
    is_grid = len(side.grids) == 1 and side.text.strip() == HOLE
    numbers = [cell for row in side.grids[0] for cell in row] if is_grid else [side.text]
    return [] if any(read_cell(number).problem for number in numbers) else numbers
