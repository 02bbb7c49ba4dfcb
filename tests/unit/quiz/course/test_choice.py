"""The choice of sheets for a course platform."""

import pytest

from clearhead.errors import QuizError
from clearhead.quiz import QuizRequest, draw_sheet, sheet_of_number
from clearhead.quiz.course.choice import choose_course_sheets
from clearhead.quiz.course.intervals import course_sheet
from clearhead.quiz.sheet import QuizSheet


def test_every_sheet_has_narrow_intervals_and_its_true_number() -> None:
    sheets = choose_course_sheets(QuizRequest("cross-attention", 3, 7), 5)
    assert len({course.sheet.number for course in sheets}) == 5
    assert all(course.is_fair for course in sheets)
    for course in sheets[:2]:
        again = sheet_of_number(course.sheet.number)
        assert again.problem == course.sheet.problem
        assert course_sheet(again, is_free=course.rules.carry == "any").cells == course.cells


def test_a_variant_with_a_wide_interval_is_left_out() -> None:
    request = QuizRequest("cross-attention", 3, 7)
    chosen = [course.sheet.request.variant for course in choose_course_sheets(request, 11)]
    left_out = [variant for variant in range(1, chosen[-1]) if variant not in chosen]
    assert left_out
    for variant in left_out:
        sheet = draw_sheet(QuizRequest("cross-attention", 3, 7, variant))
        assert not course_sheet(sheet).is_fair


def test_the_stated_rule_is_required_where_no_free_choice_is_fair() -> None:
    sheets = choose_course_sheets(QuizRequest("encoder-block", 3, 7), 2)
    assert [course.rules.carry for course in sheets] == ["rounded", "rounded"]


def test_intervals_that_cannot_be_met_are_one_sentence() -> None:
    wide = draw_sheet(QuizRequest("encoder-block", 3, 7))
    problem = {**wide.problem, "rounding": {"lines": "exact", "decimals": 15}}  # the last bits decide the last place

    def draw(request: QuizRequest) -> QuizSheet:
        from clearhead.worksheet.solver import solve

        return QuizSheet(request, f"wide-{request.variant}", problem | {"title": str(request.variant)}, solve(problem),
                         wide.blanks, wide.instructions, ())  # fmt: skip

    with pytest.raises(
        QuizError, match=r"only 0 of the variants 1 to 12 of encoder-block, difficulty 3, can be marked"
    ) as wrong:
        choose_course_sheets(QuizRequest("encoder-block", 3, 7), 2, draw)
    assert str(wrong.value).endswith("Ask for fewer sheets, fewer blanks or another seed.")


def test_the_same_problem_is_not_chosen_twice() -> None:
    only = draw_sheet(QuizRequest("softmax", 1, 7))
    with pytest.raises(QuizError, match="only 1 of the variants 1 to 12 of softmax"):
        choose_course_sheets(QuizRequest("softmax", 1, 7), 2, lambda request: only)


@pytest.mark.parametrize("count", [0, -3, 1_000])
def test_an_impossible_count_is_one_sentence(count: int) -> None:
    with pytest.raises(QuizError, match=rf"^count = {count} is not possible\. Give an integer from 1 to 999\.$"):
        choose_course_sheets(QuizRequest("softmax"), count)
