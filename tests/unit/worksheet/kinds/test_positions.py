"""Position vectors against their formulas: sinusoidal, one-hot, counted, learned and rotary."""

import math

import numpy as np
import pytest

from clearhead import solve
from clearhead.worksheet.kinds.positions import PositionsProblem
from tests.golden.by_hand import sinusoid, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_problems import numbers


@pytest.mark.parametrize("is_variant", [False, True])
def test_sinusoidal_positions_by_both_formulas(is_variant: bool) -> None:
    formula = "sinusoidal-odd-exponent" if is_variant else "sinusoidal"
    data = {"kind": "positions", "formula": formula, "positions": 5, "d_model": 7}
    expected = [[sinusoid(pos, dim, 7, is_variant) for dim in range(7)] for pos in range(5)]
    assert_close(solve(data).answer, expected)
    assert_close(solve(data | {"positions": [3], "dimensions": [3]}).answer, [[expected[3][3]]])
    assert_close(solve(data | {"layout": "columns"}).answer, transpose(expected))


def test_one_hot_and_counted_positions() -> None:
    assert (
        solve({"kind": "positions", "formula": "one-hot", "positions": 3, "d_model": 3}).answer.tolist()
        == np.eye(3).tolist()
    )
    counted = solve({"kind": "positions", "formula": "count", "X": [[0.5, 0.25], [0.5, 0.25]]})
    assert counted.answer.tolist() == [[0.5, 0.25], [1.5, 1.25]]


def test_learned_positions_are_looked_up_and_added_to_looked_up_words() -> None:
    data = {
        "kind": "positions",
        "formula": "learned",
        "tokens": ["is", "he"],
        "embedding": {"he": [1, 2], "is": [3, 4]},
        "P": [[0.5, 0], [0, 0.25], [9, 9]],
    }
    assert solve(data).answer.tolist() == [[3.5, 4.0], [1.0, 2.25]]
    turned_over = data | {"layout": "columns", "P": [[0.5, 0, 9], [0, 0.25, 9]]}
    assert solve(turned_over).answer.tolist() == [[3.5, 1.0], [4.0, 2.25]]
    assert solve(data | {"positions": [1, 0]}).answer.tolist() == [[3.0, 4.25], [1.5, 2.0]]


@pytest.mark.parametrize("pairing", ["neighbours", "halves"])
def test_rotary_positions_turn_each_pair_by_its_angle(pairing: str) -> None:
    x = numbers(3, 4)
    pairs = [(0, 1), (2, 3)] if pairing == "neighbours" else [(0, 2), (1, 3)]
    expected = [[0.0] * 4 for _ in x]
    for pos, row in enumerate(x):
        for i, (a, b) in enumerate(pairs):
            angle = pos / 10000 ** (2 * i / 4)
            expected[pos][a] = row[a] * math.cos(angle) - row[b] * math.sin(angle)
            expected[pos][b] = row[a] * math.sin(angle) + row[b] * math.cos(angle)
    assert_close(solve({"kind": "positions", "formula": "rotary", "X": x, "pairing": pairing}).answer, expected)


def test_positions_and_dimensions_can_be_selected() -> None:
    counted = PositionsProblem.model_validate({"formula": "count", "positions": [2, 5], "d_model": 3})
    assert solve(counted).answer.tolist() == [[2.0] * 3, [5.0] * 3]
    assert PositionsProblem.model_validate({"positions": 4}).positions == (0, 1, 2, 3)
    one_hot = {"formula": "one-hot", "positions": 3, "d_model": 7, "dimensions": [0, 2]}
    assert solve(PositionsProblem.model_validate(one_hot)).answer.tolist() == [[1, 0], [0, 0], [0, 1]]
