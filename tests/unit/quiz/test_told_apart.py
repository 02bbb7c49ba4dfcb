"""Which wrong rules a sheet tells apart, worked by hand."""

import numpy as np

from clearhead.check.misconceptions import MISCONCEPTIONS
from clearhead.quiz.instructions import write_instructions
from clearhead.quiz.main_rules import MAIN_RULES
from clearhead.quiz.request import QuizRequest
from clearhead.quiz.told_apart import wrong_lines
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve

# e^0 : e^1 = 0.27 : 0.73. In base 2 it is 0.33 : 0.67; divided by the sum it is 0 : 1; e^0 and e^1 are 1.00 and 2.72.
SOFTMAX = {"kind": "softmax", "scores": [0, 1], "rounding": {"lines": "rounded", "decimals": 2}}
# The same with scores so close that two decimals cannot tell base 2 from e: 0.4975 and 0.4983.
FLAT = {**SOFTMAX, "scores": [0, 0.01]}


def rules(problem: dict[str, object]) -> dict[str, tuple[list[float], int]]:
    lines = wrong_lines(solve(problem, Rounding()), solve(problem), [0])
    return {line.misconception: (np.ravel(line.value).tolist(), int(line.differs.sum())) for line in lines}


def test_a_wrong_rule_is_worked_from_the_lines_above_and_compared_at_the_rounding() -> None:
    worked = rules(SOFTMAX)
    assert worked["base 2"] == ([0.33, 0.67], 2)
    assert worked["no exp (divided by the sum)"] == ([0.0, 1.0], 2)
    assert worked["not divided by the sum"] == ([1.0, 2.72], 2)


def test_digits_that_rounding_could_explain_do_not_tell_a_rule_apart() -> None:
    assert rules(FLAT)["base 2"] == ([0.5, 0.5], 0)


def test_a_rule_that_changes_nothing_is_not_wrong() -> None:
    context = {"kind": "context", "X": [[1, 0], [2, 1]], "rounding": {"lines": "rounded", "decimals": 2}}
    assert "KQᵀ instead of QKᵀ" not in rules(context)


def test_the_main_rules_are_names_of_the_marker() -> None:
    import inspect

    from clearhead.check import (
        misconceptions,
        norm_misconceptions,
        part_misconceptions,
        position_misconceptions,
        recurrent_misconceptions,
        softmax_misconceptions,
    )

    modules = (
        *(misconceptions, norm_misconceptions, part_misconceptions, position_misconceptions),
        *(recurrent_misconceptions, softmax_misconceptions),
    )
    source = "".join(inspect.getsource(module) for module in modules)
    composed = {"ReLU forgotten", "tanh forgotten", "sigmoid forgotten", "V computed with W_K", "base 2"}
    missing = [rule for rule in MAIN_RULES - composed if f'"{rule}"' not in source and f'"{rule}' not in source]
    assert missing == []
    assert "softmax" in MISCONCEPTIONS


def test_the_instructions_state_the_rounding_and_the_constants() -> None:
    attention = {
        "kind": "self-attention",
        "X": [[1, 2], [0, 1]],
        "W_Q": [[1, 0], [1, -1]],
        "W_K": [[0, 1], [1, 1]],
        "W_V": [[1, 2], [0, 1]],
        "rounding": {"lines": "rounded", "decimals": 2},
    }
    sheet = solve(attention)
    assert write_instructions(QuizRequest("self-attention", 3), sheet, list(sheet.trace)) == (
        "Fill in the blank cells.",
        "Round every line to 2 decimals (half up) and continue with the rounded numbers.",
        "Use √2 = 1.4142, or more digits.",
        "Use e = 2.7183, or more digits.",
    )
    assert write_instructions(QuizRequest("self-attention", 1), sheet, [sheet.trace[0]]) == (
        "Fill in the blank cells of one step; use the other lines as they are printed.",
        "Round to 2 decimals (half up).",
    )
    positions = solve({"kind": "positions", "d_model": 4, "positions": 2})
    assert "Angles are in radians." in write_instructions(QuizRequest("positions", 2), positions, list(positions.trace))
    wide = solve({"kind": "softmax", "scores": [1, 2], "rounding": {"decimals": 1}})
    assert write_instructions(QuizRequest("softmax", 2, blanks="row"), wide, [])[:2] == (
        "Fill in the blank cells: one row of every line.",
        "Calculate with all the digits of your calculator and write every number to 1 decimal (half up).",
    )
