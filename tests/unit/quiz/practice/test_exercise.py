"""One exercise step by step: marked from the student's own lines, with hints, calculations and answers."""

import pytest

from clearhead.check.verdict import Verdict
from clearhead.errors import QuizError
from clearhead.quiz import QuizRequest, draw_sheet, quiz_kinds
from clearhead.quiz.practice.exercise import PracticeExercise
from clearhead.quiz.practice.sentences import praise
from clearhead.quiz.sheet import QuizSheet
from clearhead.worksheet.solver import solve

PROBLEM = {
    "kind": "self-attention",
    "X": [[1, 2], [3, 1]],
    "W_Q": [[1, 0], [1, 1]],
    "W_K": [[0, 1], [1, 0]],
    "W_V": [[2, 1], [0, 1]],
    "rounding": {"lines": "rounded", "decimals": 2},
}
# Q = X W_Q = [[3, 2], [4, 1]], K = [[2, 1], [1, 3]], V = [[2, 3], [6, 4]]
# S = Q Kᵀ = [[3·2 + 2·1, 3·1 + 2·3], [4·2 + 1·1, 4·1 + 1·3]] = [[8, 9], [9, 7]]
Q, K, V, S, SCALED, WEIGHTS, OUTPUT = range(7)


def exercise(*blanks: str, problem: dict[str, object] = PROBLEM) -> PracticeExercise:
    request = QuizRequest("self-attention")
    sheet = QuizSheet(
        request, "by-hand", problem, solve(problem), blanks or ("Q", "K", "V", "S", "S'", "A", "Z"), (), ()
    )
    return PracticeExercise(sheet)


def test_a_right_line_is_right() -> None:
    work = exercise()
    assert work.steps == [Q, K, V, S, SCALED, WEIGHTS, OUTPUT]
    marked = work.mark(Q, (("3", "2"), ("4", "1")))
    assert marked.is_right
    assert not marked.is_carried


def test_a_wrong_number_is_named_and_the_hint_has_no_numbers() -> None:
    work = exercise("S")
    marked = work.mark(S, (("8", "9"), ("9", "8")))
    assert [(cell.row, cell.column, cell.text) for cell in marked.wrong] == [(1, 1, "8")]
    assert marked.finding is not None
    hint = work.hint(S, marked)
    assert not any(character.isdigit() for character in hint)
    assert "S = Q Kᵀ" in hint


def test_a_misconception_is_named_in_the_hint() -> None:
    work = exercise("S'")
    marked = work.mark(SCALED, (("8", "9"), ("9", "7")))
    assert marked.finding is not None
    assert marked.finding.verdict is Verdict.MISCONCEPTION
    assert work.hint(SCALED, marked).startswith('Your numbers come from "no scaling". Divide every score by')


def test_without_an_attempt_the_hint_is_the_sentence_of_the_step() -> None:
    work = exercise()
    assert work.hint(S, None) == f"{work.view(S).step.sentence} S = Q Kᵀ"


def test_a_wrong_last_digit_is_mentioned_and_is_no_error() -> None:
    work = exercise("A")
    # S′ is printed as 5.66, 6.36 and 6.36, 4.95: 1 / (1 + e^0.70) = 0.3318 and 1 / (1 + e^-1.41) = 0.8038
    assert praise(work.mark(WEIGHTS, (("0.33", "0.67"), ("0.80", "0.20")))) == "✓ Right."
    marked = work.mark(WEIGHTS, (("0.34", "0.67"), ("0.80", "0.20")))
    assert marked.is_right
    assert praise(marked) == "✓ Right, but look at the last digit of 0.34."


def test_errors_are_carried_forward() -> None:
    work = exercise()
    work.lines = {Q: (("3", "2"), ("4", "2")), K: (("2", "1"), ("1", "3")), V: (("2", "3"), ("6", "4"))}
    work.has_error = {Q}
    # with 2 for 1 in Q: 4·2 + 2·1 = 10 and 4·1 + 2·3 = 10
    own = work.mark(S, (("8", "9"), ("10", "10")))
    assert own.is_right
    assert own.is_carried
    true = work.mark(S, (("8", "9"), ("9", "7")))
    assert not true.is_carried
    assert work.answer(S) == (("8.00", "9.00"), ("10.00", "10.00"))
    assert work.calculation(S, 1, 0) == "S[2, 1] = 4×2 + 2×1"


def test_the_answer_without_an_error_is_the_key() -> None:
    work = exercise("S")
    assert work.answer(S) == (("8", "9"), ("9", "7"))
    assert work.calculation(S, 0, 1) == "S[1, 2] = 3×1 + 2×3"


def test_a_line_that_was_left_out_is_calculated_for_the_next_one() -> None:
    work = exercise()
    work.lines = {Q: (), K: (("2", "1"), ("1", "3"))}
    assert work.calculation(S, 0, 0) == "S[1, 1] = 3×2 + 2×1"


def test_printed_cells_of_a_row_are_not_asked_for() -> None:
    work = exercise("S[2, *]")
    assert work.blank_columns(S) == {1: [0, 1]}
    cells = work.fill(S, {1: ["9", "7"]})
    assert cells == (("8", "9"), ("9", "7"))
    assert work.mark(S, cells).is_right


def test_numbers_with_too_few_decimals_are_asked_for_again() -> None:
    work = exercise("Z")
    answer = work.answer(OUTPUT)
    assert work.coarse_cells(OUTPUT, answer) == []
    whole = tuple(tuple(f"{float(text):.0f}" for text in row) for row in answer)
    assert work.coarse_cells(OUTPUT, whole)
    short = tuple(tuple(text.rstrip("0").rstrip(".") for text in row) for row in answer)
    assert work.coarse_cells(OUTPUT, short) == []


def test_tokens_as_columns_are_typed_as_they_are_shown() -> None:
    problem = {**PROBLEM, "layout": "columns", "X": [[1, 3], [2, 1]], "W_Q": [[1, 1], [0, 1]]}
    work = exercise("Q", problem=problem)
    # columns: Q = W_Q X = [[1·1 + 1·2, 1·3 + 1·1], [2, 1]]
    assert work.answer(Q) == (("3", "4"), ("2", "1"))
    assert work.mark(Q, work.answer(Q)).is_right
    assert work.calculation(Q, 0, 1) == "Q[1, 2] = 1×3 + 1×1"


@pytest.mark.parametrize("kind", quiz_kinds())
def test_the_key_of_every_kind_is_right_step_by_step(kind: str) -> None:
    work = PracticeExercise(draw_sheet(QuizRequest(kind, 1, 11)))
    for index in work.steps:
        answer = work.answer(index)
        assert work.mark(index, answer).is_right
        assert work.coarse_cells(index, answer) == []
        row, columns = next(iter(work.blank_columns(index).items()))
        assert " = " in work.calculation(index, row, columns[0])
        work.lines[index] = answer


def test_a_sheet_that_asks_for_nothing_is_one_sentence() -> None:
    with pytest.raises(QuizError, match=r"^sheet by-hand asks for nothing that has to be calculated\.$"):
        _ = PracticeExercise(
            QuizSheet(QuizRequest("self-attention"), "by-hand", PROBLEM, solve(PROBLEM), (), (), ())
        ).steps
