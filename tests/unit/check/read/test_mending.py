"""Repairs of scanning errors: only where the rest of the page proves them, and each is reported."""

import pytest

from clearhead.check.read.latex import Grid
from clearhead.check.read.mending import (
    doubtful_cells,
    mend_dots,
    mend_factor,
    mend_height,
    mend_rows,
    number_of,
    same_numbers,
    share_of_same,
)


def grid(text: str) -> Grid:
    return Grid(tuple(tuple(row.split()) for row in text.split(" / ")))


@pytest.mark.parametrize(("cell", "number"), [("−0.5", -0.5), (".5", 0.5), ("- 2", -2.0), ("1/2", None), ("", None)])
def test_only_a_plain_decimal_is_a_number(cell, number):
    assert number_of(cell) == number


def test_the_same_numbers_can_be_written_in_two_ways():
    assert same_numbers(grid("0.5 -1"), grid("0.50 −1"))
    assert not same_numbers(grid("1 2"), grid("1 / 2"))
    assert share_of_same(grid("1 2 / 3 4"), grid("1 2 / 3 5")) == 0.75


def test_middle_dots_are_points_where_every_number_has_one():
    mended = mend_dots("Q", grid("2·1 0·5"), [])
    assert mended.grid.cells == (("2.1", "0.5"),)
    assert mended.repairs[0].startswith("2·1 in Q was read as 2.1")


def test_one_dot_among_points_is_not_changed_and_is_reported():
    mended = mend_dots("Q", grid("2·1 0.5"), [])
    assert mended.grid.cells == (("2·1", "0.5"),)
    assert mended.losses == ("Q contains 2·1, which can be a product or a misplaced decimal point; it was not changed",)


def test_a_row_that_lost_a_space_is_restored_from_another_copy_or_left_blank():
    broken = grid("1 2 / 34 / 5 6")
    assert mend_rows("K", broken, [grid("1 2 / 3 4 / 5 6")]).grid.cells == (("1", "2"), ("3", "4"), ("5", "6"))
    blank = mend_rows("K", broken, [])
    assert blank.grid.cells[1] == ("", "")
    assert blank.losses == ("row 2 of K has 1 number, but its other rows have 2: 34",)


def test_a_factor_is_repaired_if_exactly_one_repair_gives_the_product():
    """[2 3] × [[1 4], [5 6]] = [17 26]; the second row was scanned as 56."""
    mended = mend_factor("W_Q", grid("2 3"), Grid((("1", "4"), ("56",))), grid("17 26"), "X W_Q")
    assert mended.grid.cells == (("1", "4"), ("5", "6"))
    assert mended.repairs[0].endswith("read as 5 6, because X W_Q then gives the written result")


def test_a_stray_column_is_removed_if_the_product_proves_it():
    """[2 3] × [[1 4], [5 6]] = [17 26]; a column of 9s was scanned between them."""
    mended = mend_factor("W_Q", grid("2 3"), grid("1 9 4 / 5 9 6"), grid("17 26"), "X W_Q")
    assert mended.grid.cells == (("1", "4"), ("5", "6"))
    assert "column 2 (9 9) was ignored" in mended.repairs[0]


def test_a_surplus_row_is_removed_only_if_it_has_gaps():
    assert mend_height("A", Grid((("1", "2"), ("", "7"), ("3", "4"))), 2).grid.cells == (("1", "2"), ("3", "4"))
    assert mend_height("A", grid("1 2 / 5 6 / 3 4"), 2).repairs == ()


def test_a_power_that_no_exercise_contains_is_reported():
    assert doubtful_cells("A", Grid((("0.5", "7.9×10^{32}"),)), are_weights=True) == [
        "row 1, column 2 of A is 7.9×10^{32}: a sign or a digit of its exponent was probably lost"
    ]
