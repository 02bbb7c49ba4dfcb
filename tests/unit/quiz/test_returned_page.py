"""A Markdown sheet that a student has filled in and handed back: every number is found, in every kind of sheet."""

import re

import pytest

from clearhead.check.marker import mark_all
from clearhead.exercises.check.read.workings import read_workings
from clearhead.quiz.draw import draw_sheet, quiz_kinds
from clearhead.quiz.forms import write_form
from clearhead.quiz.lookup import sheet_lookup
from clearhead.quiz.request import QuizRequest
from clearhead.quiz.returned_page import read_filled_page
from clearhead.quiz.working import answer_lines

BLANK = re.compile(r"(?:\\_){4}")


def filled(sheet, decimal="point"):
    """Return the Markdown form of a sheet, with the answers in its tables and the name of a student."""
    text = write_form(sheet, "markdown", decimal=decimal).decode()
    answers = iter([cell for line in answer_lines(sheet) for row in line.cells for cell in row if cell])
    mark = "," if decimal == "comma" else "."
    lines = [
        BLANK.sub(lambda match: next(answers).replace(".", mark), line) if line.startswith("|") else line
        for line in text.split("\n")
    ]
    assert next(answers, None) is None
    return "\n".join(lines).replace("Name: " + "\\_" * 12, "Name: Ada")


def marked(text):
    (report,) = mark_all(read_workings(text.encode(), ".md", None, sheet_lookup()))
    return report


@pytest.mark.parametrize("kind", quiz_kinds())
def test_a_sheet_of_every_kind_that_was_filled_in_earns_full_marks(kind):
    sheet = draw_sheet(QuizRequest(kind, 1 if kind in ("transformer", "decoder-block") else 2, 5))
    report = marked(filled(sheet))
    assert (report.student, report.sheet) == ("Ada", sheet.number)
    assert report.earned == report.out_of > 0
    assert report.exit_code == 0


@pytest.mark.parametrize("blanks", ["row", "hard"])
def test_cells_beside_printed_numbers_are_found_also_with_a_decimal_comma(blanks):
    sheet = draw_sheet(QuizRequest("self-attention", 2, 5, blanks=blanks))
    report = marked(filled(sheet, "comma"))
    assert report.earned == report.out_of > 0


def test_cells_that_stay_blank_are_not_written_and_a_wrong_one_is_found():
    sheet = draw_sheet(QuizRequest("softmax", 2, 7))
    text = filled(sheet)
    last = text.rindex("|", 0, text.rindex("|"))
    report = marked(text[: last + 1] + " **9.9** |\n")
    assert [cell.text for line in report.lines for cell in line.marked if cell.verdict.is_error] == ["9.9"]
    half = text[: text.rindex("| ", 0, last)] + "| \\_\\_\\_\\_ | 0.1 |\n"
    assert any(cell is None for line in marked(half).lines for row in line.cells for cell in row)


def test_another_page_and_an_empty_sheet_are_not_taken_for_a_filled_one():
    sheet = draw_sheet(QuizRequest("softmax", 2, 7))
    text = write_form(sheet, "markdown").decode()
    assert read_filled_page(sheet, text) == ()
    assert read_filled_page(sheet, filled(sheet) + "\n| 1 | 2 |\n|---|---|\n| 3 | 4 |\n") == ()
    assert read_filled_page(sheet, "A = [[1, 2]]") == ()
    assert read_filled_page(sheet, "x" * 500_000) == ()


def test_a_working_in_the_student_s_own_words_is_still_read():
    sheet = draw_sheet(QuizRequest("softmax", 2, 7))
    lines = {line.name: line.cells for line in answer_lines(sheet)}
    own = "\n\n".join(
        f"{name} = [{', '.join(f'[{chr(44).join(row)}]' for row in cells)}]" for name, cells in lines.items()
    )
    report = marked(f"Name: Ada\n\nSheet: {sheet.number}\n\n{own}\n")
    assert (report.student, report.earned) == ("Ada", report.out_of)
