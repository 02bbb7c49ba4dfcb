"""Tables on a page: their header, labels and stray numbers are distinguished from their cells."""

from clearhead.check.read.page_table import NumberLines, StrayNumber, as_table, table_cells


def test_a_line_of_pipes_has_no_cells_outside_them():
    assert table_cells("| x1 | 0.5 | 2 |", "|") == ["x1", "0.5", "2"]
    assert table_cells("x1\t0.5\t", "\t") == ["x1", "0.5", ""]


def test_rows_of_bare_numbers_end_where_words_begin():
    lines = ["1 2", "3, 4", "and so on", "5 6"]
    assert NumberLines(lines).rows(0) == [["1", "2"], ["3", "4"]]
    assert NumberLines(lines).rows(2) == []
    assert NumberLines(["7"]).rows(0) == [], "one number alone is no matrix"


def test_a_header_a_corner_and_labels_are_not_numbers():
    table = as_table([["Q", "d1", "d2"], ["---", "---", "---"], ["Lets", "1", "2"], ["go", "3", "4"]])
    assert table is not None
    assert table.grid.cells == (("1", "2"), ("3", "4"))
    assert table.labels == ("Lets", "go")
    assert table.symbol is not None
    assert table.symbol.name == "Q"


def test_a_number_at_the_end_of_one_row_is_a_stray():
    table = as_table([["1", "2", ""], ["3", "4", "9"], ["5", "6", ""]])
    assert table is not None
    assert table.grid.cells == (("1", "2"), ("3", "4"), ("5", "6"))
    assert table.strays == (StrayNumber(2, "9"),)


def test_words_alone_are_not_a_table():
    assert as_table([["a", "b"], ["c", "d"]]) is None
