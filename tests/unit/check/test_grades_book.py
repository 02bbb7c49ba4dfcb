"""The grades as a spreadsheet: numbers are numbers, names are text, and equal grades give equal bytes."""

import io
from pathlib import Path

import openpyxl
import pytest

from clearhead.check.grades_book import grades_xlsx, is_grades_book
from tests.unit.check.school import ONE, TWO, hand_in, mark


def sheets(content: bytes) -> dict[str, list[tuple[object, ...]]]:
    book = openpyxl.load_workbook(io.BytesIO(content))
    return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets}


def test_the_first_sheet_has_a_row_for_each_student_and_the_second_one_for_each_line(tmp_path: Path) -> None:
    hand_in(tmp_path, "Ada", ONE)
    hand_in(tmp_path, "Ben", TWO, A=None)
    (tmp_path / "cy.yaml").write_text("[1, 2")
    tables = sheets(grades_xlsx(mark(tmp_path)))
    head, ada, ben, cy = tables["Grades"]
    row = dict(zip(head, ada, strict=True))
    assert (row["student"], row["marks"], row["out of"], row["percent"], row["sheet"]) == ("Ada", 6, 6, 100, ONE)
    assert row["A (Self-attention)"] == 2
    assert dict(zip(head, ben, strict=True))["marks"] == 4
    assert dict(zip(head, cy, strict=True))["marks"] is None
    assert "not YAML" in str(dict(zip(head, cy, strict=True))["cannot be used"])
    assert tables["Lines"][0][:3] == ("exercise", "line", "right")
    assert [line[1:3] for line in tables["Lines"][1:]] == [
        ("Q (Self-attention)", 2),
        ("S (Self-attention)", 2),
        ("A (Self-attention)", 1),
    ]


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1+2", "-2+3", "@SUM(A1)"])
def test_a_name_that_looks_like_a_formula_is_text(tmp_path: Path, name: str) -> None:
    hand_in(tmp_path, "Ada", ONE)
    path = tmp_path / "ada.yaml"
    path.write_text(path.read_text().replace("student: Ada", f"student: '{name.replace(chr(39), chr(39) * 2)}'"))
    book = openpyxl.load_workbook(io.BytesIO(grades_xlsx(mark(tmp_path))))
    cell = book["Grades"]["B2"]
    assert (cell.value, cell.data_type, cell.quotePrefix) == (name, "s", True)


def test_equal_grades_give_equal_bytes_and_are_recognised(tmp_path: Path) -> None:
    hand_in(tmp_path, "Ada", ONE)
    content = grades_xlsx(mark(tmp_path))
    assert content == grades_xlsx(mark(tmp_path))
    assert is_grades_book(content)
    assert not is_grades_book(b"PK\x03\x04 nothing")
    other = io.BytesIO()
    openpyxl.Workbook().save(other)
    assert not is_grades_book(other.getvalue()), "a student's spreadsheet"
