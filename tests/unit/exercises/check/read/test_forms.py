"""HTML pages, tables, notebooks and working files as pages of blocks."""

import io
import json
from typing import Any

import openpyxl
import pytest

from clearhead.errors import ProblemError
from clearhead.exercises.check.read.data import page_of_data, read_data_page
from clearhead.exercises.check.read.html import read_html
from clearhead.exercises.check.read.notebook import read_notebook
from clearhead.exercises.check.read.page import Cells, Page
from clearhead.exercises.check.read.tables import read_csv, read_rows, read_workbook, shown_text

SQUARE = (("1", "2"), ("3", "4"))


def matrices(page: Page) -> list[tuple[str, Cells]]:
    """Return the names of the blocks with their last matrices."""
    return [(block.name, block.sides[-1].grids[-1]) for block in page.blocks]


def notebook(*cells: dict[str, Any]) -> str:
    return json.dumps({"cells": cells})


def test_an_html_table_has_its_caption_as_name_and_its_heads_as_labels() -> None:
    page = read_html(
        "<h2>Head 1</h2><table><caption>S (1 × 2)</caption><tr><th></th><th>sun</th><th>moon</th></tr>"
        "<tr><th>sun</th><td>1</td><td>2</td></tr></table>"
    )
    (block,) = page.blocks
    assert (block.name, block.rows, block.columns, block.headings) == ("S", ("sun",), ("sun", "moon"), ("Head 1",))
    assert block.sides[0].grids == ((("1", "2"),),)


def test_typed_fields_are_read_and_hidden_parts_and_scripts_are_not() -> None:
    page = read_html(
        '<input id="student" value="Ada"><p>S = <input value="0.5"></p><p hidden>T = 1</p><script>U = 2</script>'
    )
    assert page.fields["student"] == "Ada"
    assert [(block.name, block.sides[0].text) for block in page.blocks] == [("S", "0.5")]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_separator_of_a_table_is_found(mark: str) -> None:
    text = "\n".join(mark.join(row) for row in (["Q", ""], ["1", "2"], ["3", "4"]))
    assert matrices(read_csv(text, ".csv")) == [("Q", SQUARE)]


def test_regions_of_a_table_are_blocks_and_its_fields_are_taken_out() -> None:
    rows = [["problem", "bank"], [], ["Q", "", "", "K", ""], ["1", "2", "", "3", "4"]]
    page = read_rows(rows, "Sheet 2")
    assert page.fields == {"problem": "bank"}
    assert matrices(page) == [("Q", (("1", "2"),)), ("K", (("3", "4"),))]
    assert {block.headings for block in page.blocks} == {("Sheet 2",)}


def test_a_workbook_is_read_as_it_is_displayed() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Q", None], [0.5, 2], [0.25, "=A2"]):
        sheet.append(row)
    sheet["A2"].number_format = "0.00"
    content = io.BytesIO()
    book.save(content)
    page = read_workbook(content.getvalue())
    assert matrices(page) == [("Q", (("0.50", "2"), ("0.25", "?")))]
    assert "cell B3 has a formula without a stored value" in page.unread[0].reason
    with pytest.raises(ProblemError, match=r"not an \.xlsx file"):
        read_workbook(b"no archive")


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (0.5, "0.00", "0.50"),
        (0.125, "0.0%", "12.5%"),
        (2.5, "0", "3"),
        (1234.5, "0.0E+00", "1.2e+3"),
        (0.1 + 0.2, "General", "0.3"),
        (True, "0.00", "True"),
        ("sun", "0.00", "sun"),
    ],
)
def test_a_cell_is_the_text_that_a_spreadsheet_displays(value: object, number_format: str, text: str) -> None:
    assert shown_text(value, number_format) == text


def test_a_notebook_gives_its_markdown_its_typed_lists_and_its_outputs() -> None:
    code = {
        "cell_type": "code",
        "source": ["Q = [[1, 2],\n", "     [3, 4]]\n", "lines['K'] = [0.50, ...]\n", "print(x)"],
        "outputs": [{"text": ["S = [[5, 6]]\n"]}],
    }
    page = read_notebook(notebook({"cell_type": "markdown", "source": "# Head 1"}, code))
    assert matrices(page) == [("Q", SQUARE), ("K", (("0.50", ""),)), ("S", (("5", "6"),))]
    assert page.blocks[0].headings == ("Head 1",)


def test_code_that_is_no_python_is_left_out_and_a_broken_notebook_is_an_error() -> None:
    assert read_notebook(notebook({"cell_type": "code", "source": "Q = [1, 2"})).blocks == ()
    for text in ("{", "[]", '{"cells": [1]}'):
        with pytest.raises(ProblemError, match="not a readable notebook"):
            read_notebook(text)


def test_a_working_file_names_its_lines_their_places_and_their_copies() -> None:
    page = page_of_data({"problem": "bank", "written": {"cross": {"Q": [[1, 2], [3, 4]]}, "Q into S": "1 2"}})
    first, second = page.blocks
    assert page.is_working_file
    assert page.fields == {"problem": "bank"}
    assert (first.name, first.headings, first.place) == ("Q", ("cross",), "written: cross: Q")
    assert first.sides[0].grids == (SQUARE,)
    assert (second.name, second.copied_into, second.sides[0].grids) == ("Q", "S", ((("1", "2"),),))


def test_copies_are_grouped_by_the_line_that_they_are_in() -> None:
    page = page_of_data({"written": {"copies": {"scores": {"Q": [1, 2]}, "K": [1]}}})
    assert [(block.name, block.copied_into) for block in page.blocks] == [("Q", "scores")]
    assert "does not name the line that K was copied into" in page.mistakes[0]


def test_the_digits_of_a_working_file_stay_as_they_are() -> None:
    page = read_data_page(b"written:\n  Q: [0.50, 1e-3]\n  K: ''\n")
    assert matrices(page) == [("Q", (("0.50", "1e-3"),))]
    assert page.remarks == ("written: K: K is empty.",)


@pytest.mark.parametrize(
    ("written", "mistake"),
    [
        ({}, "contains no lines"),
        ({"Q": []}, "is an empty list"),
        ({"Q": [1, [2]]}, "mixes rows and single numbers"),
        ({"Q": [[[1]]]}, "is nested too deeply"),
        ({"": 1}, "a line has no name"),
    ],
)
def test_a_wrong_line_of_a_working_file_is_a_mistake(written: object, mistake: str) -> None:
    (sentence,) = page_of_data({"written": written}).mistakes
    assert mistake in sentence
