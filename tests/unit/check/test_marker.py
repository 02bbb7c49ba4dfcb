"""The complete marker: our own worksheets get full marks, and a changed number is found."""

import numpy as np
import pytest

from clearhead import solve
from clearhead.check.marker import mark, mark_all, mark_worksheet
from clearhead.check.working import Note, Working
from clearhead.errors import ProblemError
from clearhead.worksheet.rounding import Rounding
from tests.conftest import SHIPPED
from tests.unit.check.desk import line, marked, verdicts

WORKED = (
    "project",
    "transform",
    "score",
    "add",
    "normalise",
    "position",
    "convolve",
    "mix",
    "length",
    "rotate",
    "multiply",
    "divide",
    "exponentiate",
)


@pytest.mark.parametrize("name", SHIPPED, ids=[name.rpartition("/")[2] for name in SHIPPED])
def test_our_own_worksheet_gets_full_marks(name, all_sheets):
    report = mark_worksheet(all_sheets[name])
    assert report.out_of > 0
    assert report.earned == report.out_of, [finding.what for finding in report.findings]
    assert not report.has_error


@pytest.mark.parametrize("name", SHIPPED, ids=[name.rpartition("/")[2] for name in SHIPPED])
def test_our_own_worksheet_gets_full_marks_if_every_line_is_rounded(name):
    for rounding in (Rounding(lines="rounded", decimals=2), Rounding(lines="rounded", significant=3)):
        report = mark_worksheet(solve(name, rounding))
        assert report.earned == report.out_of > 0, [finding.what for finding in report.findings]
        assert not report.findings


@pytest.mark.parametrize("name", SHIPPED, ids=[name.rpartition("/")[2] for name in SHIPPED])
def test_a_changed_number_is_found_and_no_other_cell_is_blamed(name):
    """One number of the first computed line is changed by a thousandth; all others stay the same."""
    sheet = solve(name, Rounding())
    place = next(i for i, record in enumerate(sheet.trace) if record.step.name in WORKED and record.value.size > 1)
    value = sheet.trace[place].value
    value.flags.writeable = True
    value.flat[1] += 1e-3
    report = mark_worksheet(sheet)
    wrong = {
        (number, cell.row, cell.column)
        for number, line in enumerate(report.lines)
        for cell in line.marked
        if cell.verdict.is_error
    }
    row, column = np.unravel_index(1, value.shape)
    assert wrong == {(place, int(row), int(column))}, [finding.what for finding in report.findings]
    assert report.earned < report.out_of


UNIT = [[1, 0], [0, 1]]
PROBLEM = {"kind": "context", "X": [[1, 2], [3, 4]], "weights": [[0.125, 0.875], [0.5, 0.5]], "layout": "rows"}


def test_a_working_that_names_no_problem_cannot_be_marked():
    with pytest.raises(ProblemError, match="does not name the problem"):
        mark(Working({}, (line("Z", "1 2"),), notes=(Note("read", "Nothing was found."),)))


def test_a_working_without_a_recognised_line_cannot_be_marked():
    with pytest.raises(ProblemError, match="nothing in this working could be marked"):
        mark(Working(PROBLEM, (line("nonsense", "1 2"),)))


def test_a_part_that_cannot_be_marked_does_not_affect_the_others():
    good, bad = Working(PROBLEM, (line("Z", "2.75 3.75 / 2 3"),)), Working(PROBLEM, (line("nonsense", "1 2"),))
    reports = mark_all([good, bad])
    assert [report.earned for report in reports] == [2, 0]
    assert "could not be marked" in reports[1].notes[-1].sentence
    with pytest.raises(ProblemError):
        mark_all([bad, bad])


def test_a_decimal_comma_is_read_if_the_working_declares_it():
    assert verdicts(marked(PROBLEM, {"Z": "2,75 3,75 / 2 3"}, has_decimal_comma=True)) == ["Z cc cc"]
    report = marked(PROBLEM, {"Z": "2,75 3,75 / 2 3"})
    assert verdicts(report) == ["Z ?? cc"]
    assert report.exit_code == 2


def test_a_number_written_twice_is_compared_with_its_first_occurrence():
    """2.75 and then 2.57: the second one is miscopied; a rounding of the first, 2.8, is accepted."""
    twice = Working(PROBLEM, (line("Z", "2.75 3.75 / 2 3"), line("Z", "2.57 3.75 / 2 3")))
    assert verdicts(mark(twice)) == ["Z cc cc", "Z Tc cc"]
    shorter = Working(PROBLEM, (line("Z", "2.75 3.75 / 2 3"), line("Z", "2.8 3.8 / 2 3")))
    assert not mark(shorter).has_error


def test_rows_written_separately_are_joined():
    report = marked(PROBLEM, {"Z[1]": "2.75 3.75", "Z[2]": "2 3"})
    assert verdicts(report) == ["Z cc cc"]
    assert (report.earned, report.out_of) == (2, 2)


def test_tokens_as_columns_are_marked_in_their_own_layout():
    """Q = W_Q X with tokens as columns: W_Q = [[1, 2], [3, 1]], X = [[1, 1], [0, 1]] gives [[1, 3], [3, 4]]."""
    problem = {
        "kind": "self-attention", "X": [[1, 1], [0, 1]], "W_Q": [[1, 2], [3, 1]], "W_K": UNIT, "W_V": UNIT,
        "scale": "none", "mask": "none", "normaliser": "softmax", "layout": "columns",
    }  # fmt: skip
    report = marked(problem, {"Q": "1 3 / 3 5"})
    assert report.layout == "columns"
    assert verdicts(report) == ["Q cc cS"]
    assert report.findings[0].cells == ((1, 1),)
    turned = marked(problem, {"Q": "1 5 / 3 4"})
    assert turned.findings[0].cells == ((0, 1),), "row 1, column 2, as it stands on the sheet"


def test_a_report_has_the_right_number_and_the_truth():
    report = marked(PROBLEM, {"Z": "2.75 3.57 / 2 3"})
    cell = report.lines[0].cells[0][1]
    assert cell is not None
    assert (cell.right, cell.truth) == ("3.75", "3.75")


def test_a_line_with_its_own_symbol_is_not_a_second_writing_of_another_line():
    """O = Z W_O with W_O = 2 0 / 0 2: an O that repeats Z forgets W_O."""
    problem = {
        "kind": "self-attention", "Q": [[1, 2], [3, 1]], "K": [[1, 0], [0, 1]], "V": [[1, 2], [3, 4]],
        "W_O": [[2, 0], [0, 2]], "scale": "none", "mask": "none", "normaliser": "softmax", "layout": "rows",
    }  # fmt: skip
    report = marked(problem, {"Z": "2.46 3.46 / 1.24 2.24", "O": "2.46 3.46 / 1.24 2.24"})
    assert [line.symbol for line in report.lines] == ["Z", "O"]
    assert report.findings[0].name == "W_O forgotten"
