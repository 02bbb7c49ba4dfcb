"""`clearhead quiz`: sheets to standard output, files and folders, and one sentence for every wrong setting."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clearhead.quiz import QuizRequest, draw_sheet
from clearhead.quiz.forms import write_form
from clearhead.worksheet.solver import solve
from tests.command import run

SHEET = draw_sheet(QuizRequest("softmax", 2, 7))


def test_a_sheet_its_number_and_its_key() -> None:
    drawn = run("quiz", "softmax", "--difficulty", "2", "--seed", "7")
    assert drawn.returncode == 0
    assert drawn.stdout == write_form(SHEET, "markdown").decode()
    assert run("quiz", "--number", SHEET.number.upper()).stdout == drawn.stdout
    key = run("quiz", "--number", SHEET.number, "--solutions", "--decimal", "comma")
    assert key.stdout == write_form(SHEET, "markdown", is_key=True, decimal="comma").decode()


@pytest.mark.parametrize("form", ["latex", "html", "json", "notebook"])
def test_the_form_is_an_option_or_the_suffix_of_the_file(form: str, tmp_path: Path) -> None:
    suffix = {"latex": "tex", "html": "html", "json": "json", "notebook": "ipynb"}[form]
    path = tmp_path / f"sheet.{suffix}"
    assert run("quiz", "--number", SHEET.number, "-o", str(path)).returncode == 0
    assert path.read_bytes() == write_form(SHEET, form)
    assert run("quiz", "--number", SHEET.number, "--format", form).stdout.encode() == path.read_bytes()


def test_several_sheets_are_written_to_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    done = run("quiz", "context", "--difficulty", "2", "--count", "3", "--seed", "5", "-o", str(folder))
    assert done.returncode == 0
    assert f"{folder}: 3 sheets, keys and an index" in done.stderr
    assert len(list(folder.glob("context-2-5-0?*.md"))) == 6
    assert (folder / "index.md").is_file()


def test_a_course_platform_gets_one_file(tmp_path: Path) -> None:
    moodle = tmp_path / "sheets.xml"
    done = run("quiz", "softmax", "--difficulty", "1", "--count", "2", "--seed", "3", "-o", str(moodle))
    assert done.returncode == 0, done.stderr
    assert ElementTree.parse(moodle).getroot().tag == "quiz"


def test_a_sheet_from_a_trace_keeps_a_key_file(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_bytes(solve("exam-self-attention").to_json())
    sheet = tmp_path / "sheet.md"
    where = next(record.where for record in solve("exam-self-attention").trace if record.step.name == "score")
    assert run("quiz", "--from-trace", str(trace), "--where", where, "-o", str(sheet)).returncode == 0
    (key,) = tmp_path.glob("trace-*.key.json")
    number = json.loads(key.read_bytes())["number"]
    again = run("quiz", "--number", number, "--keys", str(tmp_path))
    assert again.stdout == sheet.read_text(encoding="utf-8")


def test_the_kinds_are_listed() -> None:
    assert "self-attention\n  1: " in run("quiz", "--list").stdout
    kinds = json.loads(run("quiz", "--list", "--json").stdout)
    assert len(kinds) == 19
    assert all(len(entry["difficulties"]) == 3 for entry in kinds)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["self-atention"], "'self-atention' is not a kind of exercise. Did you mean 'self-attention'?"),
        ([], "quiz needs a kind of exercise"),
        (["softmax", "--difficulty", "4"], "difficulty = 4 is not possible. Choose 1, 2 or 3 (--difficulty)."),
        (["softmax", "--decimals", "9"], "decimals = 9 is out of range. Give an integer from 1 to 4 (--decimals)."),
        (["softmax", "--count", "3"], "3 sheets need a folder. Give the name of a folder (--output)."),
        (["softmax", "--count", "3", "-o", "x.md"], "3 sheets need a folder, and x.md is the name of a file."),
        (["softmax", "-o", "x.pdf"], "x.pdf: .pdf is not the suffix of a format that can be written here."),
        (["softmax", "--count", "1000", "-o", "x"], "count = 1000 is not possible."),
        (["--number", "softmax-2-7-01-v1-B"], "the check letter B does not fit the rest"),
        (["--number", "nonsense"], "'nonsense' is not the number of a sheet."),
        (["--number", "trace-v1-0a1b2c3d-K"], "has no key file of sheet trace-v1-0a1b2c3d-K"),
        (["softmax", "--number", SHEET.number], "--number says which sheet it is, so softmax cannot be given as well."),
        (["--from-trace", "x.json"], "--from-trace needs the path of a head (--where)."),
        (["softmax", "--where", "encoder.0"], "--where is only for a sheet from a trace."),
        (
            ["softmax", "--format", "moodle", "-o", "x"],
            "--format moodle writes one file with all sheets. Give its name",
        ),
        (["--number", SHEET.number, "--format", "moodle"], "--format moodle needs sheets that are drawn."),
    ],
)
def test_a_wrong_setting_gets_one_sentence_and_writes_nothing(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    done = run("quiz", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["markdown", "html", "notebook", "moodle"])
def test_quiz_never_loads_torch(form: str) -> None:
    code = (
        "import sys, clearhead.cli.main as m\n"
        f"sys.argv = ['clearhead', 'quiz', 'softmax', '--format', {form!r}]\n"
        "m.build_app(('quiz',))(standalone_mode=False)\n"
        "heavy = {'torch', 'pandas', 'matplotlib', 'scipy', 'openpyxl'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
