"""Context without parameters against plain Python: distance in time, and dot products."""

import math

from clearhead import solve
from clearhead.worksheet.kinds.context import ContextProblem
from tests.golden.by_hand import times
from tests.tolerances import assert_close


def test_context_by_nearness_in_time() -> None:
    times_, x = [0.0, 1.0, 2.5], [[2.0], [4.0], [3.0]]
    rows = [[math.exp(-((tj - ti) ** 2) / 2) for tj in times_] for ti in times_]
    weights = [[w / math.fsum(row) for w in row] for row in rows]
    sheet = solve({"kind": "context", "times": times_, "X": x})
    assert_close(sheet.value("W̃"), [[w / math.sqrt(2 * math.pi) for w in row] for row in rows])
    assert_close(sheet.answer, times(weights, x))


def test_context_from_dot_products_with_and_without_a_normaliser() -> None:
    x = [[1.0, 2.0], [3.0, 1.0]]
    # Dot products 5, 5, 5, 10.
    raw = solve({"kind": "context", "X": x, "normaliser": "none"})
    assert raw.answer.tolist() == [[5 * 1 + 5 * 3, 5 * 2 + 5 * 1], [5 * 1 + 10 * 3, 5 * 2 + 10 * 1]]
    shares = solve({"kind": "context", "X": x, "normaliser": "division"})
    assert_close(shares.answer, times([[0.5, 0.5], [1 / 3, 2 / 3]], x))
    masked = solve({"kind": "context", "X": x, "normaliser": "none", "mask": "causal"})
    assert masked.answer[0].tolist() == [5.0, 10.0]


def test_given_weights_are_used_unchanged_or_masked_and_renormalised() -> None:
    fields = {"X": [[4, 0], [0, 8]], "weights": [[0.2, 0.8], [0.25, 0.75]]}
    assert_close(solve(ContextProblem.model_validate(fields)).answer, [[0.8, 6.4], [1, 6]])
    # Masked, only 0.2 remains of the first row, which is all of it: weight 1.
    masked = solve(ContextProblem.model_validate(fields | {"mask": "causal"}))
    assert_close(masked.answer, [[4, 0], [1, 6]])
    assert [record.symbol for record in masked.trace] == ["A₀", "A′", "Z"]
