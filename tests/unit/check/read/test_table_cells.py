"""Tables with one cell a row: a pair of tokens, its score and its weight."""

from clearhead.check.read.table_cells import cells_by_pair


def test_each_number_is_a_cell_of_the_line_in_its_header():
    rows = [["pair", "score", "scaled", "weight"], ["q1·k1", "2", "1", "0.73"], ["q1·k2", "0", "0", "0.27"]]
    cells = [(cell.symbol.name, cell.text, cell.row) for cell in cells_by_pair(rows, ())]
    assert cells[:3] == [("scores[1, 1]", "2", 1), ("scaled[1, 1]", "1", 1), ("weights[1, 1]", "0.73", 1)]
    assert cells[3:] == [("scores[1, 2]", "0", 2), ("scaled[1, 2]", "0", 2), ("weights[1, 2]", "0.27", 2)]


def test_a_matrix_is_not_such_a_table():
    assert cells_by_pair([["", "k1", "k2"], ["q1", "2", "0"], ["q2", "0", "2"]], ()) == []
    assert cells_by_pair([["a", "b"]], ()) == []
