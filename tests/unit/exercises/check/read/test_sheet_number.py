"""The number of a practice sheet in a working: found in every format, looked up, and never guessed."""

import io

import pytest
from openpyxl import Workbook

from clearhead.check import check
from clearhead.check.working import NumberedSheet
from clearhead.errors import ProblemError, QuizError
from clearhead.exercises.check.read.reading import read_page
from clearhead.exercises.check.read.sheet_number import ProblemSources
from clearhead.exercises.check.read.workings import load_workings, read_workings

NUMBER = "softmax-2-7-03-v1-K"
PROBLEM = {"kind": "softmax", "scores": [1, 2]}


def find(number):
    """The lookup of these tests: one sheet."""
    if number != NUMBER:
        raise QuizError(f"there is no sheet '{number}'. Compare the number with the sheet.")
    return NumberedSheet(NUMBER, PROBLEM, "softmax, difficulty 2")


def read(content, suffix, problem=None):
    data = content if isinstance(content, bytes) else content.encode()
    return read_workings(data, suffix, problem, find)[0]


def book(rows):
    content, workbook = io.BytesIO(), Workbook()
    for row in rows:
        workbook.active.append(row)
    workbook.save(content)
    return content.getvalue()


WORKINGS = {
    ".yaml": f"sheet: {NUMBER}\nwritten: {{weights: [0.27, 0.73]}}\n",
    ".json": f'{{"sheet": "{NUMBER}", "written": {{"weights": ["0.27", "0.73"]}}}}',
    ".csv": f"sheet,{NUMBER}\nweights,0.27,0.73\n",
    ".tsv": f"sheet: {NUMBER}\nweights\t0.27\t0.73\n",
    ".xlsx": book([["sheet", NUMBER], ["weights", 0.27, 0.73]]),
    ".md": f"# Homework\n\nSheet: `{NUMBER}`\n\nA = [[0.27, 0.73]]\n",
    ".tex": f"\\section*{{Sheet {NUMBER}}}\n$A = \\begin{{bmatrix}} 0.27 & 0.73 \\end{{bmatrix}}$\n",
    ".txt": f"sheet {NUMBER}\nweights: 0.27 0.73\n",
}


@pytest.mark.parametrize("suffix", WORKINGS)
def test_a_working_of_any_format_is_of_the_sheet_whose_number_it_has(suffix):
    working = read(WORKINGS[suffix], suffix)
    assert working.problem == PROBLEM
    assert working.sheet.number == NUMBER
    assert [cell for line in working.lines for row in line.cells for cell in row] == ["0.27", "0.73"]
    assert not working.is_inferred
    assert [note for note in working.notes if NUMBER in note.sentence] == [], "the number is not a calculation"


@pytest.mark.parametrize(
    "line",
    [
        f"Sheet: {NUMBER}",
        f"**Sheet:** {NUMBER}",
        f"Sheet number: {NUMBER}   Name: Ada",
        f"> sheet = {NUMBER}",
        f"Sheet: \\texttt{{{NUMBER}}}\\hfill Name: Ada",
        f"\\textbf{{Sheet {NUMBER.replace('-v1', chr(92) + 'hspace{0pt}-v1')}}}",
        f"# Practice sheet {NUMBER}",
        f"# Softmax · sheet {NUMBER} (solution)",
        f"Name: Ada        Sheet: {NUMBER}",
        f"Name: Ada, sheet: {NUMBER}, Monday",
        f"Sheet {NUMBER.replace('-', '–')}",
    ],
)
def test_a_number_is_found_as_people_and_sheets_write_it(line):
    page = read_page(f"Homework of Monday\n\n{line}\n\nQ = [[1, 2]]\n".encode(), "page.md")
    assert page.fields["sheet"].replace("–", "-") == NUMBER
    assert [block.name for block in page.blocks] == ["Q"]
    assert page.blocks[0].line == 5


@pytest.mark.parametrize("line", ["Sheet 3", "Sheet: 3", "sheet: 2024-10-03", "Exercise sheet: IV", "sheet of paper"])
def test_other_sheets_are_not_practice_sheets(line):
    page = read_page(f"{line}\n\nQ = [[1, 2]]\n".encode(), "page.md")
    assert "sheet" not in page.fields
    assert [block.name for block in page.blocks] == ["Q"]


