"""The intervals of course platforms: checked against a calculation by hand and against independent students."""

from decimal import Decimal

import pytest

from clearhead.quiz import QuizRequest, draw_sheet
from clearhead.quiz.course.intervals import MAX_UNITS, CellInterval, course_sheet
from clearhead.quiz.course.rules import CONSTANT_DECIMALS, question_steps, rules_of
from clearhead.quiz.course.ways import Students
from clearhead.quiz.sheet import QuizSheet
from clearhead.worksheet.solver import solve
from clearhead.worksheet.working import WORKINGS, moves


def sheet_of(problem: dict[str, object], blanks: tuple[str, ...], number: str = "by-hand") -> QuizSheet:
    request = QuizRequest("self-attention")
    return QuizSheet(request, number, problem, solve(problem), blanks, (), ())


TWO_SCORES = {
    "kind": "softmax",
    "scores": [[1, 2, 3]],
    "rounding": {"lines": "rounded", "decimals": 2},
}


def test_the_interval_of_an_exact_line_is_one_number() -> None:
    problem = {
        "kind": "dense-layer",
        "X": [[2, 3]],
        "W": [[1, 5], [7, 11]],
        "rounding": {"lines": "rounded", "decimals": 2},
    }
    course = course_sheet(sheet_of(problem, ("Y",)))
    # 2·1 + 3·7 = 23 and 2·5 + 3·11 = 43
    assert [(cell.key, cell.low, cell.high) for cell in course.cells] == [
        ("23.00", Decimal(23), Decimal(23)),
        ("43.00", Decimal(43), Decimal(43)),
    ]
    assert course.is_fair


def test_the_interval_of_a_weight_holds_the_full_and_the_rounded_number() -> None:
    course = course_sheet(sheet_of(TWO_SCORES, ("A",)))
    # e¹ + e² + e³ = 30.19288; e³ / 30.19288 = 0.66524, e² 0.24473, e 0.09003
    by_hand = {"0.09": 0.0900306, "0.24": 0.2447285, "0.67": 0.6652410}
    assert [cell.key for cell in course.cells] == list(by_hand)
    for cell, full in zip(course.cells, by_hand.values(), strict=True):
        assert cell.accepts(full)
        assert cell.accepts(Decimal(cell.key))
        assert not cell.accepts(Decimal(cell.key) + Decimal("0.01"))
        assert not cell.accepts(Decimal(cell.key) - Decimal("0.01"))
        assert cell.units <= 0.5


def test_centre_and_tolerance_give_the_ends_exactly() -> None:
    cell = CellInterval("Z", "mix", 0, 0, 1, "0.42", Decimal("0.4152"), Decimal("0.43"), 2)
    assert cell.centre - cell.tolerance == cell.low
    assert cell.centre + cell.tolerance == cell.high
    assert cell.units == pytest.approx(0.74)
    assert cell.accepts(0.43)
    assert cell.accepts(0.1 + 0.32)
    assert not cell.accepts(0.44)


@pytest.mark.parametrize(("kind", "difficulty"), [("self-attention", 3), ("recurrent", 2), ("add-and-norm", 3)])
@pytest.mark.parametrize("is_free", [True, False])
def test_no_student_of_the_sample_and_of_another_one_is_outside(kind: str, difficulty: int, is_free: bool) -> None:
    sheet = draw_sheet(QuizRequest(kind, difficulty, 7))
    course = course_sheet(sheet, is_free=is_free)
    more = Students(sheet, course.rules, number=5_003)
    for cell in course.cells:
        line = more.lines[cell.index]
        digits = line.digits if line.digits.ndim > 2 else line.digits[None]
        numbers = digits[:, cell.row, cell.column]
        assert cell.accepts(float(numbers.min()))
        assert cell.accepts(float(numbers.max()))
        assert cell.accepts(Decimal(cell.key))


def test_a_free_choice_needs_wider_intervals_than_the_stated_rule() -> None:
    sheet = draw_sheet(QuizRequest("multi-head-attention", 3, 7))
    free, strict = (course_sheet(sheet, is_free=is_free).widest for is_free in (True, False))
    assert free is not None
    assert strict is not None
    assert free.units > strict.units
    assert strict.units <= MAX_UNITS


def test_the_rules_state_the_constants_that_the_instructions_state() -> None:
    sheet = draw_sheet(QuizRequest("self-attention", 2, 7))
    assert any(f"√2 = {2**0.5:.{CONSTANT_DECIMALS}f}" in sentence for sentence in sheet.instructions)
    assert any(f"e = {2.718281828:.{CONSTANT_DECIMALS}f}" in sentence for sentence in sheet.instructions)


def test_the_rules_state_inner_decimals_and_what_is_accepted() -> None:
    sheet = draw_sheet(QuizRequest("self-attention", 2, 7))
    assert rules_of(sheet, is_free=False).sentences(5) == (
        "Keep at least 5 decimals of every number that you do not write down.",
    )
    assert rules_of(sheet, is_free=True).sentences(5)[1] == (
        "It is also accepted if you continue with the rounded numbers, or with more decimals of them."
    )
    assert rules_of(sheet, is_free=True).sentences(1) == rules_of(sheet, is_free=False).sentences(1)
    assert rules_of(sheet, is_free=False).carry == "full"
    assert rules_of(draw_sheet(QuizRequest("self-attention", 3, 7)), is_free=False).carry == "rounded"


def test_significant_figures_have_no_fixed_interval() -> None:
    problem = {**TWO_SCORES, "rounding": {"lines": "rounded", "significant": 3}}
    with pytest.raises(Exception, match=r"sheet by-hand is rounded to significant figures, and the intervals of a"):
        course_sheet(sheet_of(problem, ("A",)))


def test_a_line_that_only_copies_is_not_asked_for() -> None:
    sheet = draw_sheet(QuizRequest("masked-self-attention", 2, 7))
    steps = [sheet.view.steps[index].step.name for index in question_steps(sheet)]
    assert "mask" in {step.step.name for step in sheet.view.steps}
    assert not any(WORKINGS[name] is moves for name in steps)
    assert all(cell.low.is_finite() for cell in course_sheet(sheet).cells)


def test_printed_cells_are_used_as_they_are_printed() -> None:
    problem = {"kind": "softmax", "scores": [[1, 2, 3]], "show": "exponentials", "rounding": TWO_SCORES["rounding"]}
    sheet = sheet_of(problem, ("A",))
    students = Students(sheet, rules_of(sheet, is_free=True), number=7)
    # the exponentials are printed: 2.72, 7.39, 20.09
    exponentials = students.lines[0]
    assert exponentials.carried.tolist() == [[2.72, 7.39, 20.09]]
