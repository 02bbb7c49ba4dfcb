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
        kept = [each for each in parents if each.name == name]
        if isinstance(value, tuple):
            inputs[name] = tuple(only(part, [each for each in kept if each.part == n]) for n, part in enumerate(value))
        else:
            is_numbers = isinstance(value, np.ndarray) and value.dtype.kind == "f" and name != "counted"
            inputs[name] = only(value, kept) if is_numbers else value
    return Record(record.step, record.where, inputs, record.value, record.symbol)


def only(value: Any, kept: list[Parent]) -> Any:
    result = np.full(value.shape, np.nan)
    for each in kept:
        place = (each.row, each.column) if value.ndim == 2 else each.column
        result[place] = value[place]
    return result


@pytest.mark.parametrize("name", SHIPPED)
def test_a_cell_is_decided_by_its_parents_alone(name: str, all_sheets: dict[str, Worksheet]) -> None:
    for record in in_rows(all_sheets[name].trace):
        whole = replay(record)
        for i, j in np.ndindex(whole.shape):
            parents = PARENTS[record.step.name](record, i, j)
            assert parents
            assert np.array_equal(replay(without_the_others(record, parents))[i, j], whole[i, j]), (
                record.step.name,
                i,
                j,
            )


def test_tokens_as_columns_have_their_parents_turned() -> None:
    sheet = solve("examples/self-attention-columns.yaml")
    step = next(step for step in SheetView(sheet).steps if step.step.name == "project")
    cells = step.parents(0, 1)
    x = [(each.row, each.column) for each in cells if each.matrix.symbol == "X"]
    w = [(each.row, each.column) for each in cells if each.matrix.symbol.startswith("W")]
    assert x == [(i, 1) for i in range(sheet.value("X").shape[0])]
    assert w == [(0, j) for j in range(sheet.value("X").shape[0])]
