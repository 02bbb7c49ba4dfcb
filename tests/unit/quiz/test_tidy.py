"""The conditions of a good draw."""

from typing import Any

import pytest

from clearhead.quiz.blanks import HARD_STEPS, choose_blanks
from clearhead.quiz.chance import Chance
from clearhead.quiz.request import QuizRequest
from clearhead.quiz.tidy import MAX_ARGUMENT, MAX_GAP, is_copied, largest_gap, untidy_reason
from clearhead.steps.vocabulary import STEPS
from clearhead.worksheet.solver import solve


def softmax(scores: list[Any], **more: Any) -> dict[str, Any]:
    return {"kind": "softmax", "scores": scores, **more}


def test_a_gap_of_three_is_the_limit_and_e_to_the_minus_three_the_smallest_share() -> None:
    sheet = solve(softmax([0, 1, 3]))
    assert largest_gap(sheet.trace[0]) == MAX_GAP == 3.0
    assert untidy_reason(sheet) == ""
    assert untidy_reason(solve(softmax([0, 1, 3.1]))) == ":A is saturated"


def test_the_gap_counts_powers_of_e_in_every_base_and_leaves_masked_scores_out() -> None:
    assert largest_gap(solve(softmax([0, 4], base=2)).trace[0]) == pytest.approx(2.7725887)
    masked = solve(softmax([[1, 9], [2, 3]], mask="causal"))
    assert largest_gap(masked.trace[-1]) == 1.0


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (softmax([[1, 2, 3], [1, 2, 3]]), ":A has equal rows"),
        (softmax([[1, 2], [2, 1]]), ":A is symmetric"),
        ({"kind": "dense-layer", "X": [[40, 60]], "W": [[1], [1]]}, "dense:Y is too large"),
        (
            {"kind": "dense-layer", "X": [[MAX_ARGUMENT + 1, 0]], "W": [[1], [1]], "activation": "tanh"},
            "dense:Y is saturated",
        ),
    ],
)
def test_an_untidy_sheet_has_a_reason(problem: dict[str, Any], reason: str) -> None:
    assert untidy_reason(solve(problem)) == reason


def test_dot_products_of_vectors_with_themselves_may_be_symmetric() -> None:
    assert untidy_reason(solve({"kind": "context", "X": [[1, 0], [0, 1], [1, -1]]})) == ""


ATTENTION = {
    "kind": "masked-self-attention",
    "X": [[1, 2], [0, 1], [2, -1]],
    "W_Q": [[1, 0], [1, -1]],
    "W_K": [[0, 1], [1, 1]],
    "W_V": [[1, 2], [0, 1]],
}


def test_blanks_are_all_lines_one_row_or_the_hard_lines() -> None:
    sheet = solve(ATTENTION)
    blanks = choose_blanks(QuizRequest("masked-self-attention", 2), sheet, Chance("x"))
    assert len(blanks) == len(sheet.trace)
    rows = choose_blanks(QuizRequest("masked-self-attention", 2, blanks="row"), sheet, Chance("x"))
    assert len({row.rpartition("[")[2] for row in rows}) == 1
    assert not any("S″" in row for row in rows)  # a mask copies: its row is hidden together with that of S′
    hard = choose_blanks(QuizRequest("masked-self-attention", 2, blanks="hard"), sheet, Chance("x"))
    assert hard == ("self_attention:A", "self_attention:Z")
    one = choose_blanks(QuizRequest("masked-self-attention", 1), sheet, Chance("x"))
    assert len(one) == 1
    assert one[0] in blanks


def test_the_hard_steps_exist_and_a_mask_is_a_copy() -> None:
    assert set(STEPS) >= HARD_STEPS
    sheet = solve(ATTENTION)
    assert [record.symbol for record in sheet.trace if is_copied(record)] == ["S″"]
