"""The cells of a written line as a grid: read, compared with a matrix, and fitted to the shape of a record."""

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from clearhead.check.names import Pick
from clearhead.check.working import WrittenLine
from clearhead.exercises.check.read.number import WrittenNumber, is_blank, read_cell
from clearhead.worksheet.arrays import Array

Grid = list[list[WrittenNumber | None]]
_PERCENT = re.compile(r"(?i)\s*(?:\(\s*(?:in\s+)?(?:%|per\s?cent)\s*\)|(?:\bin\s+)?%|\bin\s+per\s?cent)\s*$")


@lru_cache(maxsize=2**12)
def name_without_percent(name: str) -> str:
    """Return a name without its unit: `weights (%)` is `weights`."""
    return _PERCENT.sub("", name).strip() or name


def read_grid(line: WrittenLine, *, has_decimal_comma: bool) -> Grid:
    """Read the cells of a line; in a line that is named `weights (%)`, 27 means 27 %."""
    is_percent = name_without_percent(line.name) != line.name
    return [list(_read_row(row, has_decimal_comma, is_percent)) for row in line.cells]


@lru_cache(maxsize=2**12)  # a working is placed again under every convention
def _read_row(row: tuple[str, ...], has_decimal_comma: bool, is_percent: bool) -> tuple[WrittenNumber | None, ...]:
    texts = [text if not is_percent or is_blank(text) or text.rstrip().endswith("%") else f"{text}%" for text in row]
    return tuple(None if is_blank(text) else read_cell(text, has_decimal_comma=has_decimal_comma) for text in texts)


def values_and_units(grid: Grid) -> tuple[Array, Array]:
    """Return the numbers of a grid and their units; nan where nothing is written or readable."""
    values = [[math.nan if cell is None or cell.problem else cell.value for cell in row] for row in grid]
    # an integer is within half a unit of its number: 2 is not near 1
    units = [[0.0 if cell is None else 0.5 if cell.is_whole else cell.unit for cell in row] for row in grid]
    return np.array(values), np.array(units)


def share_close(values: Array, units: Array, truth: Array) -> float:
    """Return the share of numbers that are close to the true value."""
    is_number = ~np.isnan(values)
    total = int(is_number.sum())
    if not total:
        return 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        reach = np.maximum(np.maximum(units, 0.02 * np.abs(truth)), 1e-9)
        is_close = (np.abs(values - truth) <= reach) | (values == truth)
    return int((is_close & is_number).sum()) / total


def is_full(grid: Grid) -> bool:
    """Return whether all rows have the same length."""
    return len({len(row) for row in grid}) == 1


def fit_grid(
    grid: Grid, shape: tuple[int, int], pick: Pick, labels: tuple[Sequence[str], Sequence[str]], *, is_turned: bool
) -> Grid | None:
    """Return the cells in the full shape of their record (None where nothing is written); None if they do not fit."""
    height, width = shape
    if not is_full(grid):
        return None
    rows, columns = len(grid), len(grid[0])
    full: Grid = [[None] * width for _ in range(height)]
    if pick.row and pick.column:
        i, j = _place_of(pick.row, labels[0], height), _place_of(pick.column, labels[1], width)
        if i is None or j is None or (rows, columns) != (1, 1):
            return None
        full[i][j] = grid[0][0]
        return full
    if pick.row:
        cells = [cell for row in grid for cell in row]
        names, count, length = (labels[1], width, height) if is_turned else (labels[0], height, width)
        place = _place_of(pick.row, names, count)
        if height == 1 and not is_turned and place is None:  # e_2: the second number of a line of one row
            place = _place_of(pick.row, labels[1], width)
            if place is None or len(cells) != 1:
                return None
            full[0][place] = cells[0]
            return full
        if height == 1 and not is_turned and len(cells) == 1 and width > 1:
            place = _place_of(pick.row, labels[1], width)
            if place is None:
                return None
            full[0][place] = cells[0]
            return full
        if place is None or len(cells) != length or 1 not in (rows, columns):
            return None
        for number, cell in enumerate(cells):
            full[number if is_turned else place][place if is_turned else number] = cell
        return full
    if (rows, columns) == shape:
        return grid
    if 1 in shape and 1 in (rows, columns) and rows * columns == height * width:  # a row or column vector
        cells = [cell for row in grid for cell in row]
        return [cells] if height == 1 else [[cell] for cell in cells]
    return None


def fit_some_rows(grid: Grid, truth: Array, is_taken: Callable[[int], bool]) -> Grid | None:
    """Match fewer rows than a record has to the rows with the same numbers, the first free ones of equal rows."""
    height, width = truth.shape
    if len(grid) >= height or not is_full(grid) or len(grid[0]) != width:
        return None
    blank: Grid = [[None] * width for _ in range(height)]
    values, units = values_and_units(grid)
    starts = range(height - len(grid) + 1)
    agreement = [share_close(values, units, truth[start : start + len(grid)]) for start in starts]
    best = max(starts, key=lambda start: agreement[start])
    equal = [start for start in starts if agreement[start] == agreement[best]]
    if agreement[best] < 0.5 or not all(np.allclose(truth[start], truth[best]) for start in equal):
        return None
    best = next((start for start in equal if not is_taken(start)), best)
    return blank[:best] + grid + blank[best + len(grid) :]


def _place_of(wanted: str, names: Sequence[str], count: int) -> int | None:
    lowered = [name.casefold() for name in names]
    for form in (wanted, wanted.strip("<>")):
        if form in names:
            return list(names).index(form)
        near = [i for i, name in enumerate(lowered) if name.strip("<>") == form.casefold()]
        if near:
            return near[0]
    if f"pos {wanted}" in names:  # PE[2] is position 2; positions are counted from 0
        return list(names).index(f"pos {wanted}")
    position = wanted.removeprefix("pos ")
    if position != wanted and position.isdecimal() and int(position) < count:
        return int(position)
    if wanted.isdecimal() and 1 <= int(wanted) <= count:
        return int(wanted) - 1
    return None
