"""Sheets by their numbers, for the marker: drawn again, or from a folder of key files."""

from pathlib import Path

import pytest

from clearhead.check import check
from clearhead.errors import ProblemError, QuizError
from clearhead.quiz.draw import draw_sheet
from clearhead.quiz.forms import write_form
from clearhead.quiz.lookup import sheet_lookup
from clearhead.quiz.request import QuizRequest
from tests.quiz_keys import answer_lines


@pytest.fixture(scope="module")
def sheet():
    return draw_sheet(QuizRequest("self-attention", 2, 7, 3, "hard"))


def written(sheet, number):
    lines = {f"{line.where}:{line.name}": [list(row) for row in line.cells] for line in answer_lines(sheet)}
    return {"sheet": number, "written": lines}


def test_a_returned_sheet_finds_its_problem_its_printed_lines_and_its_quiz(sheet):
    found = sheet_lookup()(f" {sheet.number.upper()} ")
    assert found.number == sheet.number
    assert found.problem == sheet.problem
    assert found.quiz == "self-attention, difficulty 2"
    assert [name.rpartition(":")[2] for name in found.blank_lines] == ["A", "Z"]
    assert [line.name for line in found.printed] == ["Q", "K", "V", "S", "S′"]


def test_the_key_of_a_sheet_earns_full_marks_for_the_cells_to_fill_in(sheet):
    (report,) = check(written(sheet, sheet.number), sheets=sheet_lookup())
    assert (report.earned, report.out_of, report.exit_code) == (4, 4, 0)


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        ("self-attention-2h-7-03-v1-A", "the check letter A does not fit the rest"),
        ("self-atention-2-7-03-v1-A", "Did you mean 'self-attention'"),
        ("self-attention-2-7-03-v9-A", "version 9 of the generator is not known"),
        ("seven", "is not the number of a sheet. A number looks like"),
        ("trace-1-2-3", "was drawn from a trace, so it is found only by its key file, trace-1-2-3.key.json"),
        ("../../etc/passwd", "is not the number of a sheet"),
    ],
)
def test_a_damaged_number_is_one_sentence(sheet, number, sentence):
    with pytest.raises(ProblemError) as error:
        check(written(sheet, number), sheets=sheet_lookup())
    assert len(error.value.mistakes) == 1
    assert sentence in error.value.mistakes[0]
    assert error.value.options == (("keys",) if number.startswith("trace") else ())


def test_a_sheet_from_a_trace_is_found_in_the_folder_of_its_key_file(sheet, tmp_path: Path):
    number = "trace-head-1-2"
    content = write_form(sheet, "json", is_key=True).replace(sheet.number.encode(), number.encode())
    (tmp_path / f"{number}.key.json").write_bytes(content)
    (report,) = check(written(sheet, number.upper()), sheets=sheet_lookup(tmp_path))
    assert (report.sheet, report.quiz) == (number, "self-attention, from a trace")
    assert report.earned == report.out_of == 4
    with pytest.raises(QuizError, match="has no key file of sheet trace-other"):
        sheet_lookup(tmp_path)("trace-other")
    (tmp_path / f"{number}.key.json").write_text("[1, 2")
    with pytest.raises(QuizError, match="is not a key file"):
        sheet_lookup(tmp_path)(number)
    with pytest.raises(QuizError, match="is not a folder of key files"):
        sheet_lookup(tmp_path / "nowhere")
