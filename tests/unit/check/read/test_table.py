"""Workings in tables: blocks to the right of a name or below it, and nothing is dropped silently."""

import io
import zipfile
from datetime import date
from pathlib import Path

import openpyxl
import pytest

from clearhead.check.limits import MAX_TABLE_CELLS
from clearhead.check.read.reading import load_workings
from clearhead.check.read.spreadsheet import read_xlsx, shown_text
from clearhead.check.read.table import read_csv
from clearhead.check.working import WrittenLine
from clearhead.errors import ProblemError


def lines(text: str) -> list[tuple[str, tuple[tuple[str, ...], ...]]]:
    return [(line.name, line.cells) for line in read_csv(text.encode()).lines]


def book(*cells: tuple[str, object, str]) -> bytes:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    assert sheet is not None
    for place, value, number_format in cells:
        sheet[place] = value
        sheet[place].number_format = number_format
    file = io.BytesIO()
    workbook.save(file)
    return file.getvalue()


def test_a_matrix_is_to_the_right_of_its_name_or_below_it():
    assert lines("Q,0.50,1.2\n,0.8,2.1\n\nA\n0.43,0.57\n0.10,0.90\n") == [
        ("Q", (("0.50", "1.2"), ("0.8", "2.1"))),
        ("A", (("0.43", "0.57"), ("0.10", "0.90"))),
    ]


def test_blocks_separated_by_names_need_no_empty_row_between_them():
    assert lines("Q,1,2\n,3,4\nK,5,6\n,7,8\n") == [("Q", (("1", "2"), ("3", "4"))), ("K", (("5", "6"), ("7", "8")))]
    assert lines("Q\n1,2\n3,4\nK,5,6\n") == [("Q", (("1", "2"), ("3", "4"))), ("K", (("5", "6"),))]


def test_blocks_side_by_side_are_separated_by_an_empty_column_or_by_their_names():
    assert lines("Q,1,2,,K,5,6\n,3,4,,,7,8\n") == [("Q", (("1", "2"), ("3", "4"))), ("K", (("5", "6"), ("7", "8")))]
    assert lines("Q,K\n1,2\n3,4\n") == [("Q", (("1",), ("3",))), ("K", (("2",), ("4",)))]


def test_an_empty_cell_inside_a_block_stays_empty():
    assert lines("Q,1,\n,3,4\n") == [("Q", (("1", ""), ("3", "4")))]


def test_a_matrix_with_labels_for_rows_and_columns_is_named_by_its_corner():
    table = read_csv(b"A,I,am\nI,1,0\nam,0.5,0.5\n")
    assert table.lines == (WrittenLine("A", (("1", "0"), ("0.5", "0.5")), place="row 1"),)
    assert [note.kind for note in table.notes] == ["read"], "leaving words out is told"


def test_a_heading_has_the_place_and_the_line_it_was_copied_into():
    table = read_csv(b"cross: Q,1\n\nQ into scores,2\n\nK:,3\n")
    assert [(line.name, line.where, line.copied_into) for line in table.lines] == [
        ("Q", "cross", ""),
        ("Q", "", "scores"),
        ("K", "", ""),
    ]


def test_rows_such_as_student_are_entries_and_not_lines():
    table = read_csv(b"problem,exam-self-attention\nstudent: Ada\nrounded,W_Q,W_K\ntitle,T\nstudent,Bob\nQ,1\n")
    assert table.entries == {
        "problem": "exam-self-attention",
        "student": "Ada",
        "rounded": "W_Q W_K",
        "title": "T",
    }
    assert [line.name for line in table.lines] == ["Q"]
    assert [(note.kind, note.place) for note in table.notes] == [("warning", "row 5")], "said twice"


def test_cells_without_a_name_are_reported_with_their_row():
    table = read_csv(b"Q,1\n\n0.7,0.8\n\nfoo\n")
    assert [(note.kind, note.place) for note in table.notes] == [("unplaced", "row 3"), ("unplaced", "row 5")]
    assert "'0.7', '0.8'" in table.notes[0].sentence


def test_many_rows_without_a_name_are_partly_listed_and_the_rest_is_counted():
    notes = read_csv(b"Q,1\n\n" + b"7\n\n" * 60).notes
    assert len(notes) == 51, "fifty rows, and how many more"
    assert notes[-1].sentence.startswith("10 more rows")


@pytest.mark.parametrize(
    ("text", "has_comma"),
    [
        ("Q;0,5;0,6\n;1,2;3\n", True),
        ("Q\t0,5\t0,6\n", True),
        ("Q;0.5;0.6\n", False),
        ("Q;0.5;0,6\n", False),
        ("Q,0.5,0.6\n", False),
        ("decimal;comma\nQ;1;2\n", True),
        ("decimal;point\nQ;0,5\n", False),
    ],
)
def test_commas_are_decimal_if_every_number_has_one_or_the_table_declares_it(text, has_comma):
    table = read_csv(text.encode())
    assert table.has_decimal_comma is has_comma
    assert table.lines[0].name == "Q"
    is_told = any("comma" in note.sentence for note in table.notes)
    assert is_told == (has_comma and "decimal" not in text), "what was only inferred is told"


def test_tables_in_other_encodings_are_read():
    assert read_csv("Q\t−0.5\n".encode("utf-16")).lines[0].cells == (("−0.5",),)
    assert read_csv(b"\xef\xbb\xbfQ,1\n").lines[0].name == "Q"
    with pytest.raises(ProblemError, match="row 2 is not UTF-8"):
        read_csv(b"Q,1\n\xff,2\n")


def test_a_number_that_cannot_be_read_stays_in_its_block():
    assert lines("Q,0.2?,O.26\n") == [("Q", (("0.2?", "O.26"),))]