def test_a_page_with_two_numbers_is_not_guessed_about():
    with pytest.raises(ProblemError, match="names two sheets, 'a-1-2-3-v1-K' and 'b-1-2-3-v1-K'. Hand in one file"):
        read_page(b"Sheet: a-1-2-3-v1-K\nSheet: b-1-2-3-v1-K\n", "page.md")
    assert read_page(b"Sheet: a-1-2-3-v1-K\nsheet a-1-2-3-v1-K\n", "page.md").fields["sheet"] == "a-1-2-3-v1-K"


@pytest.mark.parametrize(
    ("content", "suffix"),
    [
        ("sheet: softmax-2-7-03-v1-X\nwritten: {weights: [1, 0]}\n", ".yaml"),
        ("sheet,softmax-2-7-03-v1-X\nweights,1,0\n", ".csv"),
        ("Sheet: softmax-2-7-03-v1-X\n\nA = [[1, 0]]\n", ".md"),
    ],
)
def test_a_number_that_does_not_exist_is_one_sentence(content, suffix):
    with pytest.raises(ProblemError) as error:
        read(content, suffix)
    assert error.value.mistakes == ("there is no sheet 'softmax-2-7-03-v1-X'. Compare the number with the sheet.",)


@pytest.mark.parametrize("number", [[1], {"a": 1}, True, "", "  ", None])
def test_a_number_that_is_not_text_is_refused(number):
    with pytest.raises(ProblemError, match="is not the number of a sheet. Copy it from the sheet."):
        load_workings({"sheet": number, "written": {"A": [[1]]}}, sheets=find)


@pytest.mark.parametrize("line", ["Name: Ada   Sheet: {}", "Sheet: {}   Name: Ada", "Sheet: {}, Name: Ada"])
def test_a_name_beside_the_number_stays(line):
    working = read(f"{line.format(NUMBER)}\n\nA = [[0.27, 0.73]]\n", ".md")
    assert (working.student, working.sheet.number) == ("Ada", NUMBER)


def test_sheet_and_problem_together_and_neither_of_them_are_errors():
    with pytest.raises(ProblemError, match="sheet and problem are both there"):
        load_workings({"sheet": NUMBER, "problem": PROBLEM, "written": {"A": [[1]]}}, sheets=find)
    with pytest.raises(ProblemError, match="problem is missing. Add 'sheet:' with the number of a practice sheet"):
        load_workings({"written": {"A": [[1]]}}, sheets=find)
    with pytest.raises(ProblemError, match="'scores' is not a key beside sheet and written"):
        load_workings({"sheet": NUMBER, "scores": [1, 2], "written": {"A": [[1]]}}, sheets=find)


def test_without_a_lookup_the_number_is_an_error_that_says_what_to_do():
    with pytest.raises(ProblemError, match="sheet 'softmax-2-7-03-v1-K' cannot be looked up here") as error:
        load_workings({"sheet": NUMBER, "written": {"A": [[1]]}})
    assert ProblemSources().sheets is None
    assert error.value.mistakes[0].endswith("Give the problem of the sheet.")


def test_a_given_problem_takes_precedence_and_the_default_of_a_scheme_does_not():
    other = {"kind": "softmax", "scores": [3, 2]}
    (working,) = load_workings({"sheet": NUMBER, "written": {"A": [[1]]}}, other, find)
    assert working.problem == other
    assert working.sheet is None
    assert "It was marked against the given problem." in working.notes[0].sentence
    (working,) = load_workings({"sheet": NUMBER, "written": {"A": [[1]]}}, other, find, is_default=True)
    assert working.problem == PROBLEM
    assert read(WORKINGS[".md"], ".md", PROBLEM).notes == (), "the same problem needs no note"


def test_a_report_has_the_number_of_its_sheet():
    (report,) = check({"sheet": NUMBER, "written": {"weights": ["0.27", "0.73"]}}, sheets=find)
    assert (report.sheet, report.quiz) == (NUMBER, "softmax, difficulty 2")
    assert b'"sheet":"softmax-2-7-03-v1-K"' in report.to_json()
