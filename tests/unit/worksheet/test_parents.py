"""Where a cell comes from: nothing but its parents decides it."""

from typing import Any

import numpy as np
import pytest

from clearhead import Worksheet, solve
from clearhead.steps import Record
from clearhead.worksheet.parents import PARENTS, Parent
from clearhead.worksheet.pen import in_rows
from clearhead.worksheet.reference import replay
from clearhead.worksheet.view import SheetView
from tests.conftest import SHIPPED


def without_the_others(record: Record, parents: list[Parent]) -> Record:
    """Return the record with every number that is no parent made NaN."""
    inputs: dict[str, Any] = {}
    for name, value in record.inputs.items():
        own_parents = [parent for parent in parents if parent.name == name]
        if isinstance(value, tuple):
            inputs[name] = tuple(
                only(part, [parent for parent in own_parents if parent.part == n]) for n, part in enumerate(value)
            )
        else:
            is_numbers = isinstance(value, np.ndarray) and value.dtype.kind == "f" and name != "counted"
            inputs[name] = only(value, own_parents) if is_numbers else value
    return Record(record.step, record.where, inputs, record.value, record.symbol)


def only(value: Any, own_parents: list[Parent]) -> Any:
    result = np.full(value.shape, np.nan)
    for parent in own_parents:
        place = (parent.row, parent.column) if value.ndim == 2 else parent.column
        result[place] = value[place]
    return result


@pytest.mark.parametrize("name", SHIPPED)
def test_a_cell_is_decided_by_its_parents_alone(name: str, all_sheets: dict[str, Worksheet]) -> None:
    for record in in_rows(all_sheets[name].trace):
        expected = replay(record)
        for i, j in np.ndindex(expected.shape):
            parents = PARENTS[record.step.name](record, i, j)
            assert parents
            assert np.array_equal(replay(without_the_others(record, parents))[i, j], expected[i, j]), (
                record.step.name,
                i,
                j,
            )


def test_tokens_as_columns_have_their_parents_turned() -> None:
    sheet = solve("examples/self-attention-columns.yaml")
    step = next(step for step in SheetView(sheet).steps if step.step.name == "project")
    cells = step.parents(0, 1)
    x = [(cell.row, cell.column) for cell in cells if cell.matrix.symbol == "X"]
    w = [(cell.row, cell.column) for cell in cells if cell.matrix.symbol.startswith("W")]
    assert x == [(i, 1) for i in range(sheet.value("X").shape[0])]
    assert w == [(0, j) for j in range(sheet.value("X").shape[0])]
