"""Right numbers in the wrong place: a transposed matrix, two exchanged rows or two exchanged numbers."""

from dataclasses import dataclass, replace

import numpy as np

from clearhead.check.statement import Statement, fit
from clearhead.check.wrong_line import WrongLine
from clearhead.worksheet.arrays import Mask

Cell = tuple[int, int]


@dataclass(frozen=True)
class Exchange:
    """The wrong cells of a line that have each other's right numbers."""

    cells: tuple[Cell, ...]
    name: str


def exchanged_cells(line: WrongLine) -> Exchange | None:
    """Return the exchange that explains all wrong cells of a line to the last digit, or None."""
    cells = tuple((row, column) for row, column in np.argwhere(line.wrong).tolist())
    if len(cells) < 2:
        return None
    rows = sorted({row for row, _ in cells})
    if _is_transposed(line):
        return Exchange(cells, "rows and columns exchanged")
    if len(rows) == 2 and line.expected.shape[1] > 1 and _are_exchanged(line, rows):
        return Exchange(cells, "two rows exchanged")
    if len(cells) == 2 and _has_number(line, cells[0], cells[1]) and _has_number(line, cells[1], cells[0]):
        return Exchange(cells, "two numbers exchanged")
    return None


def _is_transposed(line: WrongLine) -> bool:
    statement, right = line.statement, line.expected
    if right.shape[0] != right.shape[1] or right.shape[0] < 2:
        return False
    turned = fit(statement, right.T)
    with np.errstate(invalid="ignore"):
        differs = (np.abs(right.T - right) > statement.unit) & line.wrong
    return bool(np.all(turned.half | turned.cut | ~statement.is_written) and differs.any())


def _are_exchanged(line: WrongLine, rows: list[int]) -> bool:
    statement = line.statement
    swapped = fit(_rows_of(statement, rows), line.expected[rows[::-1]])
    is_written: Mask = statement.is_written[rows]
    return bool(np.all(swapped.half | swapped.cut | ~is_written) and int(line.wrong.sum()) > 2)


def _rows_of(statement: Statement, rows: list[int]) -> Statement:
    """Return some rows of a statement, without their texts."""
    return replace(
        statement,
        value=statement.value[rows],
        unit=statement.unit[rows],
        unit_inwards=statement.unit_inwards[rows],
        is_whole=statement.is_whole[rows],
        unreadable=statement.unreadable[rows],
        texts=(),
    )


def _has_number(line: WrongLine, cell: Cell, other: Cell) -> bool:
    unit = line.statement.unit[cell] or 1e-9
    return bool(abs(line.statement.value[cell] - line.expected[other]) <= unit / 2 * (1 + 1e-9))
