"""The page of a practice sheet as text: fields for the blank cells, decimal signs, and what it refuses."""

import re
from dataclasses import replace

import pytest

from clearhead.errors import QuizError
from clearhead.quiz import QuizRequest, QuizSheet, draw_sheet
from clearhead.quiz.page import to_page
from clearhead.quiz.page.markup import MARKING_SCRIPTS, marking_script
from clearhead.quiz.sheet import blank_cells
from clearhead.worksheet.solver import solve

NUMBERS = range(1, 14)


def practice_sheet(kind: str = "self-attention", difficulty: int = 2, blanks: str = "all") -> QuizSheet:
    return draw_sheet(QuizRequest(kind, difficulty, 7, blanks=blanks))


@pytest.mark.parametrize("blanks", ["all", "row", "hard"])
def test_every_blank_cell_is_a_field_with_a_name_and_no_other_cell_is(blanks: str) -> None:
    sheet = practice_sheet("multi-head-attention", 3, blanks)
    page = to_page(sheet)
    fields = re.findall(r'<input data-cell="(\d+):(\d+),(\d+)" data-name="([^"]+)" aria-label="([^"]+)"', page)
    expected = [(n, i, j) for n, step in enumerate(sheet.view.steps) for i, j in blank_cells(step)]
    assert sorted((int(n), int(i), int(j)) for n, i, j, _, _ in fields) == sorted(expected)
    assert all(name == label for *_, name, label in fields)


def test_with_tokens_as_columns_a_field_knows_its_cell_with_tokens_as_rows() -> None:
    weights = {name: [[1, 2], [3, 5]] for name in ("W_Q", "W_K", "W_V")}
    turned = solve({"kind": "self-attention", "layout": "columns", "X": [[1, 0, 2], [0, 1, 1]], **weights})
    first = turned.trace[0].symbol
    page = to_page(replace(practice_sheet(), worksheet=turned, blanks=(f"{first}[1, 2]",)))
    assert re.findall(r'data-cell="([^"]+)" data-name="([^"]+)"', page)[0][0] == "0:1,0"


def test_a_page_says_how_to_round_and_how_many_inner_digits_to_keep() -> None:
    page = to_page(practice_sheet())
    assert "write every number to 3 decimals (half up)" in page
    assert "Keep at least 4 decimals in numbers that you use and do not type" in page
    assert "Keep at least" not in to_page(practice_sheet("convolution", 1)), "it has no exponentials and no roots"


def test_a_page_is_self_contained_and_its_policy_allows_its_own_script_only() -> None:
    page = to_page(practice_sheet())
    assert "default-src 'none'" in page
    assert not re.findall(r'(?:src|href)="[^#"]', page)
    assert len(re.findall("^<script>", page, re.MULTILINE)) == 1
    assert len(page.encode()) < 300_000


def test_numbers_have_the_decimal_sign_that_was_chosen() -> None:
    sheet = practice_sheet()
    point, comma = to_page(sheet), to_page(sheet, decimal="comma")
    assert '"hasComma":false' in point
    assert '"hasComma":true' in comma
    assert "A comma or a point separates the decimals." in comma
    assert re.search(r"<td>-?\d\.\d</td>", point)
    assert not re.search(r"<td>-?\d\.\d</td>", comma)
    assert re.search(r"<td>-?\d,\d</td>", comma)


def test_a_sheet_without_blank_cells_is_refused() -> None:
    sheet = practice_sheet()
    with pytest.raises(QuizError, match=f"sheet {sheet.number} has no blank cell to type in."):
        to_page(replace(sheet, blanks=()))


def test_a_matrix_that_is_too_large_to_type_in_is_refused() -> None:
    wide = {"kind": "softmax", "scores": [list(NUMBERS)]}
    sheet = practice_sheet()
    with pytest.raises(QuizError, match=r"is 1 × 13; a page to work in shows at most 24 × 12 cells"):
        to_page(replace(sheet, worksheet=solve(wide), blanks=("A",)))


def test_a_hostile_title_stays_text() -> None:
    sheet = practice_sheet()
    hostile = replace(sheet, worksheet=replace(sheet.worksheet, title="</script><script>alert(7)</script>"))
    page = to_page(hostile)
    assert "alert(7)" in page
    assert "<script>alert" not in page


def test_the_marking_script_does_not_touch_the_page() -> None:
    script = marking_script()
    assert MARKING_SCRIPTS[-1] == "judge.js"
    assert "document" not in script
    assert "window" not in script
    assert "eval(" not in script
