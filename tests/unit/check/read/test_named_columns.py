"""Tables whose columns are lines."""

from clearhead.check.read.named_columns import named_columns


def test_every_column_is_a_line_and_the_last_row_can_be_a_sum():
    rows = [["score", "exp", "weight"], ["---", "---", "---"], ["2", "7.39", "0.82"], ["0.5", "1.65", "0.18"]]
    columns = named_columns([*rows, ["sum", "9.04", "1"]], ())
    assert [(column.symbol.name, column.cells) for column in columns] == [
        ("score", ("2", "0.5")),
        ("exp", ("7.39", "1.65")),
        ("sum", ("9.04",)),
        ("weight", ("0.82", "0.18")),
    ]


def test_a_caption_names_the_row():
    rows = [["token", "score", "weight"], ["sun", "2", "0.5"], ["moon", "2", "0.5"]]
    assert [column.symbol.name for column in named_columns(rows, {"sun", "moon"}, "Row 2:")] == [
        "score[2]",
        "weight[2]",
    ]
    assert next(column.symbol.name for column in named_columns(rows, {"sun", "moon"}, "query moon")) == "score[moon]"


def test_a_matrix_with_labels_has_no_named_columns():
    assert named_columns([["", "k1", "k2"], ["q1", "1", "2"]], ()) == []
    assert named_columns([["", "sun", "score"], ["sun", "1", "2"]], {"sun"}) == []
    assert named_columns([["score", "weight"], ["high", "0.5"]], ()) == []
