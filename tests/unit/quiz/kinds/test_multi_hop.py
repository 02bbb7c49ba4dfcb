"""Sheets of multi-hop: one layer is wrong and two are right, calculated again with plain lists."""

import math
from typing import Any

import pytest

from clearhead.quiz import QuizRequest, draw_sheets
from clearhead.quiz.kinds.multi_hop import MARGIN, broken_promise
from clearhead.quiz.number import parse_number
from clearhead.worksheet.solver import solve
from tests.golden.by_hand import Matrix, attention, plus, times, transpose

DIVISORS = {1: 4.0, 2: math.sqrt(2), 3: math.sqrt(2)}
# Of the numbers on the sheets: those of difficulties 1 and 3 are calculated with lines that are rounded to 2 decimals.
ERROR = {1: 0.5, 2: 1e-9, 3: 0.5}


def answers_of(problem: dict[str, Any], difficulty: int, *, is_exchanged: bool = False) -> Matrix:
    """Return what 'it' answers after each layer, calculated without clearhead."""
    parts = problem["parts"]
    vectors = parts[0]["X"]
    candidates = transpose([vectors[0], vectors[2]])
    x = [vectors[2], vectors[1], vectors[0], vectors[3]] if is_exchanged else vectors
    answers = []
    for part in (parts[0], parts[2]):
        layer = part["self_attention"]
        q, k, v = (times(x, layer[name]) for name in ("W_Q", "W_K", "W_V"))
        x = plus(x, attention(q, k, v, DIVISORS[difficulty], is_causal=True))
        answers += times([x[3]], candidates)
    return answers


@pytest.mark.parametrize("difficulty", [1, 2, 3])
def test_one_layer_is_wrong_and_two_are_right_also_if_the_things_change_places(difficulty: int) -> None:
    for sheet in draw_sheets(QuizRequest("multi-hop", difficulty, seed=3), 5):
        one, two = answers_of(dict(sheet.problem), difficulty)
        same, exchanged = answers_of(dict(sheet.problem), difficulty, is_exchanged=True)
        assert one[0] < one[1], sheet.number
        assert two[0] > two[1], sheet.number
        # One layer answers both stories alike, whatever its weights: it sees the same words.
        assert same == pytest.approx(one, abs=1e-9)
        assert exchanged[0] < exchanged[1], sheet.number
        for part, expected in ((1, one), (3, two)):
            printed = sheet.worksheet.value("Y", where=f"part.{part}.dense")[0]
            assert printed.tolist() == pytest.approx(expected, abs=ERROR[difficulty])
            assert abs(printed[0] - printed[1]) > MARGIN


def test_each_difficulty_has_the_numbers_and_the_weights_that_it_says() -> None:
    for difficulty in (1, 2, 3):
        (sheet,) = draw_sheets(QuizRequest("multi-hop", difficulty, seed=3), 1)
        first, answer, second, _ = sheet.problem["parts"]
        assert parse_number(sheet.number).request.kind == "multi-hop"
        assert (sheet.problem["kind"], second["X"]) == ("parts", "part.0.answer")
        assert all(isinstance(number, int) for row in first["X"] for number in row) == (difficulty == 1)
        assert (first["self_attention"] == second["self_attention"]) == (difficulty < 3)
        assert answer["classes"] == [first["tokens"][0], first["tokens"][2]]


def test_a_draw_that_does_not_need_its_second_layer_is_refused() -> None:
    (sheet,) = draw_sheets(QuizRequest("multi-hop", 2, seed=3), 1)
    problem = dict(sheet.problem)
    assert broken_promise(problem, sheet.worksheet) == ""
    first, *others = problem["parts"]
    thing, place, other, last = first["X"]
    exchanged = {**problem, "parts": [{**first, "X": [other, place, thing, last]}, *others]}
    # The same numbers in the other order: after two layers the answer is the other thing.
    assert broken_promise(exchanged, solve(exchanged)) == "two layers fail"
    near = {**problem, "parts": [{**first, "X": [thing, place, other, thing]}, *others]}
    assert broken_promise(near, solve(near)) == "one layer is enough"
