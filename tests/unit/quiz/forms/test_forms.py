"""The forms of a sheet: every blank is there, no answer is, and the key has all of them."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clearhead.errors import QuizError
from clearhead.quiz import QuizRequest, QuizSheet, draw_sheet
from clearhead.quiz.forms import SUFFIXES, told_apart_sentence, write_form
from clearhead.quiz.forms.decimals import with_decimal_sign
from clearhead.quiz.forms.html import write as write_html
from clearhead.quiz.forms.key import load_key, load_numbered_key
from clearhead.quiz.forms.latex import write as write_latex
from clearhead.quiz.forms.markdown import sheet_markdown
from clearhead.quiz.forms.notebook import write as write_notebook
from clearhead.quiz.sheet import blank_cells
from tests.quiz_keys import answer_lines

needs_pdflatex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex on this machine")


@pytest.fixture(scope="module")
def sheet() -> QuizSheet:
    return draw_sheet(QuizRequest("self-attention", 2, seed=7))


def num_blanks(sheet: QuizSheet) -> int:
    return sum(len(blank_cells(step)) for step in sheet.view.steps)


def answers(sheet: QuizSheet) -> list[str]:
    return [text for line in answer_lines(sheet) for row in line.cells for text in row if text]


def test_markdown_has_the_number_the_instructions_the_blanks_and_the_rules(sheet: QuizSheet) -> None:
    text = sheet_markdown(sheet, False)
    assert f"\nSheet: {sheet.number}\n" in text
    assert text.count(r"\_\_\_\_ |") == num_blanks(sheet)
    assert "- Use √2 = 1.4142, or more digits." in text
    assert "no scaling" not in text  # a hint for a student; the key has it
    assert "no scaling (S′)" in sheet_markdown(sheet, True)
    key = sheet_markdown(sheet, True)
    assert "(solution)" in key.splitlines()[0]
    assert r"\_\_\_\_ |" not in key
    assert all(answer in key for answer in answers(sheet))


def test_a_decimal_comma_changes_every_number_and_nothing_else(sheet: QuizSheet) -> None:
    point, comma = (sheet_markdown(sheet, True, decimal) for decimal in ("point", "comma"))
    assert not re.search(r"\d\.\d", comma)
    assert comma.replace(",", ".") == point.replace(",", ".")
    assert sheet.number in comma
    assert with_decimal_sign("1.5 and 2. End", "comma", "{,}") == "1{,}5 and 2. End"


@needs_pdflatex
@pytest.mark.parametrize("is_key", [False, True])
def test_latex_compiles(sheet: QuizSheet, tmp_path: Path, is_key: bool) -> None:
    text = write_latex(sheet, is_key, "comma").decode()
    (tmp_path / "sheet.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-draftmode", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "sheet.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, env={**os.environ}, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_latex_has_the_blanks_and_keeps_its_lengths(sheet: QuizSheet) -> None:
    text = write_latex(sheet, False, "comma").decode()
    assert text.count(r"\underline{") == num_blanks(sheet)
    assert "1{,}4142" in text
    assert r"\rule{60mm}{0.4pt}" in text
    assert "no scaling" not in text  # a hint for a student; the key has it
    assert "no scaling (S')" in write_latex(sheet, True, "comma").decode()
    assert "U+" not in text
    assert r"\renewcommand{\arraystretch}{1.7}" in text
    assert r"\underline{" not in write_latex(sheet, True, "point").decode()


def test_html_is_a_page_to_work_in_and_its_key_a_worksheet(sheet: QuizSheet) -> None:
    page, key = write_html(sheet, False, "point").decode(), write_html(sheet, True, "comma").decode()
    assert page.startswith("<!DOCTYPE html>")
    assert sheet.number in page
    assert "(solution)" in key
    assert "At this rounding the answers differ" in key
    numbers = [answer.replace(".", ",") for answer in answers(sheet)]
    assert all(number in key for number in numbers)


def test_json_has_the_problem_and_only_the_key_has_answers(sheet: QuizSheet) -> None:
    blank, key = (json.loads(write_form(sheet, "json", is_key=is_key)) for is_key in (False, True))
    assert blank["number"] == sheet.number
    assert blank["problem"] == json.loads(json.dumps(sheet.problem))
    assert not any("answers" in line for line in blank["asked"])
    assert [answer for line in key["asked"] for answer in line["answers"]] == answers(sheet)
    assert sum(len(line["cells"]) for line in blank["asked"]) == num_blanks(sheet)


def run_code(notebook: Any) -> Any:
    """Run the cells of a notebook and return the value of the last line."""
    names: dict[str, Any] = {}
    *first, last = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    for source in first:
        exec(source, names)
    statements, _, expression = last.rpartition("\n")
    exec(statements, names)
    return eval(expression, names)


@pytest.mark.parametrize("blanks", ["all", "row"])
def test_a_notebook_is_valid_and_its_key_marks_itself_with_full_marks(blanks: str) -> None:
    sheet = draw_sheet(QuizRequest("masked-self-attention", 2, seed=5, blanks=blanks))
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    for is_key in (False, True):
        notebook = nbformat.reads(write_notebook(sheet, is_key, "point").decode(), 4)
        nbformat.validate(notebook)
        sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        assert sum(source.count("...") for source in sources) == (0 if is_key else num_blanks(sheet))
    report = run_code(notebook)
    assert (report.earned, report.has_error) == (report.out_of, False)


def test_an_empty_notebook_says_that_no_cell_is_filled_in(sheet: QuizSheet) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    notebook = nbformat.reads(write_notebook(sheet, False, "point").decode(), 4)
    with pytest.raises(QuizError, match="no cell of sheet"):
        run_code(notebook)


def test_a_key_file_gives_the_sheet_back(sheet: QuizSheet, tmp_path: Path) -> None:
    path = tmp_path / f"{sheet.number}.key.json"
    path.write_bytes(write_form(sheet, "json", is_key=True))
    for again in (load_key(path), load_numbered_key(sheet.number.upper(), tmp_path)):
        assert (again.number, again.blanks, again.told_apart) == (sheet.number, sheet.blanks, sheet.told_apart)
        assert answers(again) == answers(sheet)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is not a key file. Draw the sheet again with its key."),
        ("[1]", "is not a key file."),
        ('{"clearhead_quiz": 2}', "is not a key file."),
        ("[" * 100_000, "is not a key file."),
        (None, "cannot be read: No such file or directory. Give a key file (NUMBER.key.json)."),
    ],
)
def test_a_damaged_key_file_gets_one_sentence(tmp_path: Path, content: str | None, sentence: str) -> None:
    path = tmp_path / "x.key.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(QuizError) as caught:
        load_key(path)
    assert sentence in str(caught.value)


def test_a_number_without_a_key_file_and_an_unknown_form_get_one_sentence(sheet: QuizSheet, tmp_path: Path) -> None:
    with pytest.raises(QuizError, match=r"has no key file of sheet trace-v1-00-A"):
        load_numbered_key("trace-v1-00-A", tmp_path)
    with pytest.raises(QuizError, match=r"cannot be read: No such file or directory. Give a folder of key files"):
        load_numbered_key("trace-v1-00-A", tmp_path / "none")
    with pytest.raises(QuizError, match=r"'markdwn' is not a form of a single sheet. Did you mean 'markdown'\?"):
        write_form(sheet, "markdwn")
    assert set(SUFFIXES) == {"markdown", "latex", "html", "json", "notebook", "moodle"}
    assert told_apart_sentence(sheet).startswith("At this rounding the answers differ from what these wrong rules give")
