"""The cells of a line as a grid: numbers in percent, shapes and the rows or cells that a name selects."""

import numpy as np
import pytest

from clearhead.check.given_lines import GivenLines
from clearhead.check.graph import Graph
from clearhead.check.grid import fit_grid, name_without_percent, read_grid, share_close, values_and_units
from clearhead.check.names import Pick
from clearhead.check.working import WrittenLine
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve

NO_LABELS = ((), ())


def grid(name, *rows):
    return read_grid(WrittenLine(name, tuple(tuple(row.split()) for row in rows)), has_decimal_comma=False)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("weights (%)", "weights"),
        ("weights(in %)", "weights"),
        ("A %", "A"),
        ("weights in percent", "weights"),
        ("weights", "weights"),
        ("%", "%"),
    ],
)
def test_the_unit_percent_is_not_part_of_a_name(name, plain):
    assert name_without_percent(name) == plain


def test_in_a_line_named_in_percent_27_is_27_percent():
    values, units = values_and_units(grid("weights (%)", "27 37% 36.5"))
    assert values.tolist() == [[0.27, 0.37, 0.365]]
    assert units[0].tolist() == pytest.approx([0.01, 0.01, 0.001])
    assert values_and_units(grid("weights", "27 37"))[0].tolist() == [[27, 37]]


def test_a_row_or_a_cell_is_put_in_its_place():
    row = fit_grid(grid("A", "5 6"), (2, 2), Pick("A", "2"), NO_LABELS, is_turned=False)
    assert row is not None
    assert np.array_equal(values_and_units(row)[0], [[np.nan, np.nan], [5, 6]], equal_nan=True)
    assert fit_grid(grid("A", "5 6 7"), (2, 2), Pick("A", "2"), NO_LABELS, is_turned=False) is None


def test_the_share_of_close_numbers_ignores_blank_cells():
    values, units = values_and_units(grid("A", "0.27 ____", "0.50 0.99"))
    assert share_close(values, units, np.array([[0.27, 0.5], [0.5, 0.5]])) == pytest.approx(2 / 3)


# ---- The givens that a written line repeats ----

GIVENS = GivenLines(Graph(solve(parse_problem({"kind": "softmax", "scores": [2.1, 0.4]}), Rounding())))


def repeated(*cells: str) -> str:
    return GIVENS.repeated(read_grid(WrittenLine("x", (cells,)), has_decimal_comma=False), Pick("x"))


def test_a_given_is_found_by_its_numbers():
    assert repeated("2.1", "0.4") == repeated("2.10", ".4") == "scores"
    assert repeated("2.1", "0.5") == repeated("2.1", "0.4", "1") == ""


def test_a_given_is_found_by_its_name():
    assert GIVENS.named("S", "") == GIVENS.named("scores", "") == ["scores"]
    assert GIVENS.named("weights", "") == []
