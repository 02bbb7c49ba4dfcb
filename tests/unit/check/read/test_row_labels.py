"""Rows and columns of a table placed by their labels."""

from clearhead.check.read.row_labels import PlacedRows, place_rows

TOKENS = [("sun", "moon", "star")]
SQUARE = (("1", "2", "3"), ("4", "5", "6"), ("7", "8", "9"))


def test_rows_in_the_order_of_the_tokens_are_one_matrix():
    assert place_rows(SQUARE, ("Sun", "moon", "star"), (), TOKENS) == [PlacedRows("", SQUARE)]
    assert place_rows(SQUARE, ("1", "2", "3"), (), TOKENS) == [PlacedRows("", SQUARE)]
    assert place_rows(SQUARE, ("0", "1", "2"), (), TOKENS) == [PlacedRows("", SQUARE)], "counted from 0"
    assert place_rows(SQUARE, ("q1", "q2", "q3"), (), TOKENS) == [PlacedRows("", SQUARE)]


def test_other_rows_are_placed_one_by_one():
    placed = place_rows(SQUARE[:2], ("star", "sun"), (), TOKENS)
    assert placed == [PlacedRows("star", (SQUARE[0],), 3), PlacedRows("sun", (SQUARE[1],), 1)]
    placed = place_rows(SQUARE[:2], ("row 1", "row 3"), (), TOKENS)
    assert [(rows.row, rows.number) for rows in placed] == [("1", 1), ("3", 3)]


def test_labels_that_mean_nothing_are_ignored():
    assert place_rows(SQUARE, ("a", "b", "c"), (), TOKENS) == [PlacedRows("", SQUARE)]


def test_columns_are_put_in_the_order_of_the_tokens():
    ((placed),) = place_rows((("1", "2", "3"),), ("?",), ("moon", "star", "sun"), TOKENS)
    assert placed.cells == (("3", "1", "2"),), "sun is the last column of the table"
