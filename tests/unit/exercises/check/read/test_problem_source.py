"""The problem of a working: what a working may name, and what messages may repeat of it."""

import io
import os

import pytest
from openpyxl import Workbook

from clearhead.check import check
from clearhead.check.classroom import grades_csv, mark_class
from clearhead.check.marks import Scheme
from clearhead.check.working import NumberedSheet
from clearhead.errors import ProblemError, QuizError
from clearhead.exercises.check.read.problem_source import is_problem_file, load_given_problem, load_named_problem
from clearhead.exercises.check.read.reading import read_page
from clearhead.exercises.check.read.sheet_number import ProblemSources
from clearhead.exercises.check.read.workings import load_workings, read_workings

PROBLEM = (
    "kind: self-attention\nX: [[1, 0], [0, 1]]\nW_Q: [[1, 2], [3, 1]]\nW_K: [[1, 0], [0, 1]]\nW_V: [[1, 2], [3, 4]]\n"
)
WRITTEN = "written: {Q: [[1, 2], [3, 1]]}\n"
SECRET = "hunter2-secret"
UNUSABLE = [  # files of the folder that are not problems; each message about such a file quotes it when it is solved
    f"{SECRET}\n",
    f"{SECRET}: &a [*b]\n",
    f"{SECRET}: 1\n{SECRET}: 2\n",
    f"kind: {SECRET}\n",
    f"kind: self-attention\n{SECRET}: 1\n",
    f"kind: self-attention\nX: [[{SECRET}]]\n",
    f"kind: self-attention\nX: [[1]]\nW_Q: [[1, 2], [3, 4]]\ntokens: [{SECRET}, b]\nW_K: [[1]]\nW_V: [[1]]\n",
    '{"' + SECRET + '": }',
    "\xff" + SECRET,
]


@pytest.fixture
def rooms(tmp_path):
    """A folder of workings with a problem in it, and a secret problem outside it."""
    folder = tmp_path / "class"
    (folder / "inner").mkdir(parents=True)
    for path in (folder / "q.yaml", folder / "inner" / "q.yaml", tmp_path / "secret.yaml"):
        path.write_text(PROBLEM)
    (folder / "way-out.yaml").symlink_to(tmp_path / "secret.yaml")
    (folder / "outside").symlink_to(tmp_path)
    (folder / "beside.yaml").symlink_to("q.yaml")
    return folder


@pytest.mark.parametrize(
    "name", ["q.yaml", "./q.yaml", "inner/q.yaml", "beside.yaml", "exam-self-attention", "{folder}/q.yaml"]
)
def test_a_working_can_name_the_gallery_and_files_of_its_folder(rooms, name):
    assert load_named_problem(name.format(folder=rooms), rooms)["kind"]


@pytest.mark.parametrize(
    "name",
    [
        "{folder}/../secret.yaml", "../secret.yaml", "inner/../../secret.yaml", "inner/../q.yaml", "way-out.yaml",
        "outside/secret.yaml", "/etc/passwd", "/proc/self/environ", "/dev/zero", "../missing.yaml", "{folder}.yaml", "..",
    ],
)  # fmt: skip
def test_a_working_cannot_name_a_file_outside_its_folder(rooms, name):
    with pytest.raises(ProblemError, match="is outside the folder of the working") as error:
        load_named_problem(name.format(folder=rooms), rooms)
    assert error.value.options == ("problem",)


@pytest.mark.parametrize("suffix", ["yaml", "csv", "json"])
def test_every_kind_of_working_is_bound_to_its_folder(rooms, suffix):
    contents = {
        "yaml": f"problem: ../secret.yaml\n{WRITTEN}",
        "json": '{"problem": "../secret.yaml", "written": {"Q": [[1, 2], [3, 1]]}}',
        "csv": "problem,../secret.yaml\nQ,1,2\n,3,1\n",
    }
    (rooms / f"w.{suffix}").write_text(contents[suffix])
    with pytest.raises(ProblemError, match="is outside the folder of the working"):
        load_workings(rooms / f"w.{suffix}")


