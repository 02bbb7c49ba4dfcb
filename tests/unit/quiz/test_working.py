"""A sheet as a working: the printed lines count as written, and answers can be Python numbers."""

import pytest

from clearhead.check.marker import mark
from clearhead.check.marks import Scheme
from clearhead.errors import QuizError
from clearhead.quiz import QuizRequest, QuizSheet, draw_sheet, quiz_scheme
from clearhead.quiz.answers import mark_answers
from clearhead.quiz.sheet import blank_cells, step_name
from clearhead.quiz.working import printed_lines, sheet_working
from tests.quiz_keys import answer_lines, key_lines, key_working


@pytest.fixture(scope="module")
def sheet() -> QuizSheet:
    return draw_sheet(QuizRequest("self-attention", 3, seed=11, blanks="hard"))


def answers_of(sheet: QuizSheet) -> dict[str, list[list[object]]]:
    """Return the key as Python numbers."""
    return {
        step_name(step): [
            [float(step.matrix.digits.text(row, column)) for column in range(step.matrix.value.shape[1])]
            for row in range(step.matrix.value.shape[0])
        ]
        for step, blank in zip(sheet.key_view.steps, sheet.view.steps, strict=True)
        if blank_cells(blank)
    }


def test_printed_lines_and_answers_are_the_key(sheet: QuizSheet) -> None:
    printed = {(line.where, line.name): line.cells for line in printed_lines(sheet)}
    answers = {(line.where, line.name): line.cells for line in answer_lines(sheet)}
    assert len(answers) == len(sheet.asked_steps)
    for line in key_lines(sheet):
        own = [cells for table in (printed, answers) for cells in [table.get((line.where, line.name))] if cells]
        for row, texts in enumerate(line.cells):
            for column, text in enumerate(texts):
                assert [cells[row][column] for cells in own if cells[row][column]] == [text]


def test_answers_alone_earn_full_marks_together_with_the_printed_lines(sheet: QuizSheet) -> None:
    scheme = Scheme.model_validate(quiz_scheme(sheet))
    for working in (sheet_working(sheet, answer_lines(sheet), "Ada"), key_working(sheet)):
        report = mark(working, scheme)
        assert (report.earned, report.has_error) == (report.out_of, False)
        assert report.out_of == 2 * len(sheet.asked_steps)


def test_answers_can_be_numbers_texts_and_gaps(sheet: QuizSheet) -> None:
    answers = answers_of(sheet)
    report = mark_answers(sheet, answers)
    assert (report.earned, report.has_error) == (report.out_of, False)
    name = next(iter(answers))
    answers[name][0][0] = "7.77"
    wrong = mark_answers(sheet, answers)
    assert wrong.has_error
    assert wrong.earned < wrong.out_of
    gaps = {line: [[... for _ in row] for row in rows] for line, rows in answers.items() if line != name}
    assert mark_answers(sheet, {**gaps, name: answers[name]}).earned < report.out_of


def test_answers_to_no_line_and_no_answers_get_one_sentence(sheet: QuizSheet) -> None:
    with pytest.raises(QuizError, match=r"'self_attention.head.0:B₁' is not a line of sheet self-attention-3h-11-01"):
        mark_answers(sheet, {"self_attention.head.0:B₁": [[1.0]]})
    with pytest.raises(QuizError, match=r"no cell of sheet .* is filled in. Replace the ... by numbers"):
        mark_answers(sheet, {})
