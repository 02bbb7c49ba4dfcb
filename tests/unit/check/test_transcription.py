"""Slips of the pen and wrong products: each kind by hand, and cases that are neither."""

from pathlib import Path

import numpy as np
import pytest

from clearhead.check import check
from clearhead.check.compare import compare
from clearhead.check.comparison import SheetInput
from clearhead.check.exchanges import exchanged_cells
from clearhead.check.graph import Graph
from clearhead.check.placing import Placer
from clearhead.check.transcription import pen_slip
from clearhead.check.wrong_line import WrongLine, wrong_line
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from tests.unit.check.desk import marked, roots, verdicts, working


@pytest.mark.parametrize(
    ("text", "right", "name"),
    [
        ("-1.25", 1.25, "sign"),
        ("1.25", -1.25, "sign"),
        ("−1.25", 1.2534, "sign"),
        ("12.5", 1.25, "decimal slip"),
        ("0.125", 1.25, "decimal slip"),
        ("0.73", 7.3106, "decimal slip"),
        ("125", 1.25, "decimal slip"),
        ("1.52", 1.25, "digit swap"),
        ("0.37", 0.7311, "digit swap"),
        ("2.1", 1.2, "digit swap"),  # across the point
        ("1.85", 1.25, "one digit changed"),
        ("4.25", 1.25, "one digit changed"),
        ("1.26", 1.25, ""),  # a unit is rounding, not a digit
        ("3", 5.0, ""),  # the number has only one digit
        ("1.97", 1.25, ""),  # two digits, not exchanged
        ("0.00", 0.0, ""),
        ("1/3", 0.25, ""),
        ("1.25", float("inf"), ""),
    ],
)
def test_a_slip_of_the_pen_is_recognised(text, right, name):
    assert pen_slip(text, right) == name


DOT = {"kind": "seq2seq-attention", "score": "dot", "h": [[2, 3, 5], [1, 0, 4]], "s": [7, 11, 13], "layout": "rows"}
# e₁ = 2·7 + 3·11 + 5·13 = 14 + 33 + 65 = 112; e₂ = 7 + 0 + 52 = 59


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("79", "were missing"),  # 14 + 65
        ("46", "had the other sign"),  # 14 − 33 + 65
        ("409", "ten times larger"),  # 14 + 330 + 65
        ("145", "were counted twice"),  # 14 + 33 + 33 + 65
    ],
)
def test_the_wrong_product_is_named(value, words):
    report = marked(DOT, {"e": f"{value} 59"})
    assert verdicts(report) == ["e Sc"]
    (finding,) = report.findings
    assert words in finding.name, finding.name
    assert "11×3" in finding.name
    assert finding.right_sum == "7×2 + 11×3 + 13×5 = 112"


def test_the_sum_of_the_student_is_shown_beside_the_right_one():
    (finding,) = marked(DOT, {"e": "79 59"}).findings
    assert finding.student_sum.endswith("= 79")
    assert "112" in finding.right_sum


def test_a_number_that_no_single_product_explains_is_a_plain_slip():
    (finding,) = marked(DOT, {"e": "107 59"}).findings
    assert (finding.verdict.value, finding.name) == ("arithmetic slip", "")


CONTEXT = {"kind": "context", "X": [[1, 20], [5, 60]], "weights": [[0.25, 0.75], [0.5, 0.5]], "layout": "rows"}
# Z = [[4, 50], [3, 40]]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("3 40 / 4 50", "two rows exchanged"),
        ("4 3 / 50 40", "rows and columns exchanged"),
        ("4 40 / 3 50", "two numbers exchanged"),
    ],
)
def test_right_numbers_in_the_wrong_place_are_named(text, name):
    report = marked(CONTEXT, {"Z": text})
    assert [finding.name for finding in report.findings] == [name], roots(report)
    assert {finding.verdict.value for finding in report.findings} == {"transcription"}


def test_many_slips_of_one_line_are_reported_together():
    """Five or more cells that follow from nothing are one finding; four are reported separately."""
    wide = {"kind": "context", "X": [[1, 2, 4, 8, 16, 32]] * 2, "weights": [[0.5, 0.5]], "layout": "rows"}
    report = marked(wide, {"Z": "91.7 83.9 77.1 65.3 59.9 47.1"})
    assert verdicts(report) == ["Z SSSSSS"]
    assert len(report.findings) == 1
    assert len(report.findings[0].cells) == 6


SUM = """
X = [[1, 0], [0, 1]]
W_Q = [[1, 2], [2, 1]]
W_K = [[1, 0], [0, 1]]
W_V = [[2, 0], [1, 3]]

V = [[2, 0], [1, 3]]
S = [[1, 2], [2, 1]]
A = [[0.27, 0.73], [0.73, 0.27]]

z1 = 0.27·(2, 0) + 0.73·(1, 2) = (1.27, 1.46)
z2 = 0.73·(2, 0) + 0.27·(1, 3) = (1.73, 0.81)
"""


def test_a_row_of_v_that_was_copied_incorrectly_into_a_shown_sum_is_found(tmp_path: Path) -> None:
    """In z₁, 3 became 2: 0.73×2 = 1.46 follows from it, where 0.73×3 = 2.19 is right. z₂ was worked from the 3."""
    page = tmp_path / "page.md"
    page.write_text(SUM, encoding="utf-8")
    (report,) = check(page)
    assert roots(report) == ["V 2,2 transcription"]
    assert "Z cf cc" in verdicts(report)
    page.write_text(SUM.replace("(1, 2) = (1.27, 1.46)", "(1, 3) = (1.27, 2.19)"), encoding="utf-8")
    (right,) = check(page)
    assert not right.findings


# ---- Right numbers in the wrong place: all wrong cells of a line have each other's right numbers ----

WEIGHTS = [[0.25, 0.75], [0.5, 0.5], [0, 1]]
MIXTURE = {"kind": "context", "X": [[1, 20], [5, 60]], "weights": WEIGHTS, "layout": "rows"}
# Z = [[4, 50], [3, 40], [5, 60]]


def line_of(text: str) -> WrongLine:
    graph = Graph(solve(parse_problem(MIXTURE), Rounding()))
    comparison = compare(SheetInput(graph, Placer(graph, working(MIXTURE, {"Z": text})).place().statements))
    return wrong_line(comparison.judged)


@pytest.mark.parametrize(
    ("text", "name", "cells"),
    [
        ("3 40 / 4 50 / 5 60", "two rows exchanged", [(0, 0), (0, 1), (1, 0), (1, 1)]),
        ("4 40 / 3 50 / 5 60", "two numbers exchanged", [(0, 1), (1, 1)]),
    ],
)
def test_an_exchange_that_explains_all_wrong_cells_is_named(text, name, cells):
    exchange = exchanged_cells(line_of(text))
    assert exchange is not None
    assert (exchange.name, list(exchange.cells)) == (name, cells)


@pytest.mark.parametrize(
    "text", ["3 40 / 4 50 / 5 61", "4 40 / 3 50 / 7 60", "3 50 / 3 40 / 5 60", "4 50 / 3 40 / 5 60"]
)
def test_other_wrong_cells_or_a_single_one_are_no_exchange(text):
    """Two exchanged rows beside another slip; two exchanged numbers beside another slip; one wrong cell; none."""
    line = line_of(text)
    assert exchanged_cells(line) is None
    assert line.num_wrong == int(np.sum(line.wrong))
