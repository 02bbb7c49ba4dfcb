"""The lines of a sheet with their ids, parents and blanks, and the sheet as a table."""

import csv
import io
from typing import Any

import openpyxl

from clearhead.exercises.sheet.build import sheet_of
from clearhead.exercises.sheet.sheet import Sheet
from clearhead.exercises.sheet.tables import rows_of, to_csv, to_xlsx
from clearhead.worksheet.solver import solve
from clearhead.worksheet.view import SheetView

# Q Kᵀ = 2 0.5 / 2 2
ATTENTION: dict[str, Any] = {
    "kind": "self-attention",
    "scale": "none",
    "title": "=1+1",
    "Q": [[1, 0], [0, 2]],
    "K": [[2, 1], [0.5, 1]],
    "V": [[1, 0], [0, 1]],
}


def attention(**changes: Any) -> Sheet:
    """Return the sheet of the exercise with changed keys."""
    return sheet_of(SheetView(solve({**ATTENTION, **changes})))


def test_givens_stand_before_the_first_step_that_uses_them() -> None:
    sheet = attention()
    assert [line.symbol for line in sheet.lines] == ["Q", "K", "S", "A", "V", "Z"]
    assert [line.symbol for line in sheet.givens] == ["Q", "K", "V"]
    assert [line.id for line in sheet.steps] == [f"self_attention:{step}" for step in ("score", "softmax", "mix")]


def test_a_line_knows_its_parents_its_digits_and_its_shape() -> None:
    line = attention().by_id["self_attention:score"]
    assert dict(line.parents) == {"q": ("self_attention.Q",), "k": ("self_attention.K",)}
    assert (line.equation, line.shape, line.texts) == ("Q Kᵀ", (2, 2), (("2.0", "0.5"), ("2.0", "2.0")))
    assert line.where == "self_attention"


def test_the_columns_layout_turns_the_lines_and_not_their_ids() -> None:
    rows, columns = attention(), attention(layout="columns")
    assert [line.id for line in rows.lines] == [line.id for line in columns.lines]
    assert columns.by_id["self_attention:score"].equation == "Kᵀ Q"


def test_an_exercise_of_the_gallery_names_itself() -> None:
    assert next(rows_of(sheet_of(SheetView(solve("leak"))))) == ["problem", "leak"]
    assert next(rows_of(attention())) == ["title", "=1+1"]


def test_a_cell_is_given_asked_or_blank_and_a_blank_is_empty_in_the_table() -> None:
    sheet = sheet_of(SheetView(solve(ATTENTION), ["S[1,2]"]))
    line = sheet.by_id["self_attention:score"]
    assert (line.state(0, 0), line.state(0, 1), sheet.givens[0].state(0, 0)) == ("asked", "blank", "given")
    rows = list(rows_of(sheet))
    start = rows.index(["S", "column 1", "column 2"])
    assert rows[start + 1 : start + 3] == [["row 1", "2.0", ""], ["row 2", "2.0", "2.0"]]


def test_tokens_are_labels_and_a_token_that_is_a_number_gets_a_word() -> None:
    rows = list(rows_of(attention(tokens=["sun", "7"])))
    start = rows.index(["S", "sun", "token 7"])
    assert [row[0] for row in rows[start + 1 : start + 3]] == ["sun", "token 7"]


def test_the_csv_has_the_rows_of_the_sheet() -> None:
    sheet = attention()
    assert list(csv.reader(io.StringIO(to_csv(sheet).decode()))) == list(rows_of(sheet))


def test_a_workbook_has_numbers_with_their_digits_and_no_formulas() -> None:
    page = openpyxl.load_workbook(io.BytesIO(to_xlsx(attention()))).active
    assert page is not None
    cells = {cell.value: cell for row in page.iter_rows() for cell in row}
    assert (cells[0.5].number_format, cells[0.8176].number_format) == ("0.0000", "0.0000")
    assert cells["=1+1"].data_type == "s"
