"""What solve and quiz print is read back: the same lines, the same digits, and a changed number in its line."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from clearhead.check.line_words import symbol_key
from clearhead.check.marker import mark_all
from clearhead.exercises.check.read.number import read_cell
from clearhead.exercises.check.read.workings import read_workings
from clearhead.exercises.sheet.build import sheet_of
from clearhead.exercises.sheet.sheet import SheetLine
from clearhead.quiz import QuizRequest, draw_sheet, quiz_kinds
from clearhead.worksheet.reading import gallery, read_data
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from clearhead.worksheet.view import MAX_COLUMNS, MAX_ROWS, SheetView
from clearhead.worksheet.worksheet import Detail, Worksheet
from tests.unit.exercises.check.read.printed import FORMS, cells_of, plain, printed, read_back

TABLES = ("csv", "xlsx")  # they have no sums of cells
# Three tokens whose names are letters, symbols, words with blanks, and a number.
NAMES = (["I", "a", "Σ"], ["z₁", "Q", "the cat"], ["2", "row", "x, y"])


def is_shown_in_full(line: SheetLine) -> bool:
    height, width = line.shape
    return height <= MAX_ROWS and width <= MAX_COLUMNS


def lost_lines(worksheet: Worksheet, form: str, detail: Detail = "matrices") -> list[str]:
    """Return the lines that are not read back with their digits, and the notes on numbers that were not read."""
    page = read_back(printed(worksheet, form, detail), form, worksheet)
    written: dict[tuple[str, str], list[list[list[float]]]] = {}
    for line in page.lines:
        if not line.copied_into:
            written.setdefault((symbol_key(line.name), line.where), []).append(values(cells_of(line)))
    lost = [
        line.id
        for line in sheet_of(SheetView(worksheet)).steps
        if is_shown_in_full(line)
        and values([[plain(text) for text in row] for row in line.texts])
        not in written.get((symbol_key(line.symbol), line.where), [])
    ]
    return lost + [note.sentence for note in page.notes if note.kind == "unplaced"]


def values(cells: list[list[str]]) -> list[list[float]]:
    return [[read_cell(cell).value for cell in row] for row in cells]


def attention(**changes: Any) -> dict[str, Any]:
    x = [[1, 0.5, -1], [0, 2, 0.5], [1.5, 1, 1]]
    return {"kind": "self-attention", "X": x, "W_Q": x, "W_K": x[::-1], "W_V": x, "scale": "sqrt(d_k)", **changes}


@pytest.mark.parametrize("form", FORMS)
def test_every_exercise_of_the_gallery_is_read_back(form: str) -> None:
    assert {name: lost for name in gallery() if (lost := lost_lines(solve(name), form))} == {}


@pytest.mark.parametrize("form", FORMS)
def test_names_of_tokens_layouts_and_decimals_do_not_matter(form: str) -> None:
    for tokens in NAMES:
        for layout in ("rows", "columns"):
            worksheet = solve(attention(tokens=tokens, layout=layout))
            assert lost_lines(worksheet, form) == [], (tokens, layout)
    for rounding in (Rounding(decimals=2), Rounding(decimals=1, lines="rounded"), Rounding(significant=3)):
        assert lost_lines(solve(attention(), rounding), form) == [], rounding


@pytest.mark.parametrize("form", [form for form in FORMS if form not in TABLES])
def test_the_sums_of_all_cells_are_no_other_lines(form: str) -> None:
    for name in ("exam-self-attention", "lets-go-encoder", "seq2seq-multiplicative", "norms"):
        assert lost_lines(solve(name), form, "products") == [], name


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", quiz_kinds())
def test_every_practice_sheet_is_read_back_in_every_detail(kind: str, form: str) -> None:
    for difficulty in (1, 2, 3):
        worksheet = draw_sheet(QuizRequest(kind, difficulty, 7)).worksheet
        for detail in ("matrices",) if form in TABLES else ("matrices", "products"):
            assert lost_lines(worksheet, form, detail) == [], (difficulty, detail)


def changed_sheets(name: str, seed: int) -> Iterator[tuple[str, SheetLine, tuple[int, int]]]:
    """Yield an exercise in which one number of one line is changed by three units or more."""
    chance = random.Random(seed)
    for place, line in enumerate(sheet_of(SheetView(solve(name))).steps):
        if is_shown_in_full(line) and np.asarray(line.values).dtype.kind == "f":
            yield str(place), line, (chance.randrange(line.shape[0]), chance.randrange(line.shape[1]))


@pytest.mark.parametrize("form", FORMS)
def test_a_changed_number_is_read_as_changed_in_its_line(form: str) -> None:
    for name in ("exam-self-attention", "lets-go-encoder", "norms"):
        for place, line, (row, column) in changed_sheets(name, 1):
            worksheet = solve(name)
            value = worksheet.trace[int(place)].value
            value.flags.writeable = True
            value[row, column] += 7.0
            page = read_back(printed(worksheet, form), form, solve(name))
            own = [
                entry
                for entry in page.lines
                if (symbol_key(entry.name), entry.where) == (symbol_key(line.symbol), line.where)
            ]
            read = [read_cell(plain(entry.cells[row][column])).value for entry in own if len(entry.cells) > row]
            assert any(abs(number - float(line.values[row, column]) - 7.0) < 0.01 for number in read), (name, line.id)


@pytest.mark.parametrize("form", FORMS)
def test_a_faultless_sheet_gets_full_marks_and_no_remark(form: str) -> None:
    for name in set(gallery()) - {"positions"}:  # a matrix of positions is only shown in part
        problem = read_data(gallery()[name].read_bytes())
        (report,) = mark_all(read_workings(printed(solve(name), form), f".{form}", problem))
        assert (report.earned, report.findings, report.notes) == (report.out_of, (), ()), name


def test_the_exercise_is_known_by_the_id_on_the_sheet() -> None:
    worksheet = solve("exam-self-attention")
    for form in FORMS:
        (report,) = mark_all(read_workings(printed(worksheet, form), f".{form}"))
        assert report.earned == report.out_of > 0, form