@pytest.mark.parametrize("name", ["q.yaml", "{folder}/q.yaml", "../secret.yaml", "/etc/passwd", "exam-self-atention"])
def test_a_working_that_is_no_file_can_name_only_the_gallery(rooms, monkeypatch, name):
    monkeypatch.chdir(rooms)
    shown = name.format(folder=rooms)
    for content, suffix in ((f"problem: {shown}\n{WRITTEN}", ".yaml"), (f"problem,{shown}\nQ,1,2\n,3,1\n", ".csv")):
        with pytest.raises(ProblemError, match="is not an exercise of the gallery"):
            read_workings(content.encode(), suffix)
    with pytest.raises(ProblemError, match="a working that is not a file cannot name one"):
        read_workings(WRITTEN.encode(), ".yaml", shown)
    (working,) = read_workings(f"problem: exam-self-attention\n{WRITTEN}".encode(), ".yaml")
    assert working.problem["kind"] == "self-attention"
    (working,) = read_workings(WRITTEN.encode(), ".yaml", "exam-self-attention")
    assert working.problem["kind"] == "self-attention"


def test_a_given_problem_can_be_anywhere_and_replaces_the_name_in_the_working(rooms):
    assert load_given_problem(rooms / ".." / "secret.yaml")["kind"] == "self-attention"
    (rooms / "w.yaml").write_text(f"problem: ../secret.yaml\n{WRITTEN}")
    (report,) = check(rooms / "w.yaml", rooms.parent / "secret.yaml")
    assert report.earned == report.out_of == 2
    assert any("is outside the folder of the working" in note.sentence for note in report.notes)


@pytest.mark.parametrize("content", UNUSABLE)
def test_the_content_of_a_problem_that_a_working_names_is_never_repeated(tmp_path, content):
    (tmp_path / "p.yaml").write_bytes(content.encode("latin-1"))
    (tmp_path / "w.csv").write_text("problem,p.yaml\nQ,1,2\n,3,1\n")
    (tmp_path / "v.yaml").write_text(f"problem: p.yaml\n{WRITTEN}")
    for name in ("w.csv", "v.yaml"):
        with pytest.raises(ProblemError) as error:
            check(tmp_path / name)
        assert SECRET not in str(error.value)
        assert "problem 'p.yaml' is not a usable problem file" in str(error.value)
    grades = grades_csv(mark_class(tmp_path, Scheme(), besides=[tmp_path / "p.yaml"]))
    assert SECRET not in grades
    assert grades.count("is not a usable problem file") == 2


def test_one_s_own_problem_is_quoted_and_a_class_does_not_start_with_a_broken_one(tmp_path):
    (tmp_path / "p.yaml").write_text(f"kind: {SECRET}\n")
    (tmp_path / "w.yaml").write_text(WRITTEN)
    with pytest.raises(ProblemError, match=f"kind = '{SECRET}' is not a kind"):
        check(tmp_path / "w.yaml", tmp_path / "p.yaml")
    with pytest.raises(ProblemError, match=f"kind = '{SECRET}' is not a kind"):
        mark_class(tmp_path, Scheme(), tmp_path / "p.yaml")


@pytest.mark.parametrize("name", ["", " ", "a\0b", 5, ["q.yaml"], None])
def test_a_name_that_is_not_text_is_refused(tmp_path, name):
    with pytest.raises(ProblemError, match="is not a problem. Give a gallery id"):
        load_named_problem(name, tmp_path)


def test_a_pipe_in_the_folder_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "q.yaml")
    with pytest.raises(ProblemError, match="no such problem file"):
        load_named_problem("q.yaml", tmp_path)


def test_a_gallery_name_is_not_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not is_problem_file("exam-self-attention")
    assert not is_problem_file({"kind": "self-attention"})
    assert is_problem_file("q.yaml")


# ---- The number of a practice sheet in a working: found in every format, looked up, and never guessed ----

NUMBER = "softmax-2-7-03-v1-K"
SHEET_PROBLEM = {"kind": "softmax", "scores": [1, 2]}


def find(number):
    """The lookup of these tests: one sheet."""
    if number != NUMBER:
        raise QuizError(f"there is no sheet '{number}'. Compare the number with the sheet.")
    return NumberedSheet(NUMBER, SHEET_PROBLEM, "softmax, difficulty 2")


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
    assert working.problem == SHEET_PROBLEM
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
        load_workings({"sheet": NUMBER, "problem": SHEET_PROBLEM, "written": {"A": [[1]]}}, sheets=find)
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
    assert working.problem == SHEET_PROBLEM
    assert read(WORKINGS[".md"], ".md", SHEET_PROBLEM).notes == (), "the same problem needs no note"


def test_a_report_has_the_number_of_its_sheet():
    (report,) = check({"sheet": NUMBER, "written": {"weights": ["0.27", "0.73"]}}, sheets=find)
    assert (report.sheet, report.quiz) == (NUMBER, "softmax, difficulty 2")
    assert b'"sheet":"softmax-2-7-03-v1-K"' in report.to_json()
