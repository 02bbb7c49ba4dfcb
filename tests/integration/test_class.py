"""A class with practice sheets, from the command line to the pages: marks by number, questions asked, nothing guessed."""

import csv
import io
import subprocess
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml

from clearhead.cli.check_class import ClassOutputs
from clearhead.quiz.draw import draw_sheets
from clearhead.quiz.request import QuizRequest
from clearhead.quiz.sheet import QuizSheet
from tests.command import run
from tests.integration.browser import CHROMIUM, serious_faults
from tests.quiz_keys import answer_lines

NAMES = ["Ada", "Ben", "Chen", "Dora", "Emil", "Fatima", "Gus", "Hana", "Ivan", "Jo", "Kofi", "Lena"]
Lines = dict[str, list[list[str]]]


def right_lines(sheet: QuizSheet) -> Lines:
    return {line.name: [list(row) for row in line.cells] for line in answer_lines(sheet)}


def unscaled(lines: Lines) -> Lines:
    """Return a working that forgets to divide the scores, and goes on from there."""
    import numpy as np

    scores, values = (np.array(lines[name], dtype=float) for name in ("S", "V"))
    powers = np.exp(scores)
    weights = np.round(powers / powers.sum(axis=1, keepdims=True), 3)
    texts = ([[f"{cell:.3f}" for cell in row] for row in matrix] for matrix in (weights, weights @ values))
    return {**lines, "S′": lines["S"], **dict(zip(("A", "Z"), texts, strict=True))}