def test_control_characters_in_names_are_escaped():
    table = read_csv(b"\x1b[31mQ,1\n<b>,2\nQ\x1b[31m,3\n")
    text = str(table)
    assert "\x1b" not in text
    assert "Q\\x1b[31m" in [line.name for line in table.lines]


@pytest.mark.parametrize(
    "content",
    [
        b"," * (5 * MAX_TABLE_CELLS),
        b"\n" * (5 * MAX_TABLE_CELLS),
        b"Q," + b"1," * (MAX_TABLE_CELLS + 1),
        b"".join(b"," * min(i, 1500) + b"1\n" for i in range(1500)).replace(b"1\n", b"Q,1\n", 1),
    ],
    ids=["columns", "rows", "cells", "a diagonal"],
)
def test_a_table_that_is_too_large_is_rejected(content):
    with pytest.raises(ProblemError, match="contains more than 50,000 cells"):
        read_csv(content)


def test_a_field_that_is_too_long_is_rejected():
    with pytest.raises(ProblemError, match="is not a readable table"):
        read_csv(b'Q,"' + b"1" * 200_000)


def test_many_names_without_numbers_are_read_in_reasonable_time():
    assert read_csv(b"a," * 20_000 + b"\n" + b"a," * 20_000).lines == (), "a square of the width would never end"
    assert len(read_csv(b"a,1\n" * 20_000).lines) == 20_000


def test_a_spreadsheet_keeps_the_decimals_that_it_shows():
    content = book(
        ("A1", "Q", "General"),
        ("B1", 0.5, "0.00"),
        ("C1", 0.125, "0.00"),
        ("B2", 1, "General"),
        ("C2", 0.1 + 0.2, "General"),
        ("A4", "student", "General"),
        ("B4", "Ada", "General"),
    )
    table = read_xlsx(content)
    assert table.lines == (WrittenLine("Q", (("0.50", "0.13"), ("1", "0.3")), place="row 1"),)
    assert table.entries == {"student": "Ada"}


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (0.5, "General", "0.5"),
        (1 / 3, "General", "0.333333333333333"),
        (5, "0.0", "5.0"),
        (-0.125, "0.00", "-0.13"),
        (0.265, "0%", "27%"),
        (0.265, "0.0%", "26.5%"),
        (0.00012, "0.00E+00", "1.20e-4"),
        (1234.5, "#,##0.00", "1234.50"),
        (0.5, '0.00" kg"', "0.50"),
        (0.5, "0.00;[Red]-0.00", "0.50"),
        (0.5, "0.##", "0.5"),
        (0.5, "# ?/?", "0.5"),
        (1e300, "0.00", "1e+300"),
        (True, "General", "True"),
    ],
)
def test_a_number_is_shown_in_its_format(value, number_format, text):
    assert shown_text(value, number_format) == text


def test_a_formula_is_refused_with_its_cell():
    with pytest.raises(ProblemError, match=r"cell B4 of sheet 'Sheet' contains a formula.*paste them as values"):
        read_xlsx(book(("A4", "Q", "General"), ("B4", "=1+1", "General")))


def test_a_date_is_reported_because_a_spreadsheet_may_have_converted_a_fraction():
    table = read_xlsx(book(("A1", "Q", "General"), ("B1", date(2024, 3, 2), "yyyy-mm-dd"), ("C1", 1, "General")))
    assert [note.kind for note in table.notes] == ["warning"]
    assert "B1" in table.notes[0].sentence
    assert table.lines[0].cells[0][1] == "1", "the cell keeps its place"


def test_two_sheets_are_read_together_and_named():
    workbook = openpyxl.Workbook()
    workbook.active.append(["Q", 1])
    workbook.create_sheet("more").append(["K", 2])
    file = io.BytesIO()
    workbook.save(file)
    assert [(line.name, line.place) for line in read_xlsx(file.getvalue()).lines] == [
        ("Q", "sheet Sheet, row 1"),
        ("K", "sheet more, row 1"),
    ]


def test_a_file_that_is_a_spreadsheet_only_by_name_is_rejected(tmp_path: Path):
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"Q,1\n")
    with pytest.raises(ProblemError, match=r"a.xlsx: is not an .xlsx file, despite its name"):
        load_workings(path, "bank")
    with pytest.raises(ProblemError, match="old or a password-protected Excel file"):
        read_xlsx(b"\xd0\xcf\x11\xe0" + bytes(600))


def archive(parts: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return file.getvalue()


def test_a_zip_bomb_is_refused_before_it_is_unpacked():
    content = archive({"xl/worksheets/sheet1.xml": bytes(80 * 2**20)})
    assert len(content) < 2**20, "small on disk"
    with pytest.raises(ProblemError, match="unpacks to 80 MiB"):
        read_xlsx(content)


def test_entities_that_expand_are_rejected():
    with pytest.raises(ProblemError, match="declares XML entities"):
        read_xlsx(archive({"xl/workbook.xml": b'<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>'}))


def test_a_broken_spreadsheet_is_refused():
    with pytest.raises(ProblemError, match="is not a readable spreadsheet"):
        read_xlsx(archive({"nothing.txt": b""}))


def test_a_sheet_with_a_far_cell_is_refused():
    with pytest.raises(ProblemError, match="is too large"):
        read_xlsx(book(("A1", "Q", "General"), ("A70000", 1, "General")))


def test_a_number_format_that_no_spreadsheet_allows_is_not_searched() -> None:
    assert shown_text(1.5, "[" * 100_000) == "1.5"  # linear; a search from each bracket to the end took minutes
    assert shown_text(1.5, "[" * 200 + "0.00") == "1.5"
    assert shown_text(1.5, "0." + "0" * 1_000_000 + "E+00") == "1.5"
    assert shown_text(1.5, "[Red][$-409]0.00") == "1.50"
