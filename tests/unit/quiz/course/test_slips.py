"""Slips inside the intervals, compared with slips that are listed by hand."""

from decimal import Decimal

from clearhead.check.graph import Graph
from clearhead.quiz import QuizRequest
from clearhead.quiz.course.choice import choose_course_sheets
from clearhead.quiz.course.intervals import course_sheet
from clearhead.quiz.course.slips import SlipShare, cell_slips, course_summary, slip_shares
from tests.unit.quiz.course.test_intervals import sheet_of

DENSE = {"kind": "dense-layer", "X": [[2, 3]], "W": [[1], [7]], "rounding": {"lines": "rounded", "decimals": 0}}


def test_the_slips_of_a_product_are_those_of_the_pen_and_of_calculation() -> None:
    course = course_sheet(sheet_of(DENSE, ("Y",)))
    slips = cell_slips(Graph(course.sheet.worksheet), course.cells[0])
    pen = {-23, 230, Decimal("2.3"), 13, 33, 22, 24, 32}
    # 2·1 + 3·7 with one of the four numbers left out, with the wrong sign, or replaced by its neighbour in the row
    left_out = {21, 2}
    signs = {19, -19}
    neighbours = {3 * 1 + 3 * 7, 2 * 1 + 2 * 7}
    assert slips == pen | left_out | signs | neighbours
    assert slip_shares([course]) == [SlipShare("project", len(slips), 0)]


def test_a_wide_interval_hides_slips() -> None:
    courses = choose_course_sheets(QuizRequest("multi-head-attention", 3, 7), 2)
    shares = {share.step: share for share in slip_shares(courses)}
    assert shares["score"].num_inside == 0
    assert 0 < shares["mix"].share < 0.1
    assert SlipShare("mix", 0, 0).share == 0.0


def test_the_summary_names_the_widest_interval_and_every_step() -> None:
    courses = choose_course_sheets(QuizRequest("softmax", 1, 7), 1)
    summary = course_summary(courses)
    assert summary.startswith("1 sheet with intervals of at most ±")
    assert "Share of usual slips that are still inside: softmax 0.0%." in summary