def hand_in(folder: Path, name: str, number: str, lines: Lines) -> None:
    content = {"student": name, **({"sheet": number} if number else {}), "written": lines}
    text = yaml.safe_dump(content, allow_unicode=True, sort_keys=False)
    (folder / f"{name.lower()}.yaml").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Twelve students with twelve variants, some of whom err in known ways; their class is marked."""
    room = tmp_path_factory.mktemp("school")
    folder = room / "monday"
    folder.mkdir()
    sheets = draw_sheets(QuizRequest("self-attention", 2, 7), len(NAMES))
    for name, sheet in zip(NAMES, sheets, strict=True):
        lines = right_lines(sheet)
        if name in ("Ben", "Chen", "Dora"):
            lines = unscaled(lines)
        elif name == "Emil":
            lines["Z"][0][0] = "9.999"
        elif name == "Hana":
            del lines["Z"]
        elif name == "Ivan":
            lines = right_lines(sheets[0])  # the numbers of Ada, whose sheet is another one
        hand_in(folder, name, "" if name == "Jo" else sheet.number, lines)
        if name == "Gus":
            (folder / "gus.yaml").write_text("[1, 2", encoding="utf-8")
        elif name == "Kofi":  # a mistyped letter
            path = folder / "kofi.yaml"
            path.write_text(path.read_text("utf-8").replace(sheet.number, f"{sheet.number[:-1]}?"), encoding="utf-8")
    (folder / "lena2.yaml").write_text((folder / "lena.yaml").read_text("utf-8"), encoding="utf-8")
    return room, run("check", "monday", "--csv", "grades.csv", "--xlsx", "grades.xlsx", cwd=room)


def rows(room: Path) -> dict[str, dict[str, str]]:
    table = csv.DictReader(io.StringIO((room / "grades.csv").read_text(encoding="utf-8")))
    return {row["file"].removesuffix(".yaml"): row for row in table}


def test_every_returned_sheet_is_marked_against_its_own_variant(
    school: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    room, done = school
    grades = rows(room)
    assert done.returncode == 1
    assert {name: grades[name]["marks"] for name in ("ada", "fatima", "lena")} == dict.fromkeys(
        ("ada", "fatima", "lena"), "14"
    )
    assert {grades[name]["marks"] for name in ("ben", "chen", "dora")} == {"12"}
    assert grades["hana"]["marks"] == "12"
    assert len({grades[name.lower()]["sheet"] for name in NAMES if grades[name.lower()]["sheet"]}) == 9
    assert '3 × misconception "no scaling" in S′ (Self-attention)' in done.stdout
    assert "wrong numbers of Ivan are the numbers of Ada, who has another variant" in done.stdout
    assert "Lena: lena.yaml, lena2.yaml" in done.stdout


def test_what_cannot_be_matched_is_asked_about_in_one_sentence(
    school: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    grades = rows(school[0])
    assert grades["jo"]["cannot be used"].startswith("problem is missing. Add 'sheet:' with the number of a practice")
    assert "is not the number of a sheet. A number looks like" in grades["kofi"]["cannot be used"]
    assert "not YAML" in grades["gus"]["cannot be used"]
    assert [grades[name]["marks"] for name in ("gus", "jo", "kofi")] == ["", "", ""]


def test_the_spreadsheet_has_the_same_marks(school: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    room, _ = school
    sheet = openpyxl.load_workbook(room / "grades.xlsx")["Grades"]
    head, *table = list(sheet.iter_rows(values_only=True))
    marks = {str(row[0]).removesuffix(".yaml"): row[head.index("marks")] for row in table}
    shown = {name: "" if mark is None else f"{mark:g}" for name, mark in marks.items()}
    assert shown == {name: row["marks"] for name, row in rows(room).items()}
    assert isinstance(marks["ada"], int | float), "a number, and not a text"


def test_marking_again_gives_the_same_files(school: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    room, _ = school
    files = [room / "grades.csv", room / "grades.xlsx", *sorted((room / "reports").iterdir())]
    before = {path.name: path.read_bytes() for path in files}
    run("check", "monday", "--csv", "grades.csv", "--xlsx", "grades.xlsx", cwd=room)
    assert {path.name: path.read_bytes() for path in files} == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("empty",), "empty contains no workings. Put one file for each student into it"),
        (("monday", "--xlsx", "nowhere/grades.xlsx"), "--xlsx nowhere/grades.xlsx cannot be written"),
        (("monday", "--xlsx", "monday/ada.yaml"), "--xlsx monday/ada.yaml is in the folder of the workings"),
        (("monday", "--keys", "nowhere"), "nowhere is not a folder of key files"),
        (("monday/ada.yaml", "--xlsx", "grades.xlsx"), "--csv, --xlsx and --reports are for a folder of workings"),
    ],
)
def test_wrong_arguments_are_one_sentence_and_write_nothing(
    school: tuple[Path, subprocess.CompletedProcess[str]], arguments: tuple[str, ...], sentence: str
) -> None:
    room, _ = school
    (room / "empty").mkdir(exist_ok=True)
    before = {path: path.stat().st_mtime_ns for path in room.rglob("*") if path.is_file()}
    done = run("check", *arguments, cwd=room)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
    assert {path: path.stat().st_mtime_ns for path in room.rglob("*") if path.is_file()} == before


def test_the_names_of_the_outputs_follow_the_options() -> None:
    from clearhead.cli.check import ReportFormat, ReportOptions

    outputs = ClassOutputs.of(ReportOptions(xlsx=Path("out/grades.xlsx")))
    assert (outputs.to, outputs.has_pages) == (Path("out/reports"), True)
    assert not ClassOutputs.of(ReportOptions(form=ReportFormat.json)).has_pages
    assert outputs.report(Path("monday/ada.md")) == Path("out/reports/ada.md.html")


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("name", ["index.html", "projected.html"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_the_pages_of_a_class_fit_the_screen_and_axe_finds_no_serious_fault(
    school: tuple[Path, subprocess.CompletedProcess[str]], browser: Any, name: str, width: int, scheme: str
) -> None:
    room, _ = school
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto((room / "reports" / name).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious_faults(page) == []
    assert complaints == []
    if name == "index.html":
        page.get_by_role("link", name="Ben").click()
        assert "no scaling" in page.locator("main").inner_text()
    context.close()
