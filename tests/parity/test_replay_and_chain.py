"""The worksheet's trace is a working: every Record follows from its inputs, and every input from the question."""

import numpy as np
import pytest

from clearhead import Rounding, Worksheet, solve
from clearhead.worksheet.pen import compute_line, in_rows, transpose_trace
from clearhead.worksheet.reference import replay
from tests.conftest import SHIPPED

POLICIES = [Rounding(), Rounding(lines="rounded", decimals=2), Rounding(lines="rounded", significant=3)]


@pytest.mark.parametrize("policy", POLICIES, ids=["exact", "decimals", "significant"])
@pytest.mark.parametrize("name", SHIPPED)
def test_the_oracle_gives_every_value_from_its_own_inputs(name: str, policy: Rounding) -> None:
    for record in in_rows(solve(name, policy).trace):
        again = compute_line(record, policy)
        np.testing.assert_array_equal(again, record.value, err_msg=f"{record.where} {record.symbol}")
        if policy.lines == "exact":
            np.testing.assert_array_equal(replay(record), record.value)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_input_was_given_or_computed_by_an_earlier_step(name: str, all_sheets: dict[str, Worksheet]) -> None:
    trace = all_sheets[name].trace
    earlier_ids = {id(entry.value) for entry in trace.givens.values()}
    for record in trace:
        for value in record.inputs.values():
            for part in value if isinstance(value, tuple) else (value,):
                assert not isinstance(part, np.ndarray) or id(part) in earlier_ids, (record.where, record.step.name)
        earlier_ids.add(id(record.value))


@pytest.mark.parametrize("name", SHIPPED)
def test_no_two_records_share_place_and_step(name: str, all_sheets: dict[str, Worksheet]) -> None:
    keys = [(record.where, record.step.name, record.symbol) for record in all_sheets[name].trace]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", SHIPPED)
def test_transposing_a_working_twice_changes_nothing(name: str, all_sheets: dict[str, Worksheet]) -> None:
    trace = all_sheets[name].trace
    assert transpose_trace(transpose_trace(trace)) == trace


@pytest.mark.parametrize("name", SHIPPED)
def test_json_loads_back_into_an_equal_worksheet(name: str, all_sheets: dict[str, Worksheet]) -> None:
    sheet = all_sheets[name]
    again = Worksheet.from_json(sheet.to_json())
    assert again == sheet
    assert again.to_json() == sheet.to_json()
    array_ids = {id(entry.value) for entry in again.trace.givens.values()} | {id(r.value) for r in again.trace}
    arrays = [v for r in again.trace for v in r.inputs.values() if isinstance(v, np.ndarray)]
    assert all(id(value) in array_ids for value in arrays), "a loaded input is a copy, and the chain is broken"
